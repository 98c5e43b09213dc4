package api

import (
	"io"
	"net"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNoFileForAConnection: where this process may open no more files, who connects waits until it may, and the plane goes on.
func TestNoFileForAConnection(t *testing.T) {
	s := start(t, nil)
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := os.NewFile(uintptr(fd), "client")
	defer c.Close()
	address := unix.SockaddrInet4{Port: s.Address().(*net.TCPAddr).Port, Addr: [4]byte{127, 0, 0, 1}}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	restore := func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
	}
	defer restore()
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Connect(fd, &address); err != nil {
		t.Fatal(err)
	}
	eventually(t, "there is no file for a connection", func() bool { return s.Stats().AcceptsFailed > 0 })
	restore()
	if _, err := io.WriteString(c, "GET /nothing HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 404 ") {
		t.Errorf("got %v, %.80q", err, answer)
	}
}
