package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"rejoin/loadgen"
	"rejoin/results"
)

// progress tells what goes on, to whoever watches: plain lines, and on a terminal one live block below them that is drawn over; with --json
// lines for programs; with --http a page.
type progress struct {
	mu       sync.Mutex
	out      io.Writer
	quiet    bool
	width    func() int // of the terminal in columns; 0: none
	block    []int      // columns of the lines of the live block that stand on the screen
	plainAt  time.Time  // of the last live line where there is no terminal
	watchers []watcher
}

// watcher is told what progress tells a person. It never waits for anybody.
type watcher interface {
	message(text string)
	view(v *liveView)
	event(e results.Event)
	verdict(v runVerdict)
}

// runVerdict is how a run ended.
type runVerdict struct {
	Verdict  results.Verdict `json:"verdict"`
	ExitCode int             `json:"exit_code"`
	Reasons  []string        `json:"reasons"`
	Folder   string          `json:"folder"`
}

func newProgress(out io.Writer, quiet bool) *progress {
	out = unplain(out) // the block is drawn by escape sequences; all text goes through plainText
	return &progress{out: out, quiet: quiet, width: func() int { return terminalWidth(out) }}
}

// terminalWidth is the number of columns, 0 if out is no terminal.
func terminalWidth(out io.Writer) int {
	file, ok := out.(*os.File)
	if !ok {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}

// line prints unless --quiet was given.
func (p *progress) line(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); p.quiet {
		p.tell(func(w watcher) { w.message(text) })
	} else {
		p.always("%s", text)
	}
}

// always prints.
func (p *progress) always(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	p.mu.Lock()
	p.erase()
	fmt.Fprintln(p.out, plainText(text))
	p.mu.Unlock()
	p.tell(func(w watcher) { w.message(text) })
}

func (p *progress) tell(what func(watcher)) {
	for _, w := range p.watchers {
		what(w)
	}
}

// plainEvery is how often a live view becomes a line where there is no terminal.
const plainEvery = time.Second

// show shows the present state: one block on a terminal, a line a second elsewhere.
func (p *progress) show(v *liveView) {
	p.tell(func(w watcher) { w.view(v) })
	if p.quiet {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	width := p.width()
	if width == 0 {
		if now := time.Now(); v.TotalS > 0 && now.Sub(p.plainAt) >= plainEvery-viewEvery/2 {
			p.plainAt = now
			fmt.Fprintln(p.out, plainText(v.textLine()))
		}
		return
	}
	p.draw(v.textBlock(), width)
}

// draw puts a block in the place of the one before, in one write so that it does not flicker. No line reaches the last column: a wrapped
// one could not be drawn over.
func (p *progress) draw(lines []string, width int) {
	var b strings.Builder
	b.WriteString(p.eraser(width))
	p.block = p.block[:0]
	for _, line := range lines {
		line = plainLine(line)
		if runes := []rune(line); len(runes) >= width {
			line = string(runes[:max(width-1, 0)])
		}
		p.block = append(p.block, utf8.RuneCountInString(line))
		b.WriteString(line)
		b.WriteByte('\n')
	}
	io.WriteString(p.out, b.String())
}

// erase takes the live block off the screen.
func (p *progress) erase() {
	if len(p.block) > 0 {
		io.WriteString(p.out, p.eraser(p.width()))
		p.block = p.block[:0]
	}
}

// eraser moves to the beginning of the block and clears all below. A terminal that has become narrower since has wrapped the block's lines.
func (p *progress) eraser(width int) string {
	rows := 0
	for _, columns := range p.block {
		rows++
		if width > 0 && columns > width {
			rows += (columns - 1) / width
		}
	}
	if rows == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA\r\x1b[J", rows)
}

// Steps of a run, in order; perform names each.
const (
	stepLoad  = "load"
	stepQuiet = "quiet"
)

// viewEvery is how often views are made: often enough for a bar that moves, seldom enough to cost nothing.
const viewEvery = 250 * time.Millisecond

// showLoad shows views until ctx ends.
func (r *session) showLoad(ctx context.Context, live *loadgen.Live) {
	sampler := newLiveSampler(live)
	ticker := time.NewTicker(viewEvery)
	defer ticker.Stop()
	began := time.Now()
	for tick := 1; ; tick++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if tick == 1 || tick%int(time.Second/viewEvery) == 0 { // the first view must not show a rate of 0
			sampler.second()
		}
		elapsed := time.Since(began)
		v := r.newView(stepLoad)
		v.ElapsedS, v.TotalS = elapsed.Seconds(), time.Duration(r.scenario.Duration).Seconds()
		sampler.fill(v)
		v.Faults, v.Next = r.plan.now(), r.plan.next(elapsed)
		r.say.show(v)
	}
}

// newView is a view of the nodes in one step of the run.
func (r *session) newView(step string) *liveView {
	v := &liveView{Step: step, Run: r.folder.Name(), Scenario: r.scenario.Name, Target: r.scenario.Target, LagFloorOps: results.LagFloorOps(0), Nodes: []liveNode{}, Faults: []string{}}
	if r.transfers == nil {
		frame := 0.0
		if r.scenario.kind().own && r.scenario.payloadBytesMost() == r.scenario.PayloadBytes {
			frame = float64(frameBytesOf(r.scenario.BatchMessages, r.scenario.PayloadBytes))
		}
		r.transfers = newTransferWatch(frame)
	}
	if r.system != nil {
		v.Nodes = r.transfers.all(r.system.status(), r.system.lagOf, time.Now())
	}
	return v
}

// loadText is how far the load is; behind its end batches may still wait for their answers.
func loadText(elapsed, load time.Duration) string {
	text := fmt.Sprintf("load: %.0f/%.0fs", min(elapsed, load).Seconds(), load.Seconds())
	if rest := elapsed - load; rest >= time.Second {
		text += fmt.Sprintf(", waiting for answers since %.0fs", rest.Seconds())
	}
	return text
}

// nsText is a time for people; "–" is no data.
func nsText(ns *int64) string {
	if ns == nil {
		return "–"
	}
	d := time.Duration(*ns)
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= 10*time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(10 * time.Microsecond).String()
}
