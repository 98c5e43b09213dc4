package faultproxy

import (
	"bytes"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"
)

// echo is a server that sends back what it is sent.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
				_ = conn.(*net.TCPConn).CloseWrite()
			}()
		}
	}()
	return listener.Addr().String()
}

func proxied(t *testing.T) (*Proxy, net.Conn) {
	t.Helper()
	p, err := New("127.0.0.1:0", echo(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p, dial(t, p)
}

func dial(t *testing.T, p *Proxy) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", p.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn
}

func say(t *testing.T, conn net.Conn, text string) string {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return hear(t, conn, len(text))
}

func hear(t *testing.T, conn net.Conn, n int) string {
	t.Helper()
	b := make([]byte, n)
	if _, err := io.ReadFull(conn, b); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestForwardsAndPassesAnEndOn(t *testing.T) {
	_, conn := proxied(t)
	big := bytes.Repeat([]byte("0123456789"), 100_000)
	go func() {
		_, _ = conn.Write(big)
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	got, err := io.ReadAll(conn)
	if err != nil || !bytes.Equal(got, big) {
		t.Fatalf("%d bytes came back of %d: %v", len(got), len(big), err)
	}
}

func TestDelay(t *testing.T) {
	p, conn := proxied(t)
	const delay = 60 * time.Millisecond
	p.Set(Back, Harm{Delay: delay})
	began := time.Now()
	say(t, conn, "hello")
	if took := time.Since(began); took < delay {
		t.Fatalf("an answer came after %v", took)
	}
}

func TestHoldKeepsOneDirectionBack(t *testing.T) {
	p, conn := proxied(t)
	say(t, conn, "before")
	p.Set(Back, Harm{Hold: true})
	if _, err := io.WriteString(conn, "held"); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 1)); !isTimeout(err) {
		t.Fatalf("%d bytes came through: %v", n, err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	p.Set(Back, Harm{})
	if got := hear(t, conn, 4); got != "held" {
		t.Fatalf("%q", got)
	}
}

// wantReset expects a new connection to be reset, which may be seen as early as by its dialling.
func wantReset(t *testing.T, p *Proxy) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", p.listener.Addr().String(), 10*time.Second)
	if err == nil {
		defer conn.Close()
		if err = conn.SetDeadline(time.Now().Add(10 * time.Second)); err == nil {
			_, err = conn.Read(make([]byte, 1))
		}
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("a new connection ends with %v", err)
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

func TestCorrupt(t *testing.T) {
	p, conn := proxied(t)
	p.Corrupt(Forth)
	got, different := say(t, conn, "hello"), 0
	for i := range got {
		if got[i] != "hello"[i] {
			different++
		}
	}
	if different != 1 || p.Spoiled() != 1 {
		t.Fatalf("%q, %d spoiled", got, p.Spoiled())
	}
	if got := say(t, conn, "hello"); got != "hello" {
		t.Fatalf("%q", got)
	}
}

func TestResetAndRefuse(t *testing.T) {
	p, conn := proxied(t)
	say(t, conn, "hello")
	p.Refuse(true)
	if n := p.Reset(); n != 1 {
		t.Fatalf("%d connections", n)
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("a reset connection reads %v", err)
	}
	wantReset(t, p)
	p.Refuse(false)
	if got := say(t, dial(t, p), "again"); got != "again" {
		t.Fatalf("%q", got)
	}
}

func TestTargetGone(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	target := listener.Addr().String()
	listener.Close()
	p, err := New("127.0.0.1:0", target)
	if err != nil {
		t.Fatal(err)
	}
	wantReset(t, p)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}
