package socket

import (
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Conn is a TCP connection. One goroutine at a time may read and one may write; what else package net allows at
// the same time, deadlines and Close, is allowed here. Methods that are not written here are those of package net.
type Conn struct {
	*net.TCPConn
	raw syscall.RawConn
	in  input
	out output
}

// input is a read under way.
type input struct {
	call   func(fd uintptr) bool // made once, like look, so that a read allocates nothing
	into   []byte
	n      int
	errno  syscall.Errno
	look   func(fd uintptr)
	peeked [1]byte
}

// output is a write under way.
type output struct {
	call    func(fd uintptr) bool
	pieces  []unix.Iovec // all of them; its memory is used again
	left    []unix.Iovec // not yet written
	written int64
	errno   syscall.Errno
	one     [1][]byte
}

// New wraps a connection, which is then read and written only through the Conn.
func New(tcp *net.TCPConn) (*Conn, error) {
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil, err
	}
	c := &Conn{TCPConn: tcp, raw: raw}
	c.in.call = func(fd uintptr) bool {
		c.in.n, c.in.errno = receive(fd, c.in.into, 0)
		return c.in.errno != syscall.EAGAIN
	}
	c.in.look = func(fd uintptr) { _, c.in.errno = receive(fd, c.in.peeked[:], unix.MSG_PEEK) }
	c.out.call = func(fd uintptr) bool {
		for len(c.out.left) > 0 {
			n, errno := write(fd, c.out.left)
			if errno != 0 {
				c.out.errno = errno
				return errno != syscall.EAGAIN
			}
			c.out.errno = 0
			c.out.wrote(n)
		}
		return true
	}
	return c, nil
}

// Read is net.Conn's.
func (c *Conn) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	c.in.into = b
	err := c.raw.Read(c.in.call)
	c.in.into = nil // lent for the call only
	if err != nil {
		return 0, err
	}
	if c.in.errno != 0 {
		return 0, c.failed("read", c.in.errno)
	}
	if c.in.n == 0 {
		return 0, io.EOF
	}
	return c.in.n, nil
}

// Silent tells whether nothing waits to be read: no byte, no end and no error. It does not wait, and no deadline ends it. It counts as
// a read.
func (c *Conn) Silent() bool {
	return c.raw.Control(c.in.look) == nil && c.in.errno == syscall.EAGAIN
}

// Write is net.Conn's.
func (c *Conn) Write(b []byte) (int, error) {
	c.out.one[0] = b
	n, err := c.Writev(c.out.one[:])
	c.out.one[0] = nil
	return int(n), err
}

// Writev writes pieces one after the other, with as few calls as it takes, and tells how many bytes have gone. The slices are
// lent for the call.
func (c *Conn) Writev(pieces [][]byte) (int64, error) {
	o := &c.out
	o.pieces, o.written, o.errno = o.pieces[:0], 0, 0
	for _, p := range pieces {
		if len(p) > 0 {
			v := unix.Iovec{Base: &p[0]}
			v.SetLen(len(p))
			o.pieces = append(o.pieces, v)
		}
	}
	o.left = o.pieces
	err := c.raw.Write(o.call)
	clear(o.pieces)
	o.left = nil
	if err == nil && o.errno != 0 {
		err = c.failed("writev", o.errno)
	}
	return o.written, err
}

// wrote takes n bytes off the front of what is left.
func (o *output) wrote(n int) {
	o.written += int64(n)
	for n > 0 {
		v := &o.left[0]
		if uint64(n) < v.Len {
			advance(v, n)
			return
		}
		n -= int(v.Len)
		o.left = o.left[1:]
	}
}

func (c *Conn) failed(call string, errno syscall.Errno) error {
	return &net.OpError{Op: call, Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: os.NewSyscallError(call, errno)}
}
