//go:build browser

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"rejoin/plots/report/browsertest"
	"rejoin/results"
)

const hostile = `<img src=x onerror="document.title='owned'"></script>`

// feed makes a run of a minute and a half, with names that want to be markup.
func feed(p *livePage) {
	for second := range 90 {
		v := sampleView()
		v.Scenario, v.ElapsedS, v.TotalS = hostile, float64(second), 120
		v.BatchesPerS = 300 - float64(second%20)
		v.P99Ns = new(int64(2_000_000 + 100_000*(second%13)))
		if second == 40 {
			v.BatchesPerS, v.P99Ns = 0, nil
		}
		p.hub.view(v)
	}
	p.hub.event(results.Event{TNs: 8_123_000_000, Kind: results.KindKill, Node: "n2", Role: results.RoleBackup, Signal: "SIGKILL", Detail: hostile})
	p.hub.message("verify: " + hostile)
}

// TestLivePageInABrowser: the page shows what was published and nothing else, on every screen, and follows the run to its end.
func TestLivePageInABrowser(t *testing.T) {
	browser := browsertest.Browser(t)
	for _, screen := range []browsertest.Screen{{Name: "light", Width: 1000, Height: 1250}, {Name: "dark", Width: 1000, Height: 1250, Dark: true},
		{Name: "phone", Width: 360, Height: 1400}, {Name: "phone-dark", Width: 360, Height: 1400, Dark: true}} {
		t.Run(screen.Name, func(t *testing.T) {
			p := startLivePage(t, "")
			feed(p)
			tb := browsertest.Open(t, browser, "http://"+p.address+"/", screen, "#nodes")
			browsertest.WaitFor(t, tb, "document.getElementById('nodes').children.length === 3 && document.getElementById('events').children.length >= 2")
			text := browsertest.Eval[string](t, tb, "document.body.innerText")
			for _, want := range []string{hostile + " on builtin", "89 of 120 s", "291", "1.20 ms", "58 % of 3600 ops, 900 ops/s, 25.0 MiB/s", "1500 ops", "down",
				"n2 killed", "start n2 in 3 s", "8.123 s kill n2 backup SIGKILL " + hostile, "verify: " + hostile} {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not on the page:\n%s", want, text)
				}
			}
			if n := browsertest.Eval[int](t, tb, "document.querySelectorAll('img').length + document.querySelectorAll('body script').length"); n != 0 {
				t.Errorf("%d elements came from outside", n)
			}
			if points := browsertest.Eval[int](t, tb, "[...document.querySelectorAll('#p99-chart polyline')].map(l => l.getAttribute('points').split(' ').length).reduce((a, b) => a + b, 0)"); points != 89 {
				t.Errorf("the chart of p99 has %d points, want 89: one second has none", points)
			}
			if wide := browsertest.Eval[int](t, tb, "document.documentElement.scrollWidth - document.documentElement.clientWidth"); wide > 0 {
				t.Errorf("the page is %d pixels wider than the screen", wide)
			}
			tb.Shoot(t, "live-"+screen.Name)
			p.hub.verdict(runVerdict{Verdict: results.Fail, ExitCode: 1, Reasons: []string{"too slow " + hostile}})
			p.close()
			browsertest.WaitFor(t, tb, "document.getElementById('step').textContent === 'over' && document.getElementById('verdict').textContent.includes('too slow <img')")
			tb.Quiet(t)
		})
	}
}

// TestLogInToTheLivePage types the token as a person would.
func TestLogInToTheLivePage(t *testing.T) {
	browser := browsertest.Browser(t)
	p := startLivePage(t, "open sesame")
	p.hub.view(sampleView())
	tb := browsertest.Open(t, browser, "http://"+p.address+"/", browsertest.Screens[0], "#token")
	browsertest.Eval[bool](t, tb, "document.getElementById('token').value = 'open sesame', document.querySelector('form').requestSubmit(), true")
	const there = "document.getElementById('nodes') !== null && document.getElementById('nodes').children.length === 3"
	for { // the form's page goes away meanwhile, and with it what was asked of it
		if ok, err := chromedp.Run(tb.Ctx, chromedp.Evaluate[bool](there)); err == nil && ok {
			return
		} else if tb.Ctx.Err() != nil {
			t.Fatal("the page did not come: ", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
