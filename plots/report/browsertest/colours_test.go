//go:build browser

package browsertest

import (
	"bytes"
	"image/color"
	"image/png"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// waitForColours takes pictures of an element until it shows that many colours; the tab's timeout bounds it.
func waitForColours(t *testing.T, tb *Tab, selector chromedp.CSS, least int) {
	t.Helper()
	for {
		shot, err := chromedp.Run(tb.Ctx, chromedp.Screenshot(selector))
		if err != nil && tb.Ctx.Err() == nil && strings.Contains(err.Error(), "No node with given id") {
			continue // the frame was replaced between being found and being drawn
		}
		if err != nil {
			t.Fatalf("wait for %d colours in %s: %v", least, selector, err)
		}
		picture, err := png.Decode(bytes.NewReader(shot))
		if err != nil {
			t.Fatal(err)
		}
		seen := map[color.Color]bool{}
		for y := picture.Bounds().Min.Y; y < picture.Bounds().Max.Y; y++ {
			for x := picture.Bounds().Min.X; x < picture.Bounds().Max.X; x++ {
				if r, g, b, _ := picture.At(x, y).RGBA(); max(r, g, b)-min(r, g, b) > 0x1000 { // no gray of text
					seen[picture.At(x, y)] = true
				}
			}
		}
		if len(seen) >= least {
			return
		}
	}
}
