package peer

import (
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

func TestControlMessagesArriveInBothDirections(t *testing.T) {
	a, b := pair(t)
	for i, x := range [][2]*node{{a, b}, {b, a}} {
		m := x[0].message(vsr.MsgDoViewChange, x[1].options.Self)
		m.Round, m.Slots = uint64(i), make([]vsr.Slot, 256)
		x[0].Send(x[1].options.Self, m)
		x[1].heard.await(t, 1, "do_view_change from")
	}
	want := "do_view_change from 0 boot 1 round 0 slots 256"
	if lines := b.heard.all(); !slices.Contains(lines, want) {
		t.Errorf("heard %q, want %q", lines, want)
	}
}

func TestPrepareArrivesWithItsFrame(t *testing.T) {
	a, b := pair(t)
	for op := range uint64(5) {
		f := a.frame(op+1, 20_000)
		a.SendFrame(1, a.message(vsr.MsgPrepare, 1), f)
		f.Release(wire.OwnerTest)
	}
	b.heard.await(t, 5, "prepare from 0 boot 1")
	b.heard.await(t, 1, "prepare from 0 boot 1 round 0 slots 0 op 5 of 20140 bytes")
}

func TestFetchedTravelsOnTheBulkLink(t *testing.T) {
	a, b := pair(t)
	f := b.frame(9, 100)
	b.SendFrame(0, b.message(vsr.MsgFetched, 0), f)
	f.Release(wire.OwnerTest)
	a.heard.await(t, 1, "fetched from 1 boot 1 round 0 slots 0 op 9")
	eventually(t, "the bytes are counted on the bulk link", func() bool { return b.Stats().Peers[0].BulkSentBytes >= 240 })
}

func (n *node) chunk(to int, from, last uint64) *vsr.Message {
	m := n.message(vsr.MsgChunk, to)
	m.Round, m.Window, m.FromOp, m.ToOp = 7, 2, from, last
	return m
}

type outcome struct {
	bytes int64
	err   error
}

func TestChunkFromBuffers(t *testing.T) {
	a, b := pair(t)
	done := make(chan outcome, 1)
	err := a.SendLater(1, func() (Payload, error) {
		p := Payload{Message: *a.chunk(1, 5, 7)}
		for op := uint64(5); op <= 7; op++ {
			f := a.frame(op, 1000)
			f.Pass(wire.OwnerTest, wire.OwnerPeerSend)
			p.Frames = append(p.Frames, f)
		}
		return p, nil
	}, func(bytes int64, err error) { done <- outcome{bytes, err} })
	if err != nil {
		t.Fatal(err)
	}
	if got := <-done; got != (outcome{3 * 1140, nil}) {
		t.Errorf("done with %+v", got)
	}
	b.heard.await(t, 1, "chunk end round 7 window 2 ok true")
	lines := b.heard.all()
	want := []string{"frame round 7 window 2 op 5", "frame round 7 window 2 op 6", "frame round 7 window 2 op 7", "chunk end round 7 window 2 ok true"}
	if !slices.Equal(lines[len(lines)-4:], want) {
		t.Errorf("heard %q, want %q", lines, want)
	}
}

// sendChunk sends a chunk whose frames lie in a file.
func (n *node) sendChunk(to int, m *vsr.Message, span Span, done func(bytes int64, err error)) error {
	return n.SendLater(to, func() (Payload, error) { return Payload{Message: *m, Span: &span}, nil }, done)
}

// segment writes frames of the ops to a file, behind some other bytes.
func (n *node) segment(ops ...uint64) Span { return n.segmentOf(3000, ops...) }

func (n *node) segmentOf(payloadBytes int, ops ...uint64) Span {
	n.t.Helper()
	file, err := os.CreateTemp(n.t.TempDir(), "segment")
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { file.Close() })
	before := strings.Repeat("x", 4096)
	if _, err := file.WriteString(before); err != nil {
		n.t.Fatal(err)
	}
	span := Span{File: file, Offset: int64(len(before))}
	for _, op := range ops {
		f := n.frame(op, payloadBytes)
		written, err := file.Write(f.Frame())
		if err != nil {
			n.t.Fatal(err)
		}
		span.Bytes += int64(written)
		f.Release(wire.OwnerTest)
	}
	return span
}

func TestChunkFromAFile(t *testing.T) {
	a, b := pair(t)
	span := a.segment(5, 6, 7, 8)
	released := make(chan struct{})
	span.Release = func() { close(released) }
	done := make(chan outcome, 1)
	if err := a.sendChunk(1, a.chunk(1, 5, 8), span, func(bytes int64, err error) { done <- outcome{bytes, err} }); err != nil {
		t.Fatal(err)
	}
	if got := <-done; got != (outcome{span.Bytes, nil}) {
		t.Errorf("done with %+v, want %d bytes", got, span.Bytes)
	}
	<-released
	b.heard.await(t, 4, "frame round 7")
	b.heard.await(t, 1, "chunk end round 7 window 2 ok true")
}

