package peer

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// sendNowBytesMax bounds what a sender writes itself. Beats and acknowledgements are much smaller, the largest votes larger.
const sendNowBytesMax = 4 << 10

// nowSender is what sendNow needs of a link.
type nowSender struct {
	raw   syscall.RawConn       // nil where the connection is no socket
	write func(fd uintptr) bool // made once, so that sending allocates nothing
	round round
	buf   []byte // what the socket is given
	sent  int    // of buf, what it has taken
}

func (s *nowSender) open(conn net.Conn) {
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return // it is closed; its writer will find out
	}
	s.raw = raw
	s.write = func(fd uintptr) bool {
		n, _ := unix.Write(int(fd), s.buf[s.sent:]) // the writer meets the error, if it is one that lasts
		s.sent += max(n, 0)
		return true // whatever the socket has taken
	}
}

// sendNow writes the beats and control messages that wait, if nobody else writes to the link and its socket has room: waking the writer costs more
// than what it would write. It never waits; what is not sent is the writer's, who is woken.
func (l *link) sendNow() {
	if l.now.raw == nil || !l.sending.TryLock() {
		signal(l.outbox.wake)
		return
	}
	all := l.trySend()
	l.sending.Unlock()
	if !all {
		signal(l.outbox.wake)
	}
}

// trySend tells whether nothing is left. The caller has sending.
func (l *link) trySend() bool {
	s := &l.now
	if len(s.buf) > 0 || !l.outbox.takeSmall(&s.round) {
		return false
	}
	s.buf, s.sent = append(append(s.buf[:0], s.round.beats...), s.round.control...), 0
	if len(s.buf) == 0 { // the writer was faster
		return true
	}
	l.spoke.Store(true)
	if l.writePatience() != nil || s.raw.Write(s.write) != nil || s.sent < len(s.buf) {
		return false
	}
	l.countSent()
	return true
}

// countSent notes that all of buf is on its way.
func (l *link) countSent() {
	l.remote.counters.sentBytes.Add(uint64(len(l.now.buf)))
	l.remote.counters.sentMessages.Add(l.now.round.messages)
	l.now.buf = l.now.buf[:0]
}

// writeLeft writes what trySend could not. The caller has sending, and waits.
func (l *link) writeLeft() error {
	s := &l.now
	if len(s.buf) == 0 {
		return nil
	}
	if err := l.writePatience(); err != nil {
		return err
	}
	_, err := l.conn.Write(s.buf[s.sent:])
	if err == nil {
		l.countSent()
	}
	return err
}
