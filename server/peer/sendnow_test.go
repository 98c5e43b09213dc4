package peer

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// bareLink is a link without its goroutines, and the other end of its connection.
func bareLink(t *testing.T) (*link, *net.TCPConn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	other, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	n := &Network{options: Options{Groups: testGroups, timing: timing{silence: time.Minute, keepAlive: time.Minute}}}
	l := newLink(n, &remote{}, conn, purposeProtocol, facts{}, 0)
	t.Cleanup(func() { l.end(nil); other.Close() })
	return l, other.(*net.TCPConn)
}

func (l *link) say(round uint64) {
	l.outbox.putControl(outMessage(vsr.MsgStartViewChange, round))
	l.sendNow()
}

// hears reads messages and wants their rounds to be from, from+1, …, up to to.
func hears(t *testing.T, in *bufio.Reader, from, to uint64) {
	t.Helper()
	envelope := make([]byte, wire.EnvelopeBytes)
	for want := from; want <= to; want++ {
		if _, err := io.ReadFull(in, envelope); err != nil {
			t.Fatalf("round %d: %v", want, err)
		}
		m, _, err := wire.ParseEnvelope(envelope)
		if err != nil || m.Round != want {
			t.Fatalf("round %d, want %d, %v", m.Round, want, err)
		}
	}
}

func isSignalled(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// TestSenderWritesMessages: no writer runs here, and none is woken.
func TestSenderWritesMessages(t *testing.T) {
	l, other := bareLink(t)
	in := bufio.NewReader(other)
	for round := range uint64(100) {
		l.say(round)
		hears(t, in, round, round)
	}
	if isSignalled(l.outbox.wake) {
		t.Error("the writer was woken for what its sender has written")
	}
	if sent := l.remote.counters.sentMessages.Load(); sent != 100 {
		t.Errorf("%d messages are counted, want 100", sent)
	}
	if n := testing.AllocsPerRun(100, func() { l.say(7) }); n > 0 {
		t.Errorf("%v allocations a message", n)
	}
}

// TestSenderWritesFrames: from the buffers that hold them, without the writer, and nothing is allocated.
func TestSenderWritesFrames(t *testing.T) {
	l, other := bareLink(t)
	in := bufio.NewReader(other)
	pool, frames := testFrames(t, 1, 30_000)
	prepare := outMessage(vsr.MsgPrepare, 1)
	got := make([]byte, len(frames[0].Frame()))
	send := func() {
		l.outbox.putData(prepare, frames[0])
		l.sendNow()
		hears(t, in, 1, 1)
		if _, err := io.ReadFull(in, got); err != nil || !bytes.Equal(got, frames[0].Frame()) {
			t.Fatalf("another frame came, %v", err)
		}
	}
	send()
	if isSignalled(l.outbox.wake) {
		t.Error("the writer was woken for what its sender has written")
	}
	if p := l.out.round.buffers[:2:2]; p[0] != nil || p[1] != nil {
		t.Error("pieces are held when they are sent")
	}
	if n := testing.AllocsPerRun(100, func() { l.outbox.putData(prepare, frames[0]); l.sendNow(); skip(t, in, len(got)) }); n > 0 {
		t.Errorf("%v allocations a frame", n)
	}
	frames[0].Release(wire.OwnerTest)
	poolWhole(t, pool)
}

// skip reads a prepare of so many bytes and looks at nothing.
func skip(t *testing.T, in *bufio.Reader, bytes int) {
	if _, err := in.Discard(wire.EnvelopeBytes + bytes); err != nil {
		t.Fatal(err)
	}
}

// TestSenderLeavesTheRest: all that comes while somebody else writes, and in its order.
func TestSenderLeavesTheRest(t *testing.T) {
	l, other := bareLink(t)
	in := bufio.NewReader(other)
	pool, frames := testFrames(t, 1, 100)
	l.sending.Lock()
	l.outbox.putData(outMessage(vsr.MsgPrepare, 2), frames[0])
	l.sendNow()
	frames[0].Release(wire.OwnerTest)
	l.say(1)
	l.sending.Unlock()
	if !isSignalled(l.outbox.wake) {
		t.Fatal("what came while another wrote is nobody's")
	}
	if err := l.writeWaiting(); err != nil {
		t.Fatal(err)
	}
	hears(t, in, 1, 2) // control before data
	poolWhole(t, pool)
}

// TestSenderWritesMoreThanOneRound: what one write does not carry is the writer's.
func TestSenderWritesMoreThanOneRound(t *testing.T) {
	l, other := bareLink(t)
	pool, frames := testFrames(t, 1, 100_000)
	const times = 2*writeBytesMax/100_000 + 1
	size := len(frames[0].Frame())
	for range times {
		l.outbox.putData(outMessage(vsr.MsgPrepare, 1), frames[0])
	}
	frames[0].Release(wire.OwnerTest)
	l.sendNow()
	if !isSignalled(l.outbox.wake) {
		t.Fatal("what one write does not carry is nobody's")
	}
	done := make(chan error)
	go func() { done <- l.writeWaiting() }()
	in := bufio.NewReader(other)
	for range times {
		hears(t, in, 1, 1)
		if _, err := in.Discard(size); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	poolWhole(t, pool)
}

// TestDeadLinkLetsItsFramesGo: also those that its sender had begun to write.
func TestDeadLinkLetsItsFramesGo(t *testing.T) {
	l, _ := bareLink(t)
	pool, frames := testFrames(t, 1, 100_000)
	for len(l.out.left) == 0 { // until the socket has no more room
		l.outbox.putData(outMessage(vsr.MsgPrepare, 1), frames[0])
		l.sendNow()
	}
	l.end(nil)
	l.wait()
	l.outbox.putData(outMessage(vsr.MsgPrepare, 1), frames[0])
	l.sendNow()
	frames[0].Release(wire.OwnerTest)
	poolWhole(t, pool)
}

// TestSenderNeverWaits: where the socket has no more room the writer goes on where the sender stopped, within a message as well.
func TestSenderNeverWaits(t *testing.T) {
	l, other := bareLink(t)
	if err := l.conn.(*net.TCPConn).SetWriteBuffer(1); err != nil { // as little as the system allows
		t.Fatal(err)
	}
	last := uint64(0)
	for ; len(l.out.left) == 0; last++ {
		if last == 1_000_000 {
			t.Fatal("a socket whose other end reads nothing has taken a million messages")
		}
		l.say(last)
	}
	for range 10 {
		l.say(last)
		last++
	}
	if !isSignalled(l.outbox.wake) {
		t.Fatal("what the socket did not take is nobody's")
	}
	done := make(chan error)
	go func() { done <- l.writeWaiting() }()
	hears(t, bufio.NewReader(other), 0, last-1)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if sent := l.remote.counters.sentMessages.Load(); sent != last {
		t.Errorf("%d messages are counted, want %d", sent, last)
	}
}

// TestSenderOfADeadLink: the writer meets the error, and ends the link.
func TestSenderOfADeadLink(t *testing.T) {
	l, _ := bareLink(t)
	l.conn.Close()
	l.say(1)
	if !isSignalled(l.outbox.wake) {
		t.Fatal("nobody learns that the link is dead")
	}
	if err := l.writeWaiting(); err == nil {
		t.Error("writing to a closed connection is no error")
	}
}
