//go:build browser

package browsertest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"image/color"
	"image/png"
	"net/url"
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
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

var (
	shotsDir = flag.String("shots", "", "directory to keep screenshots in")
	pageFile = flag.String("page", "", "report.html to take screenshots of, instead of the sample's")
)

// pageTimeout bounds everything that is done with one page.
const pageTimeout = 40 * time.Second

// browser starts one chromium for the test; it skips the test where there is none.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("skipped: no chromium; install one by: apt-get install -y --no-install-recommends chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.DisableGPU, chromedp.Flag("hide-scrollbars", true))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // chromium refuses to sandbox for root
	}
	allocated, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, closeBrowser := chromedp.NewContext(allocated)
	t.Cleanup(closeBrowser)
	if err := chromedp.Do(ctx); err != nil { // the browser lives as long as this context
		t.Fatalf("start %s: %v", path, err)
	}
	return ctx
}

// screen is what a page is shown on.
type screen struct {
	name          string
	width, height int64
	dark          bool
}

var screens = []screen{
	{"desktop-light", 1280, 900, false}, {"desktop-dark", 1280, 900, true}, {"phone-light", 360, 740, false}, {"phone-dark", 360, 740, true},
}

// tab is one open page and what went wrong in it.
type tab struct {
	ctx context.Context
	mu  sync.Mutex
	bad []string // console errors, exceptions, refused loads
	// requests are those beside the page itself.
	requests []string
}

// open loads a file in a tab of its own and waits until its script has run.
func open(t *testing.T, browser context.Context, file string, s screen) *tab {
	t.Helper()
	return openUntil(t, browser, file, s, "html.scripted")
}

// openUntil loads a file and waits for an element.
func openUntil(t *testing.T, browser context.Context, file string, s screen, selector chromedp.CSS) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	ctx, stop := context.WithTimeout(ctx, pageTimeout)
	t.Cleanup(stop)
	tb := &tab{ctx: ctx}
	file, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	address := (&url.URL{Scheme: "file", Path: file}).String()
	if err := chromedp.Listen(ctx, func(event any) { tb.take(event, address) }); err != nil {
		t.Fatal(err)
	}
	scheme := "light"
	if s.dark {
		scheme = "dark"
	}
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}}
	_, networkErr := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	_, logErr := chromedp.Call(ctx, log.Enable, cdp.Empty{})
	_, runtimeErr := chromedp.Call(ctx, runtime.Enable, cdp.Empty{})
	_, mediaErr := chromedp.Call(ctx, emulation.SetEmulatedMedia, media)
	err = errors.Join(networkErr, logErr, runtimeErr, mediaErr, chromedp.Do(ctx, chromedp.EmulateViewport(s.width, s.height), chromedp.Navigate(address),
		chromedp.WaitReady(selector)))
	if err != nil {
		t.Fatalf("open %s: %v", file, err)
	}
	return tb
}

func (tb *tab) take(event any, address string) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		tb.bad = append(tb.bad, fmt.Sprintf("exception: %v", e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		tb.bad = append(tb.bad, "console."+string(e.Type))
	case *log.EventEntryAdded:
		tb.bad = append(tb.bad, string(e.Entry.Level)+": "+e.Entry.Text)
	case *network.EventRequestWillBeSent:
		if u, err := url.Parse(e.Request.URL); e.Request.URL != address && (err != nil || u.Scheme != "data") {
			tb.requests = append(tb.requests, e.Request.URL)
		}
	}
}

// quiet fails if anything was said to the console or asked of a network.
func (tb *tab) quiet(t *testing.T) {
	t.Helper()
	tb.mu.Lock()
	defer tb.mu.Unlock()
	for _, b := range tb.bad {
		t.Errorf("the page said: %s", b)
	}
	for _, r := range tb.requests {
		t.Errorf("the page asked for %s", r)
	}
}

// eval runs an expression in the page.
func eval[T any](t *testing.T, tb *tab, expression string) T {
	t.Helper()
	out, err := chromedp.Run(tb.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return out
}

// waitFor looks at each frame whether a condition holds; the tab's timeout bounds it. chromedp's own way makes a function of text, which the
// page's policy forbids.
func waitFor(t *testing.T, tb *tab, condition string) {
	t.Helper()
	eval[bool](t, tb, "new Promise((done) => { const look = () => ("+condition+" ? done(true) : requestAnimationFrame(look)); look(); })")
}

// waitForColours takes pictures of an element until it shows that many colours; the tab's timeout bounds it.
func waitForColours(t *testing.T, tb *tab, selector chromedp.CSS, least int) {
	t.Helper()
	for {
		shot, err := chromedp.Run(tb.ctx, chromedp.Screenshot(selector))
		if err != nil && tb.ctx.Err() == nil && strings.Contains(err.Error(), "No node with given id") {
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

// shoot keeps a picture of what is in view if asked to.
func (tb *tab) shoot(t *testing.T, name string) {
	t.Helper()
	if *shotsDir == "" {
		return
	}
	shot, err := chromedp.Run(tb.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.MkdirAll(*shotsDir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(*shotsDir, name+".png"), shot, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
