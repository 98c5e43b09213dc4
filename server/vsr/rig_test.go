package vsr

import (
	"encoding/binary"
	"hash/fnv"
	"testing"
)

// rig drives one replica by hand. Its disk is done at once with whatever it is given, unless stalled.
type rig struct {
	t       *testing.T
	r       *Replica
	sent    []Message // since the last take
	effects []Effect
	stalled bool
	waiting []Input // completions of a stalled disk
}

const rootSum = 77

func seal(h *Header) {
	f := fnv.New64a()
	for _, v := range []uint64{uint64(h.Kind), h.Session, h.Request, h.BodySum, h.Parent, h.View, h.Op, h.BaseOffset, uint64(h.MessageCount)} {
		f.Write(binary.LittleEndian.AppendUint64(nil, v))
	}
	h.Sum = f.Sum64()
}

// chain makes headers that follow one another.
type chain []Header

func (c *chain) add(view uint64) Header {
	h := Header{Kind: KindRegister, View: view, Op: uint64(len(*c)) + 1, Parent: rootSum, Cluster: 5}
	if n := len(*c); n > 0 {
		h.Parent, h.BaseOffset = (*c)[n-1].Sum, (*c)[n-1].NextOffset()
	}
	seal(&h)
	*c = append(*c, h)
	return h
}

func (c chain) id(op uint64) ID {
	if op == 0 {
		return ID{0, rootSum}
	}
	return c[op-1].ID()
}

// slots of the ops in (from, to].
func (c chain) slots(from, to uint64) []Slot {
	var out []Slot
	for op := from + 1; op <= to; op++ {
		out = append(out, Slot{Known: true, Header: c[op-1]})
	}
	return out
}

func incarnation(peer int) Incarnation { return Incarnation{1, uint64(peer) + 1} }

// newRig starts replica self of three with what chain has, all of it synced, up to commit committed.
func newRig(t *testing.T, self int, state State, c chain, commit uint64) *rig {
	t.Helper()
	head := c.id(uint64(len(c)))
	b := Boot{State: state, Commit: c.id(commit), Head: head, Top: head, Tail: c, Table: Table{ID: c.id(commit)}}
	if commit > 0 {
		b.Offset = c[commit-1].NextOffset()
		b.Tail = c[commit-1:]
	}
	g := newRigOf(t, self, 3, b)
	g.step(Input{Kind: InAllFormatted})
	g.sent = nil
	return g
}

// newRigOfFive starts replica self of five with all that chain has committed.
func newRigOfFive(t *testing.T, self int, state State, c chain) *rig {
	t.Helper()
	last := len(c) - 1
	head := c[last].ID()
	return newRigOf(t, self, 5, Boot{State: state, Commit: head, Head: head, Top: head, Tail: c[last:], Table: Table{ID: head}, Offset: c[last].NextOffset()})
}

// newRigOf starts replica self of n, with a link to every other one.
func newRigOf(t *testing.T, self, n int, b Boot) *rig {
	t.Helper()
	cfg := Default()
	cfg.Self, cfg.Replicas, cfg.Cluster, cfg.RootSum, cfg.Seal, cfg.Incarnation = self, n, 5, rootSum, seal, incarnation(self)
	r, err := New(cfg, b)
	if err != nil {
		t.Fatal(err)
	}
	g := &rig{t: t, r: r}
	for peer := range n {
		if peer != self {
			g.step(Input{Kind: InHello, Peer: uint8(peer), Incarnation: incarnation(peer)})
			g.step(Input{Kind: InLinkUp, Peer: uint8(peer)})
		}
	}
	return g
}

func (g *rig) step(in Input) {
	todo := []Input{in}
	for len(todo) > 0 {
		in, todo = todo[0], todo[1:]
		for _, e := range g.r.Step(&in) {
			g.effects = append(g.effects, e)
			var done Input
			switch e.Kind {
			case EffSend:
				g.sent = append(g.sent, e.Msg)
				continue
			case EffAppend:
				done = Input{Kind: InDurable, ID: e.Header.ID()}
			case EffSave:
				done = Input{Kind: InStateSaved, State: e.State}
			case EffCut:
				done = Input{Kind: InCutDone, ID: e.ID}
			default:
				continue
			}
			if g.stalled {
				g.waiting = append(g.waiting, done)
			} else {
				todo = append(todo, done)
			}
		}
	}
}

// hear is a message from a peer, of view and log_view alike.
func (g *rig) hear(from int, view uint64, m Message) {
	m.From, m.To, m.Incarnation, m.View, m.LogView = uint8(from), uint8(g.r.cfg.Self), incarnation(from), view, view
	g.step(Input{Kind: InMessage, Msg: m})
}

// enter lets the replica have adopted its own log for a view.
func (g *rig) enter(view uint64) {
	g.r.view, g.r.saved, g.r.asked = view, State{View: view, LogView: view}, State{View: view, LogView: view}
	g.r.adopt = adoption{active: true, base: g.r.log.commit, end: g.r.log.head}
	g.r.enterView()
}

func (g *rig) tick(n int) {
	for range n {
		g.step(Input{Kind: InTick})
	}
}

// take returns the messages of a kind that were sent since the last take, and forgets all.
func (g *rig) take(kind MessageKind) []Message {
	var out []Message
	for _, m := range g.sent {
		if m.Kind == kind {
			out = append(out, m)
		}
	}
	g.sent = nil
	return out
}

func (g *rig) did(kind EffectKind) (n int) {
	for _, e := range g.effects {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// want fails unless the replica stands so.
func (g *rig) want(view, logView, commit, head uint64) {
	g.t.Helper()
	if s := g.r.Status(); s.View != view || s.LogView != logView || s.Commit.Op != commit || s.Head.Op != head {
		g.t.Fatalf("view %d, log_view %d, commit %d, head %d; want %d, %d, %d, %d", s.View, s.LogView, s.Commit.Op, s.Head.Op, view, logView, commit, head)
	}
}
