//go:build browser

package browsertest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"rejoin/plots"
	"rejoin/plots/report"
	"rejoin/plots/report/sample"
	"rejoin/profiles"
	"rejoin/results"
)

// written makes a sample run and its page.
func written(t *testing.T, o sample.Options) results.Folder {
	t.Helper()
	f, err := sample.Run(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	figures, err := plots.FromRun(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := report.Write(f, figures); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestReport opens one page again and again: a browser and a run are slow to make.
func TestReport(t *testing.T) {
	b := Browser(t)
	f := written(t, sample.Options{Flame: flameOfThisProcess(t)})
	for _, s := range Screens {
		t.Run("renders/"+s.Name, func(t *testing.T) { testRenders(t, b, f, s) })
	}
	t.Run("phone tables", func(t *testing.T) { testPhoneTables(t, b, "report", f.Report()) })
	t.Run("values", func(t *testing.T) { testValues(t, b, f) })
	t.Run("zoom", func(t *testing.T) { testZoom(t, b, f) })
	t.Run("cursor", func(t *testing.T) { testCursor(t, b, f) })
	t.Run("switches", func(t *testing.T) { testSwitches(t, b, f) })
	t.Run("tab", func(t *testing.T) { testTab(t, b, f) })
	t.Run("flames", func(t *testing.T) { testFlames(t, b, f) })
	t.Run("without script", func(t *testing.T) { testWithoutScript(t, b, f) })
}

// testRenders: nothing is said to the console, nothing is asked of a network, and the page is as wide as the screen.
func testRenders(t *testing.T, b context.Context, f results.Folder, s Screen) {
	began := time.Now()
	tb := open(t, b, f.Report(), s)
	t.Logf("open after %v", time.Since(began).Round(time.Millisecond))
	if wide := Eval[int64](t, tb, "document.documentElement.scrollWidth"); wide > s.Width {
		who := Eval[string](t, tb, `[...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll, nav ul")).slice(0, 5).map((e) => e.tagName + "." + e.className).join(" ")`)
		t.Errorf("the page is %d px wide on a screen of %d: %s", wide, s.Width, who)
	}
	paper := Eval[string](t, tb, "getComputedStyle(document.body).backgroundColor")
	if want := map[bool]string{false: "rgb(255, 255, 255)", true: "rgb(20, 23, 28)"}[s.Dark]; paper != want {
		t.Errorf("the paper is %s, want %s", paper, want)
	}
	if n := Eval[int](t, tb, `[...document.querySelectorAll("svg.data path.curve:not(.fine)")].filter((p) => p.getBBox().width > 0).length`); n < 9 {
		t.Errorf("only %d curves are drawn", n)
	}
	tb.Quiet(t)
	tb.Shoot(t, "report-"+s.Name)
}

// testPhoneTables: on a phone every table is read by scrolling down only, and each value stands beside its column's name.
func testPhoneTables(t *testing.T, b context.Context, page, file string) {
	t.Helper()
	for _, s := range []Screen{{"phone-390-light", 390, 844, false}, {"phone-390-dark", 390, 844, true}} {
		tb := open(t, b, file, s)
		wide := Eval[[]string](t, tb, `[...document.querySelectorAll("details")].map((d) => d.open = true) && [...document.querySelectorAll(".scroll")]
			.filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.getAttribute("aria-label") + " is " + e.scrollWidth + " px wide")`)
		for _, table := range wide {
			t.Errorf("%s: %s", s.Name, table)
		}
		nameless := Eval[[]string](t, tb, `[...document.querySelectorAll(".stack:not(#checks) td:not(:empty)")].filter((c) =>
			!getComputedStyle(c, "::before").content.includes(c.closest("table").rows[0].cells[c.cellIndex].textContent)).map((c) => c.closest("table").id)`)
		if len(nameless) > 0 {
			t.Errorf("%s: values without the name of their column in %v", s.Name, nameless)
		}
		if n := Eval[int](t, tb, `document.querySelectorAll(".stack td").length`); n < 50 {
			t.Errorf("%s: only %d values are in tables", s.Name, n)
		}
		tb.Quiet(t)
		tb.Shoot(t, page+"-tables-"+s.Name)
	}
}

// cells reads a table by its id, header first.
func cells(t *testing.T, tb *Tab, id string) [][]string {
	t.Helper()
	return Eval[[][]string](t, tb, fmt.Sprintf(`[...document.querySelectorAll("#%s tr")].map((r) => [...r.cells].map((c) => c.textContent.trim()))`, id))
}

// testValues: what the page shows is what summary.json holds.
func testValues(t *testing.T, b context.Context, f results.Folder) {
	s, err := f.ReadSummary()
	if err != nil {
		t.Fatal(err)
	}
	tb := open(t, b, f.Report(), Screens[0])
	if got := Eval[string](t, tb, `document.getElementById("verdict-word").textContent`); got != string(s.Verdict) {
		t.Errorf("verdict %q, want %q", got, s.Verdict)
	}
	seen := 0
	for _, row := range cells(t, tb, "latency-by-phase")[1:] {
		q, ok := s.LatencyNs[map[bool]string{true: results.Overall, false: row[0]}[row[0] == "all but warm-up"]]
		if !ok {
			t.Errorf("the page shows phase %q, which summary.json does not have", row[0])
			continue
		}
		seen++
		for i, want := range []*int64{q.P50, q.P90, q.P99, q.P999, q.P9999, q.Max} {
			if got := row[i+1]; !sameDuration(got, want) {
				t.Errorf("phase %s, column %d: %q, want %v", row[0], i+1, got, want)
			}
		}
		if got := strings.ReplaceAll(row[7], ",", ""); got != fmt.Sprint(q.Count) {
			t.Errorf("phase %s: %q batches, want %d", row[0], row[7], q.Count)
		}
	}
	if seen != len(s.LatencyNs) {
		t.Errorf("the page shows %d of %d phases", seen, len(s.LatencyNs))
	}
	for i, row := range cells(t, tb, "recovery-table")[1:] {
		k := s.Kills[i]
		if row[0] != k.Node || row[1] != k.Role || row[2] != string(k.How.Word()) || !sameMs(row[4], k.DownMs) || !sameMs(row[5], k.FirstAckMs) || !sameMs(row[7], k.CaughtUpMs) {
			t.Errorf("kill %d is shown as %q", i, row)
		}
	}
}

// sameDuration compares what a page says with a number; three digits count.
func sameDuration(text string, ns *int64) bool {
	if ns == nil {
		return text == "–"
	}
	d, err := time.ParseDuration(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		return false
	}
	diff := float64(d) - float64(*ns)
	return max(diff, -diff) <= 0.006*float64(*ns)
}

func sameMs(text string, ms *float64) bool {
	if ms == nil {
		return text == "never"
	}
	return sameDuration(text, new(int64(*ms*1e6)))
}

// testZoom: a button, the keyboard and a drag change what all drawings show, and the list of events with it.
func testZoom(t *testing.T, b context.Context, f results.Folder) {
	tb := open(t, b, f.Report(), Screens[0])
	view := func() [2]float64 {
		return Eval[[2]float64](t, tb, `(() => { const v = document.querySelector("#stage-run svg.data").viewBox.baseVal; return [v.x, v.width]; })()`)
	}
	whole := view()
	Eval[*int](t, tb, `document.querySelector("#stage-run button[data-from]").click(), null`)
	if v := view(); v[0] != 14_000 || v[1] >= whole[1]/5 {
		t.Errorf("the zoom to the first kill shows %v of %v", v, whole)
	}
	if n := Eval[int](t, tb, `[...document.querySelectorAll("#events tr[data-at]")].filter((r) => !r.hidden && (r.dataset.at < 14000 || r.dataset.at > 20000)).length`); n != 0 {
		t.Errorf("%d events outside the zoom are shown", n)
	}
	if n := Eval[int](t, tb, `[...document.querySelectorAll("#events tr[data-at]")].filter((r) => !r.hidden).length`); n == 0 {
		t.Error("no event inside the zoom is shown")
	}
	if err := chromedp.Do(tb.Ctx, chromedp.Focus(chromedp.CSS("#stage-run .drawing")), chromedp.KeyEvent("-")); err != nil {
		t.Fatal(err)
	}
	before := view()
	if err := chromedp.Do(tb.Ctx, chromedp.KeyEvent("+")); err != nil {
		t.Fatal(err)
	}
	if v := view(); v[1] >= before[1] {
		t.Errorf("the plus key left %v as wide as %v", v, before)
	}
	if err := chromedp.Do(tb.Ctx, chromedp.KeyEvent("\u001b")); err != nil {
		t.Fatal(err)
	}
	if v := view(); v != whole {
		t.Errorf("Escape shows %v, want %v", v, whole)
	}
	drag(t, tb, "#stage-run .panel .area", 0.25, 0.5)
	if v := view(); v[0] < whole[1]*0.2 || v[0] > whole[1]*0.3 || v[1] < whole[1]*0.2 || v[1] > whole[1]*0.3 {
		t.Errorf("a drag over the second quarter shows %v of %v", v, whole)
	}
	labels := Eval[[]string](t, tb, `[...document.querySelectorAll("#stage-run .axis .at")].map((e) => e.textContent)`)
	if len(labels) < 3 || labels[0] == "0" {
		t.Errorf("after a zoom the axis says %q", labels)
	}
	tb.Shoot(t, "report-zoomed")
	tb.Quiet(t)
}

// drag presses at one share of an element's width and lets go at another.
func drag(t *testing.T, tb *Tab, selector string, from, to float64) {
	t.Helper()
	box := Eval[[4]float64](t, tb, fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.scrollIntoView({block: "center"}); const r = e.getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; })()`, selector))
	y := box[1] + box[3]/2
	steps := []chromedp.Action[chromedp.Void]{chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, box[0]+box[2]*from, y, chromedp.ButtonLeft)}
	for i := range 5 {
		x := box[0] + box[2]*(from+(to-from)*float64(i+1)/5)
		steps = append(steps, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x, y, chromedp.ButtonLeft))
	}
	steps = append(steps, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, box[0]+box[2]*to, y, chromedp.ButtonLeft))
	if err := chromedp.Do(tb.Ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

// testCursor: the values under the cursor are those of the run, and the keyboard says them aloud.
func testCursor(t *testing.T, b context.Context, f results.Folder) {
	rates, err := f.ReadRates()
	if err != nil {
		t.Fatal(err)
	}
	tb := open(t, b, f.Report(), Screens[0])
	if err := chromedp.Do(tb.Ctx, chromedp.Focus(chromedp.CSS("#stage-run .drawing"))); err != nil {
		t.Fatal(err)
	}
	Eval[*int](t, tb, `document.querySelector("#stage-run .drawing").dispatchEvent(new KeyboardEvent("keydown", {key: "Home", bubbles: true})), null`)
	said := Eval[string](t, tb, `document.querySelector("#stage-run .cursor-time").textContent`)
	if !strings.HasPrefix(said, "at 0.000 s: ") || !strings.Contains(said, "p50 by second") {
		t.Errorf("the cursor at home says %q", said)
	}
	if live := Eval[string](t, tb, `document.querySelector("#stage-run .cursor-time").getAttribute("aria-live")`); live != "polite" {
		t.Errorf("a cursor moved by the keyboard is announced as %q", live)
	}
	if got, want := Eval[string](t, tb, `document.querySelector("output[data-value=acknowledged]").textContent`), fmt.Sprintf("%d/s", rates[0].AckedBatches); got != want {
		t.Errorf("acknowledged under the cursor: %q, want %q", got, want)
	}
	Eval[*int](t, tb, `document.querySelector("#stage-percentiles .drawing").dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true})), null`)
	if said := Eval[string](t, tb, `document.querySelector("#stage-percentiles .cursor-time").textContent`); !strings.HasPrefix(said, "at p") || !strings.Contains(said, "ms") {
		t.Errorf("the cursor over percentiles says %q", said)
	}
	tb.Quiet(t)
}

// testSwitches: a series that is switched off is not drawn.
func testSwitches(t *testing.T, b context.Context, f results.Folder) {
	tb := open(t, b, f.Report(), Screens[0])
	const state = `(() => { const all = [...document.querySelectorAll("input[data-series]")]; const drawn = all.filter((i) => getComputedStyle(document.getElementById("curve-" + i.dataset.series)).display !== "none"); return [all.length, drawn.length]; })()`
	on := Eval[[2]int](t, tb, state)
	Eval[*int](t, tb, `document.querySelectorAll("input[data-series]").forEach((i) => i.click()), null`)
	off := Eval[[2]int](t, tb, state)
	if on[0] < 9 || on[1] != on[0] || off[1] != 0 {
		t.Errorf("%v series are drawn, and %v when all are switched off", on, off)
	}
}

// testTab: everything that can be used is reached by the Tab key, in the order of the page.
func testTab(t *testing.T, b context.Context, f results.Folder) {
	tb := open(t, b, f.Report(), Screens[0])
	Eval[*int](t, tb, `document.querySelectorAll("details").forEach((d) => { d.open = true; }), null`)
	want := Eval[int](t, tb, `(() => { const all = [...document.querySelectorAll("a[href], button:not(:disabled), input, summary, [tabindex='0']")].filter((e) => e.checkVisibility()); all.forEach((e, i) => { e.dataset.order = i; }); return all.length; })()`)
	if want < 40 {
		t.Fatalf("the page has only %d controls", want)
	}
	for i := range want {
		if err := chromedp.Do(tb.Ctx, chromedp.KeyEvent("\t")); err != nil {
			t.Fatal(err)
		}
		got := Eval[string](t, tb, `document.activeElement.dataset.order || document.activeElement.outerHTML.slice(0, 80)`)
		if got != fmt.Sprint(i) {
			missed := Eval[string](t, tb, fmt.Sprintf(`document.querySelector("[data-order='%d']").outerHTML.slice(0, 120)`, i))
			t.Fatalf("Tab number %d went to %s, not to %s", i+1, got, missed)
		}
	}
	unnamed := Eval[[]string](t, tb, `[...document.querySelectorAll("button, input, iframe, [role=img], [role=group], [role=region]")].filter((e) => !(e.getAttribute("aria-label") || e.textContent.trim() || (e.labels && e.labels[0] && e.labels[0].textContent.trim()))).map((e) => e.outerHTML.slice(0, 100))`)
	for _, e := range unnamed {
		t.Errorf("has no name for a screen reader: %s", e)
	}
}

// testFlames: a flame graph of pprof opens in a frame that reaches nothing, and its own script runs there.
func testFlames(t *testing.T, b context.Context, f results.Folder) {
	tb := open(t, b, f.Report(), Screens[0])
	if n := Eval[int](t, tb, "document.querySelectorAll('iframe').length"); n != 0 {
		t.Errorf("%d frames before any was asked for", n)
	}
	Eval[*int](t, tb, `document.querySelector("button[data-flame]").click(), null`)
	WaitFor(t, tb, `document.querySelector("iframe") && document.querySelector("iframe").srcdoc.includes("stack-holder")`)
	if got := Eval[string](t, tb, `document.querySelector("iframe").getAttribute("sandbox")`); got != "allow-scripts" {
		t.Errorf("the frame is sandboxed as %q", got)
	}
	waitForColours(t, tb, "iframe", 4) // the boxes of its functions
	tb.Quiet(t)
	tb.Shoot(t, "report-flame")
	Eval[*int](t, tb, `document.querySelector("button[data-flame]").click(), null`)
	if n := Eval[int](t, tb, "document.querySelectorAll('iframe').length"); n != 0 {
		t.Errorf("%d frames after closing it", n)
	}
}

// testWithoutScript: verdict, tables and drawings are there, and no control that would do nothing.
func testWithoutScript(t *testing.T, b context.Context, f results.Folder) {
	page, err := os.ReadFile(f.Report())
	if err != nil {
		t.Fatal(err)
	}
	bare := filepath.Join(t.TempDir(), "bare.html")
	text := strings.Replace(string(page), "script-src ", "script-src 'none'; x-was ", 1)
	if err := os.WriteFile(bare, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	tb := openUntil(t, b, bare, Screens[2], "body")
	if Eval[bool](t, tb, `document.documentElement.classList.contains("scripted")`) {
		t.Fatal("the script ran although the policy forbids it")
	}
	if n := Eval[int](t, tb, `[...document.querySelectorAll("button, input")].filter((e) => e.checkVisibility()).length`); n != 0 {
		t.Errorf("%d controls are shown that do nothing", n)
	}
	if n := Eval[int](t, tb, `[...document.querySelectorAll("svg.data path.curve:not(.fine)")].filter((p) => p.getBoundingClientRect().width > 20).length`); n < 9 {
		t.Errorf("only %d curves are drawn", n)
	}
	if wide := Eval[int64](t, tb, "document.documentElement.scrollWidth"); wide > Screens[2].Width {
		t.Errorf("the page is %d px wide on a screen of %d", wide, Screens[2].Width)
	}
	tb.Shoot(t, "report-without-script")
}

// TestHostileNames: whatever a name holds is shown and does nothing.
func TestHostileNames(t *testing.T) {
	b := Browser(t)
	const name = `</script><script>window.hacked=1</script><img src=x onerror="window.hacked=1">'"` + "`\u2028&lt;]]>--><!--<svg onload=window.hacked=1>;--a:1}*{display:none}"
	f := written(t, sample.Options{Name: name, Flame: []byte("<html><body><script>1</script></body></html>")})
	for _, s := range Screens[:3:3] {
		tb := open(t, b, f.Report(), s)
		if Eval[bool](t, tb, `"hacked" in window`) {
			t.Fatal("a name ran as a script")
		}
		if n := Eval[int](t, tb, `document.images.length + document.querySelectorAll("[onerror], [onload]").length`); n != 0 {
			t.Errorf("names became %d elements", n)
		}
		if got := Eval[string](t, tb, `document.getElementById("reasons").textContent.trim()`); got != "because"+name {
			t.Errorf("the reason shows as %q", got)
		}
		if wide := Eval[int64](t, tb, "document.documentElement.scrollWidth"); wide > s.Width {
			t.Errorf("long names make the page %d px wide on a screen of %d", wide, s.Width)
		}
		tb.Quiet(t)
		tb.Shoot(t, "hostile-"+s.Name)
	}
}

// flameOfThisProcess is a real page of pprof.
func flameOfThisProcess(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	session, err := profiles.Start(profiles.Mode("mem"), dir)
	if err != nil {
		t.Fatal(err)
	}
	kept := make([][]byte, 0, 64)
	for range 64 {
		kept = append(kept, make([]byte, 64<<10))
	}
	file, err := session.Stop()
	if err != nil || len(kept) == 0 {
		t.Fatal(err)
	}
	p, err := profiles.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page, err := profiles.FlameGraph(p, "alloc_space")
	if err != nil {
		t.Fatal(err)
	}
	return page
}
