package main

import (
	"slices"
	"time"

	"rejoin/loadgen"
	"rejoin/results"
)

// liveView is one look at a run under way: what the terminal, --json and the page of --http show, and what /metrics counts.
type liveView struct {
	Step     string  `json:"step"` // preflight, baseline, start, load, quiet, verify, conclude
	Run      string  `json:"run"`  // name of the run folder
	Scenario string  `json:"scenario"`
	Target   string  `json:"target"`
	ElapsedS float64 `json:"elapsed_s"` // of the load, or of the quiet phase
	TotalS   float64 `json:"total_s"`   // of the same; 0 in other steps

	BatchesPerS float64 `json:"batches_per_s"` // acknowledged in the last second
	LagFloorOps int64   `json:"lag_floor_ops"` // a lag up to this is none: news that is under way at that rate, see results.LagFloorOps
	P50Ns       *int64  `json:"p50_ns"`        // of those, from due; null without samples
	P99Ns       *int64  `json:"p99_ns"`

	DueBatches     int64 `json:"due_batches"`
	AckedBatches   int64 `json:"acked_batches"`
	UnknownBatches int64 `json:"unknown_batches"`
	FailedBatches  int64 `json:"failed_batches"`
	WaitingBatches int64 `json:"waiting_batches"` // due and without an outcome yet
	Tries          int64 `json:"tries"`

	ReadBatches int64  `json:"read_batches"` // by all consumers together
	ReadP50Ns   *int64 `json:"read_p50_ns"`  // from due, of the last second; null without consumers
	ReadP99Ns   *int64 `json:"read_p99_ns"`

	Nodes      []liveNode `json:"nodes"`
	Faults     []string   `json:"faults"` // in force now, in words
	Next       *liveNext  `json:"next"`   // null: nothing more is planned
	WaitingFor string     `json:"waiting_for,omitempty"`
}

// liveNode is one node.
type liveNode struct {
	Node     string        `json:"node"`
	Up       bool          `json:"up"`
	Role     string        `json:"role,omitempty"`
	State    string        `json:"state,omitempty"`
	LagOps   *int64        `json:"lag_ops"` // behind the highest commit shown when it was asked; null while it does not answer
	Transfer *liveTransfer `json:"transfer,omitempty"`
}

// liveTransfer is how far a repair or a transfer has come, as seen from outside: by the node's commit and the highest one.
type liveTransfer struct {
	Kind      string  `json:"kind"` // the node's state: repairing, transferring or wiped
	DoneOps   int64   `json:"done_ops"`
	TotalOps  int64   `json:"total_ops"` // grows while the load goes on
	Percent   float64 `json:"percent"`
	OpsPerS   float64 `json:"ops_per_s"`
	BytesPerS float64 `json:"bytes_per_s,omitempty"` // left out where frames differ in size
}

// liveNext is the next thing that the schedule will do.
type liveNext struct {
	What string  `json:"what"`
	InS  float64 `json:"in_s"`
}

// States in which a node fetches what it lacks.
const (
	stateRepairing    = "repairing"
	stateTransferring = "transferring"
	stateWiped        = "wiped" // an empty directory that has to fetch everything
)

// transferWatch follows the nodes' commits from look to look. It belongs to one goroutine.
type transferWatch struct {
	frameBytes float64 // 0: frames differ in size
	nodes      map[string]*transferSeen
}

type transferSeen struct {
	kind       string
	from, last int64
	lastAt     time.Time
	opsPerS    float64
}

func newTransferWatch(frameBytes float64) *transferWatch {
	return &transferWatch{frameBytes: frameBytes, nodes: map[string]*transferSeen{}}
}

// rateWindow is the least time between two commits that a rate is made of.
const rateWindow = 500 * time.Millisecond

func (w *transferWatch) look(s results.Status, highest int64, now time.Time) *liveTransfer {
	if !s.Up || s.CommitOp == nil || !slices.Contains([]string{stateRepairing, stateTransferring, stateWiped}, s.State) {
		delete(w.nodes, s.Node)
		return nil
	}
	commit := *s.CommitOp
	seen := w.nodes[s.Node]
	if seen == nil || seen.kind != s.State {
		seen = &transferSeen{kind: s.State, from: commit, last: commit, lastAt: now}
		w.nodes[s.Node] = seen
	}
	if passed := now.Sub(seen.lastAt); passed >= rateWindow {
		seen.opsPerS = float64(commit-seen.last) / passed.Seconds()
		seen.last, seen.lastAt = commit, now
	}
	t := &liveTransfer{Kind: s.State, DoneOps: max(commit-seen.from, 0), TotalOps: max(highest-seen.from, 0), OpsPerS: max(seen.opsPerS, 0)}
	t.BytesPerS = t.OpsPerS * w.frameBytes
	if t.TotalOps > 0 {
		t.Percent = 100 * float64(min(t.DoneOps, t.TotalOps)) / float64(t.TotalOps)
	}
	return t
}

// all makes the rows of all nodes. lagOf tells the lag of a node that answers.
func (w *transferWatch) all(statuses []results.Status, lagOf func(node int) *int64, now time.Time) []liveNode {
	highest := int64(0)
	for _, s := range statuses {
		if s.CommitOp != nil {
			highest = max(highest, *s.CommitOp)
		}
	}
	rows := []liveNode{}
	for node, s := range statuses {
		if s.Node == "" {
			continue // not started yet, so nobody has asked it
		}
		row := liveNode{Node: s.Node, Up: s.Up, Role: s.Role, State: s.State, Transfer: w.look(s, highest, now)}
		if s.Up {
			row.LagOps = lagOf(node)
		}
		rows = append(rows, row)
	}
	return rows
}

// liveSampler turns looks at a running load into views. Rate and latencies are of the last second, whatever happens to be drawn between;
// of less in the first second.
type liveSampler struct {
	observer *loadgen.Observer
	last     loadgen.Progress
	rate     float64
	p50, p99 *int64

	readP50, readP99 *int64
}

func newLiveSampler(live *loadgen.Live) *liveSampler {
	s := &liveSampler{observer: live.NewObserver()}
	s.last = s.observer.Look()
	return s
}

// second takes the look that closes a second, or the first part of the first one.
func (s *liveSampler) second() {
	look := s.observer.Look()
	seconds := float64(look.AtNs-s.last.AtNs) / 1e9
	s.rate = float64(look.Acked-s.last.Acked) / max(seconds, 1e-3)
	s.p50, s.p99 = look.RecentP50Ns, look.RecentP99Ns
	s.readP50, s.readP99 = look.ReadP50Ns, look.ReadP99Ns
	s.last = look
}

func (s *liveSampler) fill(v *liveView) {
	l := s.last
	v.BatchesPerS, v.P50Ns, v.P99Ns = s.rate, s.p50, s.p99
	v.LagFloorOps = results.LagFloorOps(s.rate)
	v.DueBatches, v.AckedBatches, v.UnknownBatches, v.FailedBatches, v.Tries = l.Due, l.Acked, l.Unknown, l.Failed, l.Tries
	v.ReadBatches, v.ReadP50Ns, v.ReadP99Ns = l.Read, s.readP50, s.readP99
	v.WaitingBatches = max(l.Due-l.Acked-l.Unknown-l.Failed, 0)
}
