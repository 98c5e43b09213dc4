//go:build browser

package browsertest

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

var pageFile = flag.String("page", "", "report.html to take screenshots of, instead of the sample's")

// open loads a file and waits until its script has run.
func open(t *testing.T, browser context.Context, file string, s Screen) *Tab {
	t.Helper()
	return openUntil(t, browser, file, s, "html.scripted")
}

// openUntil loads a file and waits for an element.
func openUntil(t *testing.T, browser context.Context, file string, s Screen, selector chromedp.CSS) *Tab {
	t.Helper()
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	return Open(t, browser, (&url.URL{Scheme: "file", Path: path}).String(), s, selector)
}

// TestShots keeps pictures of a page, a screen at a time, to look at: -shots DIR -page FILE.
func TestShots(t *testing.T) {
	if *shotsDir == "" || *pageFile == "" {
		t.Skip("skipped: pass -shots DIR and -page FILE")
	}
	b := Browser(t)
	for _, s := range Screens {
		tb := open(t, b, *pageFile, s)
		if err := chromedp.Do(tb.Ctx, chromedp.EmulateViewport(s.Width, 1500)); err != nil {
			t.Fatal(err)
		}
		height := Eval[float64](t, tb, "document.documentElement.scrollHeight")
		Eval[*int](t, tb, "document.querySelector('nav').style.position = 'static', null")
		for y, n := 0.0, 0; y < height; y, n = y+1500, n+1 {
			Eval[*int](t, tb, fmt.Sprintf("window.scrollTo(0, %v), null", y))
			tb.Shoot(t, fmt.Sprintf("%s-%02d", s.Name, n))
		}
		tb.Quiet(t)
	}
}
