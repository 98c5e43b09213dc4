package peer

import (
	"bytes"
	"net"
	"testing"
	"time"
	"unsafe"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

func outMessage(kind vsr.MessageKind, round uint64) *vsr.Message {
	return &vsr.Message{Kind: kind, Group: 1, From: 0, To: 1, Round: round}
}

func testFrames(t *testing.T, n, payloadBytes int) (*wire.Pool, []*wire.Buffer) {
	t.Helper()
	pool, err := wire.NewCheckedPool(n)
	if err != nil {
		t.Fatal(err)
	}
	frames := make([]*wire.Buffer, n)
	for i := range frames {
		frames[i] = pool.Get(wire.OwnerTest)
		sealedFrame(frames[i], 1, uint64(i+1), payloadBytes)
	}
	return pool, frames
}

func poolWhole(t *testing.T, pool *wire.Pool) {
	t.Helper()
	for _, leak := range pool.Leaks() {
		t.Error(leak)
	}
}

// kinds parses what a round would write.
func kinds(t *testing.T, r *round) (kinds []vsr.MessageKind, rounds []uint64) {
	t.Helper()
	b := bytes.Join(r.draw(), nil)
	for len(b) > 0 {
		slots, payload, err := wire.EnvelopeRest(b)
		if err != nil {
			t.Fatal(err)
		}
		m, _, err := wire.ParseEnvelope(b[:wire.EnvelopeBytes+slots])
		if err != nil {
			t.Fatal(err)
		}
		kinds, rounds = append(kinds, m.Kind), append(rounds, m.Round)
		b = b[wire.EnvelopeBytes+slots+payload:]
	}
	return kinds, rounds
}

func TestABeatPassesAFullDataQueue(t *testing.T) {
	var c counters
	o := newOutbox(testGroups, &c)
	pool, frames := testFrames(t, 1, 1000)
	for range dataFramesMax + 3 {
		o.putData(outMessage(vsr.MsgPrepare, 0), frames[0])
	}
	if got := c.droppedData.Load(); got != 3 {
		t.Errorf("%d dropped, want 3", got)
	}
	var r round
	if !o.take(&r) {
		t.Fatal("nothing to write")
	}
	r.draw()
	r.release()
	left := o.dataCount
	if left == 0 {
		t.Fatal("one round took the whole queue: a beat would wait for all of it")
	}
	o.putControl(outMessage(vsr.MsgPrepareOK, 7))
	o.putBeat(outMessage(vsr.MsgBeat, 8))
	o.take(&r)
	if r.bytes > writeBytesMax+len(r.items)*wire.EnvelopeBytes+2*wire.EnvelopeBytes {
		t.Errorf("a round of %d bytes", r.bytes)
	}
	got, _ := kinds(t, &r)
	if got[0] != vsr.MsgBeat || got[1] != vsr.MsgPrepareOK || got[2] != vsr.MsgPrepare {
		t.Errorf("lanes in the order %v", got[:3])
	}
	r.release()
	o.close()
	frames[0].Release(wire.OwnerTest)
	poolWhole(t, pool)
}

func TestOnlyTheLatestBeatOfAGroupIsSent(t *testing.T) {
	var c counters
	o := newOutbox(testGroups, &c)
	for i := range uint64(5) {
		for group := range uint32(testGroups) {
			m := outMessage(vsr.MsgBeat, i)
			m.Group = group
			o.putBeat(m)
			m = outMessage(vsr.MsgBeatAck, 10+i)
			m.Group = group
			o.putBeat(m)
		}
	}
	var r round
	o.take(&r)
	got, rounds := kinds(t, &r)
	if len(got) != 2*testGroups {
		t.Fatalf("%d beats in one write, want one of each kind and group", len(got))
	}
	for i, round := range rounds {
		if want := map[vsr.MessageKind]uint64{vsr.MsgBeat: 4, vsr.MsgBeatAck: 14}[got[i]]; round != want {
			t.Errorf("%s of round %d, want %d", got[i], round, want)
		}
	}
	if n := c.replacedBeats.Load(); n != 4*2*testGroups {
		t.Errorf("%d replaced", n)
	}
	r.release()
	if o.take(&r) {
		t.Error("a beat was sent twice")
	}
	o.putBeat(outMessage(vsr.MsgBeat, 9))
	if o.take(&r); r.messages != 1 {
		t.Error("a slot cannot be used again")
	}
}

func TestControlIsBoundedInBytes(t *testing.T) {
	var c counters
	o := newOutbox(testGroups, &c)
	for range controlBytesMax/wire.EnvelopeBytes + 10 {
		o.putControl(outMessage(vsr.MsgPrepareOK, 0))
	}
	if len(o.control) > controlBytesMax || c.droppedControl.Load() != 10 {
		t.Errorf("%d bytes wait, %d were dropped, want 10", len(o.control), c.droppedControl.Load())
	}
}

func TestAClosedOutboxHoldsNothing(t *testing.T) {
	var c counters
	o := newOutbox(testGroups, &c)
	pool, frames := testFrames(t, 2, 10)
	o.putData(outMessage(vsr.MsgPrepare, 0), frames[0])
	o.putControl(outMessage(vsr.MsgPrepareOK, 0))
	o.putBeat(outMessage(vsr.MsgBeat, 0))
	o.close()
	o.putData(outMessage(vsr.MsgPrepare, 0), frames[1])
	o.putControl(outMessage(vsr.MsgPrepareOK, 0))
	o.putBeat(outMessage(vsr.MsgBeat, 0))
	if n := c.droppedLinkDown.Load(); n != 6 {
		t.Errorf("%d counted, want 6", n)
	}
	for _, f := range frames {
		f.Release(wire.OwnerTest)
	}
	poolWhole(t, pool)
}

// spyConn remembers the base address of every slice it is given.
type spyConn struct {
	net.Conn
	bases []*byte
	bytes int
}

func (s *spyConn) Write(b []byte) (int, error) {
	s.bases = append(s.bases, unsafe.SliceData(b))
	s.bytes += len(b)
	return len(b), nil
}
func (s *spyConn) SetWriteDeadline(time.Time) error { return nil }
func (s *spyConn) Close() error                     { return nil }

func spyLink(p purpose) (*link, *spyConn) {
	o := Options{Groups: testGroups, timing: defaultTiming()}
	n := &Network{options: o}
	spy := &spyConn{}
	return newLink(n, newRemote(n, 1), spy, p, facts{}, 0), spy
}

func TestFramesAreWrittenFromTheBufferThatHeldTheRequest(t *testing.T) {
	l, spy := spyLink(purposeProtocol)
	pool, frames := testFrames(t, 3, 30_000)
	want := 0
	for _, f := range frames {
		l.outbox.putData(outMessage(vsr.MsgPrepare, 0), f)
		want += wire.EnvelopeBytes + len(f.Frame())
	}
	if err := l.writeWaiting(); err != nil {
		t.Fatal(err)
	}
	for i, f := range frames {
		if spy.bases[2*i+1] != unsafe.SliceData(f.Data()) {
			t.Errorf("frame %d was copied on its way to the socket", i)
		}
		f.Release(wire.OwnerTest)
	}
	if spy.bytes != want {
		t.Errorf("%d bytes, want %d", spy.bytes, want)
	}
	poolWhole(t, pool)
}

func TestBulkFramesAreWrittenFromTheirBuffers(t *testing.T) {
	l, spy := spyLink(purposeBulk)
	pool, frames := testFrames(t, 2, 1000)
	w := bulkWriter{l: l}
	m := outMessage(vsr.MsgChunk, 0)
	m.FromOp, m.ToOp = 1, 2
	for _, f := range frames {
		f.Retain(wire.OwnerPeerSend)
	}
	payload := Payload{Message: *m, Frames: frames}
	if err := w.carryOut(job{load: func() (Payload, error) { return payload, nil }, done: func(int64, error) {}}); err != nil {
		t.Fatal(err)
	}
	for i, f := range frames {
		if spy.bases[i+1] != unsafe.SliceData(f.Data()) {
			t.Errorf("frame %d was copied on its way to the socket", i)
		}
		f.Release(wire.OwnerTest)
	}
	poolWhole(t, pool)
}

func TestQueueingAFrameAllocatesNothing(t *testing.T) {
	l, spy := spyLink(purposeProtocol)
	_, frames := testFrames(t, 1, 30_000)
	prepare, ok, beat := outMessage(vsr.MsgPrepare, 0), outMessage(vsr.MsgPrepareOK, 0), outMessage(vsr.MsgBeat, 0)
	send := func() {
		spy.bases = spy.bases[:0]
		l.outbox.putData(prepare, frames[0])
		l.outbox.putControl(ok)
		l.outbox.putBeat(beat)
		if err := l.writeWaiting(); err != nil {
			t.Fatal(err)
		}
	}
	send()
	send() // both control buffers have grown
	if allocs := testing.AllocsPerRun(100, send); allocs > 1 {
		t.Errorf("%v allocations a frame, want at most the one for the list of pieces", allocs)
	}
	frames[0].Release(wire.OwnerTest)
}

func TestPacerSpacesPieces(t *testing.T) {
	p := pacer{perSecond: 1 << 20}
	if got := p.piece(writeBytesMax); got != 1<<17 {
		t.Errorf("pieces of %d bytes", got)
	}
	ended := make(chan struct{})
	if err := p.wait(1<<19, ended); err != nil { // the first one goes at once and costs half a second
		t.Fatal(err)
	}
	if ahead := time.Until(p.next); ahead <= 0 || ahead > 500*time.Millisecond {
		t.Errorf("the next piece may go in %s", ahead)
	}
	close(ended)
	if err := p.wait(1, ended); err != ErrLinkDown {
		t.Errorf("a wait on a dead link: %v", err)
	}
	unlimited := pacer{}
	if unlimited.piece(5) != 5 || unlimited.wait(1<<30, nil) != nil || !unlimited.next.IsZero() {
		t.Error("no limit limits")
	}
}
