//go:build browser

package browsertest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
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

var shotsDir = flag.String("shots", "", "directory to keep screenshots in")

// pageTimeout bounds everything that is done with one page.
const pageTimeout = 40 * time.Second

// Browser starts one chromium for the test; it skips the test where there is none.
func Browser(t *testing.T) context.Context {
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

// Screen is what a page is shown on.
type Screen struct {
	Name          string
	Width, Height int64
	Dark          bool
}

// Screens are those that every page is tried on.
var Screens = []Screen{
	{"desktop-light", 1280, 900, false}, {"desktop-dark", 1280, 900, true}, {"phone-light", 360, 740, false}, {"phone-dark", 360, 740, true},
}

// Tab is one open page and what went wrong in it.
type Tab struct {
	Ctx context.Context // ends with the time that a page may take

	mu  sync.Mutex
	bad []string // console errors, exceptions, refused loads
	// requests are those beside the page itself.
	requests []string
}

// Open loads a page in a tab of its own and waits for an element.
func Open(t *testing.T, browser context.Context, address string, s Screen, selector chromedp.CSS) *Tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	ctx, stop := context.WithTimeout(ctx, pageTimeout)
	t.Cleanup(stop)
	tb := &Tab{Ctx: ctx}
	if err := chromedp.Listen(ctx, func(event any) { tb.take(event, address) }); err != nil {
		t.Fatal(err)
	}
	scheme := "light"
	if s.Dark {
		scheme = "dark"
	}
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}}
	_, networkErr := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	_, logErr := chromedp.Call(ctx, log.Enable, cdp.Empty{})
	_, runtimeErr := chromedp.Call(ctx, runtime.Enable, cdp.Empty{})
	_, mediaErr := chromedp.Call(ctx, emulation.SetEmulatedMedia, media)
	err := errors.Join(networkErr, logErr, runtimeErr, mediaErr, chromedp.Do(ctx, chromedp.EmulateViewport(s.Width, s.Height), chromedp.Navigate(address),
		chromedp.WaitReady(selector)))
	if err != nil {
		t.Fatalf("open %s: %v", address, err)
	}
	return tb
}

func (tb *Tab) take(event any, address string) {
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
		if u, err := url.Parse(e.Request.URL); e.Request.URL != address && (err != nil || u.Scheme != "data" && !sameServer(u, address)) {
			tb.requests = append(tb.requests, e.Request.URL)
		}
	}
}

// sameServer says whether a request went to the server that the page came from; a file has none.
func sameServer(u *url.URL, address string) bool {
	page, err := url.Parse(address)
	return err == nil && page.Host != "" && page.Host == u.Host
}

// Quiet fails if anything was said to the console or asked of a network.
func (tb *Tab) Quiet(t *testing.T) {
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

// Eval runs an expression in the page.
func Eval[T any](t *testing.T, tb *Tab, expression string) T {
	t.Helper()
	out, err := chromedp.Run(tb.Ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return out
}

// WaitFor looks at each frame whether a condition holds; the tab's timeout bounds it. chromedp's own way makes a function of text, which the
// page's policy forbids.
func WaitFor(t *testing.T, tb *Tab, condition string) {
	t.Helper()
	Eval[bool](t, tb, "new Promise((done) => { const look = () => ("+condition+" ? done(true) : requestAnimationFrame(look)); look(); })")
}

// Shoot keeps a picture of what is in view if asked to.
func (tb *Tab) Shoot(t *testing.T, name string) {
	t.Helper()
	if *shotsDir == "" {
		return
	}
	shot, err := chromedp.Run(tb.Ctx, chromedp.CaptureScreenshot())
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
