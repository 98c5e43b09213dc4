package profiles

import (
	"slices"
	"sync"
)

// Lost is a stretch of time of which there is no profile although one was being taken. Tries that fail for one reason in a row are one.
type Lost struct {
	FromNs, ToNs int64
	Reason       string
	Windows      int
}

// Captured is what a node's profiles cover and what they do not.
type Captured struct {
	Node string
	// Windows are CPU windows on disk, in order of time; their duration is at most what is said here.
	Windows   []Window
	Snapshots []Snapshot // on disk, in order of time
	Lost      []Lost     // under way when the node died, or refused
	// CutOff is 1 if the end of the capture took a window with it that could not be saved any more; it is not counted as lost.
	CutOff int
}

// Snapshot is a moment in which what a process holds or has counted was written.
type Snapshot struct {
	Kind Kind
	Window
}

// LostWindows counts what was being taken and is not there.
func (c Captured) LostWindows() int {
	n := 0
	for _, l := range c.Lost {
		n += l.Windows
	}
	return n
}

// CoveredNs is how long profilers ran whose profiles are there.
func (c Captured) CoveredNs() int64 {
	var n int64
	for _, w := range c.Windows {
		n += w.DurationNs
	}
	return n
}

// logbook is one node's Captured while it grows; others may look at it.
type logbook struct {
	mu    sync.Mutex
	node  string
	state Captured
	// unbroken: nothing has been captured since the last entry of Lost.
	unbroken bool
}

func (b *logbook) took(kind Kind, w Window) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if kind != CPU {
		b.state.Snapshots = append(b.state.Snapshots, Snapshot{kind, w})
		return
	}
	b.state.Windows = append(b.state.Windows, w)
	b.unbroken = false
}

func (b *logbook) lost(fromNs, toNs int64, reason string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := len(b.state.Lost); b.unbroken && b.state.Lost[n-1].Reason == reason {
		b.state.Lost[n-1].ToNs = toNs
		b.state.Lost[n-1].Windows++
		return
	}
	b.state.Lost = append(b.state.Lost, Lost{FromNs: fromNs, ToNs: toNs, Reason: reason, Windows: 1})
	b.unbroken = true
}

func (b *logbook) cutOff() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state.CutOff++
}

func (b *logbook) report() Captured {
	b.mu.Lock()
	defer b.mu.Unlock()
	return Captured{Node: b.node, Windows: slices.Clone(b.state.Windows), Snapshots: slices.Clone(b.state.Snapshots),
		Lost: slices.Clone(b.state.Lost), CutOff: b.state.CutOff}
}
