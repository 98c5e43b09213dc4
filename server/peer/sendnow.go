package peer

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// piecesMax bounds what one system call is given; the kernel takes no more than 1,024.
const piecesMax = 64

// sender is what is being written to a protocol link, by its writer or by who has something to send.
type sender struct {
	raw   syscall.RawConn       // nil where the connection is no socket
	write func(fd uintptr) bool // made once: one for each write would be allocated

	round round
	left  net.Buffers // of the round, what the socket has not taken
}

func (s *sender) open(conn net.Conn) {
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
		n, _ := unix.Writev(int(fd), s.left[:min(len(s.left), piecesMax)]) // it allocates for more than eight pieces, four frames
		s.took(n)
		return true // whatever the socket has taken
	}
}

// took drops the first bytes of what is left.
func (s *sender) took(bytes int) {
	for bytes > 0 {
		n := len(s.left[0])
		if bytes < n {
			s.left[0] = s.left[0][bytes:]
			return
		}
		bytes -= n
		s.left = s.left[1:]
	}
}

// sendNow writes what waits, if nobody else writes to the link and its socket has room: waking the writer costs more than that. It never waits;
// what is not sent is the writer's, who is woken.
func (l *link) sendNow() {
	if l.out.raw == nil || !l.sending.TryLock() {
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
	s := &l.out
	if len(s.left) > 0 {
		return false
	}
	if !l.outbox.take(&s.round) { // the writer was faster
		return true
	}
	s.left = s.round.draw()
	l.spoke.Store(true)
	if l.writePatience() == nil {
		_ = s.raw.Write(s.write) // the writer meets the error, if it is one that lasts
	}
	if len(s.left) > 0 {
		return false
	}
	l.sent()
	return l.outbox.empty()
}

// sent counts a round that is on its way, and lets its frames go. The caller has sending.
func (l *link) sent() {
	r := &l.out.round
	l.remote.counters.sentBytes.Add(uint64(r.bytes))
	l.remote.counters.sentMessages.Add(r.messages)
	r.release()
}

// writeLeft writes what of a round the socket has not taken. The caller has sending, and waits.
func (l *link) writeLeft() error {
	s := &l.out
	if len(s.left) == 0 {
		return nil
	}
	if err := l.writePatience(); err != nil {
		return err
	}
	if _, err := s.left.WriteTo(l.conn); err != nil {
		return err
	}
	l.sent()
	return nil
}

// dropLeft lets go of a round that a dead link did not take.
func (l *link) dropLeft() {
	l.sending.Lock()
	defer l.sending.Unlock()
	l.out.left = nil
	l.out.round.release()
}
