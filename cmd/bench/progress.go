package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"rejoin/loadgen"
	"rejoin/results"
)

// progress prints what goes on: plain lines, and on a terminal one live block below them that is drawn over.
type progress struct {
	mu       sync.Mutex
	out      io.Writer
	quiet    bool
	terminal bool
	block    int // lines of the live block that stand on the screen
}

func newProgress(out io.Writer, quiet bool) *progress {
	return &progress{out: out, quiet: quiet, terminal: terminalWidth(out) > 0}
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
	if !p.quiet {
		p.always(format, args...)
	}
}

// always prints.
func (p *progress) always(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	fmt.Fprintf(p.out, format+"\n", args...)
}

// live shows the present state: one block on a terminal, one line elsewhere.
func (p *progress) live(parts ...string) {
	if p.quiet {
		return
	}
	if !p.terminal {
		p.always("%s", strings.TrimRight(strings.Join(parts, "  "), " "))
		return
	}
	width := terminalWidth(p.out)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	for _, part := range parts {
		if runes := []rune(part); width > 1 && len(runes) >= width { // a wrapped line could not be drawn over
			part = string(runes[:width-1])
		}
		fmt.Fprintln(p.out, part)
	}
	p.block = len(parts)
}

// erase takes the live block off the screen.
func (p *progress) erase() {
	if p.block > 0 {
		fmt.Fprintf(p.out, "\x1b[%dA\x1b[J", p.block)
		p.block = 0
	}
}

// showLoad prints a line a second until ctx ends.
func (r *session) showLoad(ctx context.Context, live *loadgen.Live) {
	observer := live.NewObserver()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	began := time.Now()
	last := observer.Look()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		look := observer.Look()
		seconds := float64(look.AtNs-last.AtNs) / 1e9
		rate := float64(look.Acked-last.Acked) / max(seconds, 1e-3)
		r.say.live(fmt.Sprintf("%s  %5.0f batches/s  p50 %s  p99 %s  waiting %d",
			loadText(time.Since(began), time.Duration(r.scenario.Duration)), rate, nsText(look.RecentP50Ns), nsText(look.RecentP99Ns),
			look.Due-look.Acked-look.Unknown-look.Failed), nodesText(r.system.status()), r.plan.now())
		last = look
	}
}

// loadText is how far the load is; behind its end batches may still wait for their answers.
func loadText(elapsed, load time.Duration) string {
	text := fmt.Sprintf("load: %.0f/%.0fs", min(elapsed, load).Seconds(), load.Seconds())
	if rest := elapsed - load; rest >= time.Second {
		text += fmt.Sprintf(", waiting for answers since %.0fs", rest.Seconds())
	}
	return text
}

// nodesText shows every node's role and how many ops its commit is behind the highest.
func nodesText(all []results.Status) string {
	highest := int64(0)
	for _, s := range all {
		if s.CommitOp != nil {
			highest = max(highest, *s.CommitOp)
		}
	}
	var b strings.Builder
	for i, s := range all {
		if i > 0 {
			b.WriteString("  ")
		}
		if !s.Up {
			fmt.Fprintf(&b, "%s down", s.Node)
			continue
		}
		fmt.Fprintf(&b, "%s %s", s.Node, s.Role)
		if lag := highest - *s.CommitOp; lag > 0 {
			fmt.Fprintf(&b, " -%d", lag)
		}
		if s.State != "normal" && s.State != "" {
			fmt.Fprintf(&b, " (%s)", s.State)
		}
	}
	return b.String()
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
