//go:build browser

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"rejoin/results"
)

var shotsDir = flag.String("shots", "", "directory to keep screenshots of the live page in")

func startBrowser(t *testing.T) context.Context {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("skipped: no chromium; install one by: apt-get install -y --no-install-recommends chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.DisableGPU)
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // chromium refuses to sandbox for root
	}
	allocated, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, closeBrowser := chromedp.NewContext(allocated)
	t.Cleanup(closeBrowser)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	return ctx
}

// complaints gathers what a page says to the console.
type complaints struct {
	mu  sync.Mutex
	all []string
}

func (c *complaints) take(event any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		c.all = append(c.all, fmt.Sprintf("exception: %v", e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		c.all = append(c.all, "console."+string(e.Type))
	case *log.EventEntryAdded:
		c.all = append(c.all, string(e.Entry.Level)+": "+e.Entry.Text)
	}
}

func evaluate[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	out, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return out
}

func waitUntil(t *testing.T, ctx context.Context, condition string) {
	t.Helper()
	if err := chromedp.Do(ctx, chromedp.Poll[chromedp.Void](condition, chromedp.WithPollingTimeout(30*time.Second))); err != nil {
		t.Fatalf("wait for %s: %v", condition, err)
	}
}

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
	browser := startBrowser(t)
	for _, screen := range []struct {
		name          string
		width, height int64
		scheme        string
	}{{"light", 1000, 1250, "light"}, {"dark", 1000, 1250, "dark"}, {"phone", 360, 1400, "light"}, {"phone-dark", 360, 1400, "dark"}} {
		t.Run(screen.name, func(t *testing.T) {
			p := startLivePage(t, "")
			feed(p)
			ctx, cancel := chromedp.NewContext(browser)
			defer cancel()
			if err := chromedp.Do(ctx); err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithTimeout(ctx, time.Minute)
			defer stop()
			said := &complaints{}
			media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: screen.scheme}}}
			listenErr := chromedp.Listen(ctx, said.take)
			_, logErr := chromedp.Call(ctx, log.Enable, cdp.Empty{})
			_, runtimeErr := chromedp.Call(ctx, runtime.Enable, cdp.Empty{})
			_, mediaErr := chromedp.Call(ctx, emulation.SetEmulatedMedia, media)
			err := errors.Join(listenErr, logErr, runtimeErr, mediaErr,
				chromedp.Do(ctx, chromedp.EmulateViewport(screen.width, screen.height), chromedp.Navigate("http://"+p.address+"/")))
			if err != nil {
				t.Fatal(err)
			}
			waitUntil(t, ctx, "document.getElementById('nodes').children.length === 3 && document.getElementById('events').children.length >= 2")
			text := evaluate[string](t, ctx, "document.body.innerText")
			for _, want := range []string{hostile + " on builtin", "89 of 120 s", "291", "1.20 ms", "58 % of 3600 ops, 900 ops/s, 25.0 MiB/s", "1500 ops", "down",
				"n2 killed", "start n2 in 3 s", "8.123 s kill n2 backup SIGKILL " + hostile, "verify: " + hostile} {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not on the page:\n%s", want, text)
				}
			}
			if n := evaluate[int](t, ctx, "document.querySelectorAll('img').length + document.querySelectorAll('body script').length"); n != 0 {
				t.Errorf("%d elements came from outside", n)
			}
			if points := evaluate[int](t, ctx, "[...document.querySelectorAll('#p99-chart polyline')].map(l => l.getAttribute('points').split(' ').length).reduce((a, b) => a + b, 0)"); points != 89 {
				t.Errorf("the chart of p99 has %d points, want 89: one second has none", points)
			}
			if wide := evaluate[int](t, ctx, "document.documentElement.scrollWidth - document.documentElement.clientWidth"); wide > 0 {
				t.Errorf("the page is %d pixels wider than the screen", wide)
			}
			if *shotsDir != "" {
				png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
				if err == nil {
					err = os.WriteFile(filepath.Join(*shotsDir, "live-"+screen.name+".png"), png, 0o644)
				}
				if err != nil {
					t.Error(err)
				}
			}
			p.hub.verdict(runVerdict{Verdict: results.Fail, ExitCode: 1, Reasons: []string{"too slow " + hostile}})
			p.close()
			waitUntil(t, ctx, "document.getElementById('step').textContent === 'over' && document.getElementById('verdict').textContent.includes('too slow <img')")
			said.mu.Lock()
			defer said.mu.Unlock()
			if len(said.all) > 0 {
				t.Errorf("the page said: %s", strings.Join(said.all, "\n"))
			}
		})
	}
}

// TestLogInToTheLivePage types the token as a person would.
func TestLogInToTheLivePage(t *testing.T) {
	browser := startBrowser(t)
	p := startLivePage(t, "open sesame")
	p.hub.view(sampleView())
	ctx, stop := context.WithTimeout(browser, time.Minute)
	defer stop()
	if err := chromedp.Do(ctx, chromedp.Navigate("http://"+p.address+"/")); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, ctx, "document.getElementById('token') !== null")
	evaluate[bool](t, ctx, "document.getElementById('token').value = 'open sesame', document.querySelector('form').requestSubmit(), true")
	const there = "document.getElementById('nodes') !== null && document.getElementById('nodes').children.length === 3"
	for { // the form's page goes away meanwhile, and with it what was asked of it
		if ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool](there)); err == nil && ok {
			return
		} else if ctx.Err() != nil {
			t.Fatal("the page did not come: ", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
