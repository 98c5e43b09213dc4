package socket

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"
)

// pair makes a connection over loopback: ours, and the other end as package net has it.
func pair(t *testing.T) (*Conn, *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dialed, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(dialed.(*net.TCPConn))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); accepted.Close() })
	return c, accepted.(*net.TCPConn)
}

// TestBytesArrive sends pieces of many sizes, far more than a socket buffers and more pieces than one call takes, both ways at once.
func TestBytesArrive(t *testing.T) {
	c, other := pair(t)
	random := rand.New(rand.NewPCG(1, 2))
	var pieces [][]byte
	for i := range 3 * iovMax {
		piece := make([]byte, i%7*i%5000)
		for k := range piece {
			piece[k] = byte(random.Uint32())
		}
		pieces = append(pieces, piece)
	}
	want := slices.Concat(pieces...)

	sent := make(chan error, 2)
	go func() {
		n, err := c.Writev(pieces)
		if err == nil && n != int64(len(want)) {
			err = errors.New("not all was written")
		}
		sent <- errors.Join(err, c.CloseWrite())
	}()
	go func() {
		_, err := other.Write(want)
		sent <- errors.Join(err, other.CloseWrite())
	}()
	there := make(chan []byte, 1)
	go func() {
		got, _ := io.ReadAll(other)
		there <- got
	}()
	here, err := io.ReadAll(c)
	if err != nil || !bytes.Equal(here, want) {
		t.Errorf("read %d bytes of %d, or others: %v", len(here), len(want), err)
	}
	if got := <-there; !bytes.Equal(got, want) {
		t.Errorf("%d bytes of %d arrived, or others", len(got), len(want))
	}
	for range 2 {
		if err := <-sent; err != nil {
			t.Error(err)
		}
	}
	for i := range c.out.pieces[:cap(c.out.pieces)] {
		if c.out.pieces[:cap(c.out.pieces)][i].Base != nil {
			t.Fatal("a slice that was lent for a write is still held")
		}
	}
}

// TestWriteOfNothing makes no call and is no error.
func TestWriteOfNothing(t *testing.T) {
	c, _ := pair(t)
	for _, pieces := range [][][]byte{nil, {}, {{}, nil}} {
		if n, err := c.Writev(pieces); n != 0 || err != nil {
			t.Errorf("%v: %d, %v", pieces, n, err)
		}
	}
	if n, err := c.Read(nil); n != 0 || err != nil {
		t.Errorf("read into nothing: %d, %v", n, err)
	}
}

// TestDeadlines end waits in both directions, and the connection goes on after them.
func TestDeadlines(t *testing.T) {
	c, other := pair(t)
	if err := c.SetDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || !isTimeout(err) {
		t.Errorf("read: %v", err)
	}
	large := make([]byte, 64<<20)
	n, err := c.Writev([][]byte{large, large})
	if !errors.Is(err, os.ErrDeadlineExceeded) || !isTimeout(err) || n >= int64(2*len(large)) {
		t.Errorf("write: %d, %v", n, err)
	}
	c.SetDeadline(time.Time{})
	if _, err := other.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Read(make([]byte, 8)); got != 1 || err != nil {
		t.Errorf("after the deadline: %d, %v", got, err)
	}
	if got, err := io.CopyN(io.Discard, other, n); got != n || err != nil {
		t.Errorf("%d of the %d bytes that were told as written arrived: %v", got, n, err)
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// TestEnds are told as package net tells them.
func TestEnds(t *testing.T) {
	c, other := pair(t)
	other.CloseWrite()
	if _, err := c.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}

	c, other = pair(t)
	other.SetLinger(0)
	other.Close()
	_, err := c.Read(make([]byte, 1))
	if !errors.Is(err, syscall.ECONNRESET) || isTimeout(err) {
		t.Errorf("read after a reset: %v", err)
	}
	if _, err := c.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) || isTimeout(err) {
		t.Errorf("write after a reset: %v", err)
	}

	c, _ = pair(t)
	time.AfterFunc(10*time.Millisecond, func() { c.Close() })
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("read of a connection that is closed meanwhile: %v", err)
	}
	if _, err := c.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("write to a closed connection: %v", err)
	}
}

// TestSilent is true only while nothing at all waits, and takes nothing.
func TestSilent(t *testing.T) {
	c, other := pair(t)
	if !c.Silent() {
		t.Error("nothing was sent")
	}
	other.Write([]byte("x"))
	waitReadable(t, c)
	if c.Silent() {
		t.Error("a byte waits")
	}
	if n, err := c.Read(make([]byte, 8)); n != 1 || err != nil {
		t.Errorf("the byte that was seen: %d, %v", n, err)
	}
	if !c.Silent() {
		t.Error("the byte was read")
	}
	other.Close()
	waitReadable(t, c)
	if c.Silent() {
		t.Error("the other side has closed")
	}
	c.Close()
	if c.Silent() {
		t.Error("it is closed")
	}
}

// waitReadable waits until something can be read, and reads nothing.
func waitReadable(t *testing.T, c *Conn) {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	defer c.SetReadDeadline(time.Time{})
	one := make([]byte, 1)
	if err := c.raw.Read(func(fd uintptr) bool {
		_, errno := receive(fd, one, syscall.MSG_PEEK)
		return errno != syscall.EAGAIN
	}); err != nil {
		t.Fatal(err)
	}
}

// TestNothingIsAllocated for a round trip.
func TestNothingIsAllocated(t *testing.T) {
	c, other := pair(t)
	go io.Copy(other, other)
	request, answer := make([]byte, 20_000), make([]byte, 20_000)
	pieces := [][]byte{request[:100], request[100:]}
	if n := testing.AllocsPerRun(100, func() {
		if !c.Silent() {
			t.Fatal("an answer to nothing")
		}
		c.Writev(pieces)
		if _, err := io.ReadFull(c, answer); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