// Two peers are served out of one segment at once, over one handle.
func TestSpansOfOneFileMayShareTheirHandle(t *testing.T) {
	c := newCluster(t, 3)
	a, b, d := c.start(0), c.start(1), c.start(2)
	bothUp(t, a, b)
	bothUp(t, a, d)
	ops := make([]uint64, 40)
	for i := range ops {
		ops[i] = uint64(i + 1)
	}
	span := a.segmentOf(100_000, ops...) // more than a socket takes at once: the two take turns
	const chunks = 3
	for range chunks {
		for to := 1; to <= 2; to++ {
			if err := a.sendChunk(to, a.chunk(to, 1, 40), span, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, n := range []*node{b, d} {
		n.heard.await(t, chunks, "chunk end round 7 window 2 ok true")
	}
}

// A receiver that is busy with one frame holds the sender back through TCP, and nothing is lost by it.
func TestABlockedReceiverHoldsTheSenderBack(t *testing.T) {
	c := newCluster(t, 2)
	entered, goOn := make(chan struct{}), make(chan struct{})
	var first atomic.Bool // not a sync.Once, which would hold up the beat too
	b := c.start(1, func(o *Options) {
		o.Handler.(*recorder).onFrame = func() {
			if first.CompareAndSwap(false, true) {
				close(entered)
				<-goOn
			}
		}
	})
	release := sync.OnceFunc(func() { close(goOn) })
	t.Cleanup(release)
	a := c.start(0)
	bothUp(t, a, b)
	const frames = 32 // of 1 MB: more than the sockets' buffers hold
	ops := make([]uint64, frames)
	for i := range ops {
		ops[i] = uint64(i + 1)
	}
	span := a.segmentOf(1_000_000, ops...)
	done := make(chan outcome, 1)
	if err := a.sendChunk(1, a.chunk(1, 1, frames), span, func(bytes int64, err error) { done <- outcome{bytes, err} }); err != nil {
		t.Fatal(err)
	}
	<-entered
	a.Send(1, a.message(vsr.MsgBeat, 1))
	b.heard.await(t, 1, "beat from 0") // the protocol link does not wait for the bulk link
	select {
	case got := <-done:
		t.Errorf("all of the chunk was sent while the receiver was busy with its first frame: %+v", got)
	default:
	}
	release()
	if got := <-done; got != (outcome{span.Bytes, nil}) {
		t.Errorf("done with %+v", got)
	}
	b.heard.await(t, 1, "chunk end round 7 window 2 ok true")
}

func TestPacedChunkArrivesWhole(t *testing.T) {
	c := newCluster(t, 2)
	a, b := c.start(0, func(o *Options) { o.BulkBytesPerSecondMax = 256 << 10 }), c.start(1)
	bothUp(t, a, b)
	span := a.segment(5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)
	if err := a.sendChunk(1, a.chunk(1, 5, 16), span, func(int64, error) {}); err != nil {
		t.Fatal(err)
	}
	f := a.frame(17, 60_000)
	a.SendFrame(1, a.message(vsr.MsgFetched, 1), f)
	f.Release(wire.OwnerTest)
	b.heard.await(t, 1, "chunk end round 7 window 2 ok true")
	b.heard.await(t, 1, "fetched from 0")
}

func TestAJobWithNothingToSendOrAnErrorLeavesTheLinkAlone(t *testing.T) {
	a, b := pair(t)
	broken := errors.New("broken disk")
	done := make(chan outcome, 2)
	note := func(bytes int64, err error) { done <- outcome{bytes, err} }
	for _, want := range []error{nil, broken} {
		if err := a.SendLater(1, func() (Payload, error) { return Payload{}, want }, note); err != nil {
			t.Fatal(err)
		}
		if got := <-done; got != (outcome{0, want}) {
			t.Errorf("done with %+v, want %v", got, want)
		}
	}
	if err := a.sendChunk(1, a.chunk(1, 5, 5), a.segment(5), note); err != nil {
		t.Fatal(err)
	}
	b.heard.await(t, 1, "chunk end round 7 window 2 ok true")
	if links := a.Stats().Peers[1].Links; links != 2 {
		t.Errorf("%d links, want the first 2", links)
	}
}

// A file that is shorter than its span breaks what the envelope has promised: the link must end, and
// the receiver must not take the rest for frames.
func TestAShortFileEndsTheLink(t *testing.T) {
	a, b := pair(t)
	span := a.segment(5, 6)
	if err := span.File.Truncate(span.Offset + span.Bytes - 1); err != nil {
		t.Fatal(err)
	}
	done := make(chan outcome, 1)
	if err := a.sendChunk(1, a.chunk(1, 5, 6), span, func(bytes int64, err error) { done <- outcome{bytes, err} }); err != nil {
		t.Fatal(err)
	}
	if got := <-done; !errors.Is(got.err, errShortFile) {
		t.Errorf("done with %+v", got)
	}
	b.heard.await(t, 1, "frame round 7 window 2 op 5")
	b.heard.await(t, 1, "chunk end round 7 window 2 ok false")
	bothUp(t, a, b)
}

func TestWithoutALinkEverythingIsDroppedAndCounted(t *testing.T) {
	c := newCluster(t, 2)
	a := c.start(0)
	a.Send(1, a.message(vsr.MsgBeat, 1))
	a.Send(1, a.message(vsr.MsgAskStartView, 1))
	f := a.frame(1, 10)
	a.SendFrame(1, a.message(vsr.MsgPrepare, 1), f)
	a.SendFrame(1, a.message(vsr.MsgFetched, 1), f)
	f.Release(wire.OwnerTest)
	if err := a.sendChunk(1, a.chunk(1, 1, 1), Span{}, nil); !errors.Is(err, ErrLinkDown) {
		t.Errorf("send chunk: %v", err)
	}
	if got := a.Stats().Peers[1].DroppedLinkDown; got != 5 {
		t.Errorf("%d counted, want 5", got)
	}
}

func TestAClusterOfOneOnlyWaits(t *testing.T) {
	c := newCluster(t, 1)
	c.held[0].Close()
	c.held[0] = nil
	a := c.start(0, func(o *Options) { o.Secret, o.Listen = nil, "0.0.0.0:1" })
	if a.Addr() != nil {
		t.Errorf("listens at %v", a.Addr())
	}
}
