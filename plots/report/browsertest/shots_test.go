//go:build browser

package browsertest

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestShots keeps pictures of a page, a screen at a time, to look at: -shots DIR -page FILE.
func TestShots(t *testing.T) {
	if *shotsDir == "" || *pageFile == "" {
		t.Skip("skipped: pass -shots DIR and -page FILE")
	}
	b := browser(t)
	for _, s := range screens {
		tb := open(t, b, *pageFile, s)
		if err := chromedp.Do(tb.ctx, chromedp.EmulateViewport(s.width, 1500)); err != nil {
			t.Fatal(err)
		}
		height := eval[float64](t, tb, "document.documentElement.scrollHeight")
		eval[*int](t, tb, "document.querySelector('nav').style.position = 'static', null")
		for y, n := 0.0, 0; y < height; y, n = y+1500, n+1 {
			eval[*int](t, tb, fmt.Sprintf("window.scrollTo(0, %v), null", y))
			tb.shoot(t, fmt.Sprintf("%s-%02d", s.name, n))
		}
		tb.quiet(t)
	}
}
