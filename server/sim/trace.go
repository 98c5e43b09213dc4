package sim

import (
	"fmt"
	"io"
	"strings"

	"rejoin/server/vsr"
)

// record is one line of the trace, not yet written: most are never read.
type record struct {
	at     int64
	node   int // noNode for what concerns no replica
	verb   string
	from   int // noNode when nobody sent it
	n      [4]uint64
	text   string
	status bool
	s      vsr.Status
}

const noNode = -1

// trace hashes every record and keeps the last ones.
type trace struct {
	out  io.Writer // nil: nobody reads along
	hash uint64
	ring [traceLines]record
	kept int
}

const traceLines = 80

const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

func (t *trace) mix(v uint64) {
	t.hash = (t.hash ^ v) * fnvPrime
	t.hash ^= t.hash >> 29
}

func (t *trace) mixText(s string) {
	for i := range len(s) {
		t.hash = (t.hash ^ uint64(s[i])) * fnvPrime
	}
}

// add takes r into the hash, and on to the lines unless it is dull.
func (t *trace) add(r *record, dull bool) {
	t.mix(uint64(r.at))
	t.mix(uint64(r.node+1)<<8 | uint64(r.from+1))
	t.mixText(r.verb)
	for _, v := range r.n {
		t.mix(v)
	}
	t.mixText(r.text)
	if r.status {
		t.mix(r.s.View<<32 ^ r.s.LogView)
		t.mix(r.s.Commit.Sum ^ r.s.Commit.Op)
		t.mix(r.s.Head.Sum ^ r.s.Head.Op<<1)
	}
	if t.out != nil {
		fmt.Fprintln(t.out, r.line())
	}
	if dull {
		return
	}
	t.ring[t.kept%traceLines] = *r
	t.kept++
}

// lines returns the last lines, oldest first.
func (t *trace) lines() []string {
	var out []string
	for i := max(0, t.kept-traceLines); i < t.kept; i++ {
		out = append(out, t.ring[i%traceLines].line())
	}
	return out
}

// Legend explains a line of the trace.
const Legend = `each line: virtual time in s, replica (-- none), what happened, its numbers | where the replica stands afterwards
  numbers of a message: view, commit, op it is about, round; of what a disk has done: op, view, log_view, token
  numbers of an event, marked *: view, first op, last op, peer + 1; of a fault: its number, as --faults takes it
  v view/log_view  c commit..  h head  k highest commit heard of, state; top: highest op that may have been held, where above head`

func (r *record) line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%10.6f ", float64(r.at)/1e9)
	if r.node == noNode {
		b.WriteString("-- ")
	} else {
		fmt.Fprintf(&b, "r%d ", r.node)
	}
	b.WriteString(r.verb)
	if r.from != noNode {
		fmt.Fprintf(&b, " from r%d", r.from)
	}
	last := len(r.n)
	for last > 0 && r.n[last-1] == 0 {
		last--
	}
	for _, v := range r.n[:last] {
		fmt.Fprintf(&b, " %d", v)
	}
	if r.text != "" {
		b.WriteString(" ")
		b.WriteString(r.text)
	}
	if r.status {
		s := &r.s
		fmt.Fprintf(&b, " | v%d/%d c%d..h%d k%d %s", s.View, s.LogView, s.Commit.Op, s.Head.Op, s.KnownCommit, s.State)
		if s.Top != s.Head.Op {
			fmt.Fprintf(&b, " top %d", s.Top)
		}
		if s.Leading {
			b.WriteString(" leads")
		}
	}
	return b.String()
}
