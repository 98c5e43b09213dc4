package peer

import (
	"bufio"
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

// TestSenderWritesWhatIsSmall: no writer runs here, and none is woken.
func TestSenderWritesWhatIsSmall(t *testing.T) {
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

// TestSenderLeavesTheRest: frames, what comes behind them, and all that comes while somebody else writes.
func TestSenderLeavesTheRest(t *testing.T) {
	l, other := bareLink(t)
	in := bufio.NewReader(other)
	l.sending.Lock()
	l.say(1)
	l.sending.Unlock()
	if !isSignalled(l.outbox.wake) {
		t.Fatal("what came while another wrote is nobody's")
	}
	pool, frames := testFrames(t, 1, 100)
	l.outbox.putData(outMessage(vsr.MsgPrepare, 2), frames[0])
	frames[0].Release(wire.OwnerTest)
	isSignalled(l.outbox.wake)
	l.say(2)
	if !isSignalled(l.outbox.wake) {
		t.Fatal("what came while a frame waits is nobody's")
	}
	var r round
	if err := l.writeWaiting(&r); err != nil {
		t.Fatal(err)
	}
	hears(t, in, 1, 2) // control before data
	poolWhole(t, pool)
}

// TestSenderNeverWaits: where the socket has no more room the writer goes on where the sender stopped, within a message as well.
func TestSenderNeverWaits(t *testing.T) {
	l, other := bareLink(t)
	if err := l.conn.(*net.TCPConn).SetWriteBuffer(1); err != nil { // as little as the system allows
		t.Fatal(err)
	}
	last := uint64(0)
	for ; len(l.now.buf) == 0; last++ {
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
	var r round
	go func() { done <- l.writeWaiting(&r) }()
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
	var r round
	if err := l.writeWaiting(&r); err == nil {
		t.Error("writing to a closed connection is no error")
	}
}
