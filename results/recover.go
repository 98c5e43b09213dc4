package results

import (
	"slices"
	"time"
)

// gapTailNs is how long after a restart a gap still belongs to its kill.
const gapTailNs = int64(5 * time.Second)

// Gap is a stretch between two consecutive acknowledgements of all producers.
type Gap struct{ FromNs, ToNs int64 }

// LongestGap is the longest time between two consecutive acknowledgements, of all producers, that touches [kill, restart + 5 s]; for a node
// that stayed down the span reaches to endNs, as does the last gap if nothing was acknowledged any more. Before the first acknowledgement the
// run's start stands in. Of equal gaps it is the first. ackNs must be sorted.
func (k Kill) LongestGap(ackNs []int64, endNs int64) Gap {
	until := endNs
	if k.RestartNs != nil {
		until = min(*k.RestartNs+gapTailNs, endNs)
	}
	var longest Gap
	first, _ := slices.BinarySearch(ackNs, k.AtNs) // the gap that ends here is the first that touches the span
	for i := first; i <= len(ackNs); i++ {
		g := Gap{0, endNs}
		if i > 0 {
			g.FromNs = ackNs[i-1]
		}
		if i < len(ackNs) {
			g.ToNs = ackNs[i]
		}
		if g.FromNs > until {
			break
		}
		if g.ToNs-g.FromNs > longest.ToNs-longest.FromNs {
			longest = g
		}
	}
	return longest
}

// GapWithoutAckNs is the length of LongestGap.
func (k Kill) GapWithoutAckNs(ackNs []int64, endNs int64) int64 {
	g := k.LongestGap(ackNs, endNs)
	return g.ToNs - g.FromNs
}

// FirstAckAfterNs is the first acknowledgement after a kill, nil if none came. ackNs must be sorted.
func (k Kill) FirstAckAfterNs(ackNs []int64) *int64 {
	i, _ := slices.BinarySearch(ackNs, k.AtNs+1)
	if i == len(ackNs) {
		return nil
	}
	return new(ackNs[i])
}

// commitAgeNs: who shows a commit that somebody had shown this long before has caught up. Without it a node would chase a moving target.
const commitAgeNs = int64(200 * time.Millisecond)

// CatchupWatch finds out from status samples when a restarted node has caught up: at the first poll in which its commit is at or above the
// highest commit that any node had shown 200 ms before, in every partition. Samples come in order of time. Not safe for concurrent use.
type CatchupWatch struct {
	shown []shownCommits // of each partition
	// waiting holds the restarted nodes.
	waiting map[string]int64
}

// shownCommits are rises of the highest commit, oldest first; all but the newest that is old enough are dropped as they age.
type shownCommits []shownCommit

type shownCommit struct{ tNs, commit int64 }

// take books a commit and says whether it was below what had been shown for long enough.
func (c *shownCommits) take(tNs, commit int64) (behind bool) {
	if n := len(*c); n == 0 || commit > (*c)[n-1].commit {
		*c = append(*c, shownCommit{tNs, commit})
	}
	for len(*c) > 1 && (*c)[1].tNs <= tNs-commitAgeNs {
		*c = (*c)[1:]
	}
	old := (*c)[0]
	return old.tNs <= tNs-commitAgeNs && commit < old.commit
}

// Restarted says that a node's new process was started at tNs.
func (w *CatchupWatch) Restarted(node string, tNs int64) {
	if w.waiting == nil {
		w.waiting = map[string]int64{}
	}
	w.waiting[node] = tNs
}

// Killed forgets a node that was killed again before it caught up.
func (w *CatchupWatch) Killed(node string) { delete(w.waiting, node) }

// Waiting is how many restarted nodes have not caught up yet.
func (w *CatchupWatch) Waiting() int { return len(w.waiting) }

// Add takes a sample and says whether with it its node has caught up.
func (w *CatchupWatch) Add(s Status) bool {
	if !s.Up || s.CommitOp == nil {
		return false
	}
	behind := false
	for partition, commit := range s.PartitionCommits() {
		if partition == len(w.shown) {
			w.shown = append(w.shown, nil)
		}
		behind = w.shown[partition].take(s.TNs, commit) || behind
	}
	restart, ok := w.waiting[s.Node]
	if !ok || s.TNs < restart || behind {
		return false
	}
	delete(w.waiting, s.Node)
	return true
}
