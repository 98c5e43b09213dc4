package journal_test

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"rejoin/server/journal"
)

const lentBytes = 64 << 10 // fit the queues of a socket

// lentFile makes a file with content on a disk, and sockets over which its bytes may be lent.
func lentFile(t *testing.T) (f journal.File, dir string, from, to *net.TCPConn) {
	t.Helper()
	dir, f = createDirect(t)
	if err := f.Writev([][]byte{bytes.Repeat([]byte{'a'}, lentBytes)}, 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return f, dir, s.(*net.TCPConn), c.(*net.TCPConn)
}

// TestFileIsExclusiveOnceReadersHaveTheirBytes: sendfile has returned long before, and what is written over the file until then is what they read
// (seen on Linux 6.18).
func TestFileIsExclusiveOnceReadersHaveTheirBytes(t *testing.T) {
	f, _, from, to := lentFile(t)
	var of unix.Cachestat_t
	if file, ok := journal.OSFile(f); !ok || unix.Cachestat(uint(file.Fd()), &unix.CachestatRange{}, &of, 0) != nil || of.Cache == 0 {
		t.Skip("this kernel or file system does not tell how many pages of a file are in memory")
	}
	if !f.Exclusive(true) {
		t.Fatal("nobody was lent anything, and the file is not its owner's alone")
	}
	own, err := journal.OwnFile(f, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	if n, err := from.ReadFrom(&io.LimitedReader{R: own, N: lentBytes}); n != lentBytes || err != nil {
		t.Fatal(n, err)
	}
	if f.Exclusive(true) {
		t.Fatal("nobody has read yet what lies in the socket's queue, and the file passes for its owner's alone")
	}
	got := make([]byte, lentBytes)
	if _, err := io.ReadFull(to, got); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); !f.Exclusive(true); sendOnEachProcessor(t, from, to) {
		if time.Now().After(deadline) {
			t.Fatal("a file of which everything was read is never its owner's alone")
		}
	}
}

// sendOnEachProcessor lets each let go of what it has sent: Linux leaves what another processor has read until it sends or receives next.
func sendOnEachProcessor(t *testing.T, from, to *net.TCPConn) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	defer unix.SchedSetaffinity(0, &all)
	for cpu := range 8 * int(unsafe.Sizeof(all)) {
		if one.Zero(); !all.IsSet(cpu) {
			continue
		}
		one.Set(cpu)
		if err := unix.SchedSetaffinity(0, &one); err != nil {
			t.Fatal(err)
		}
		b := []byte{1}
		if _, err := from.Write(b); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(to, b); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLinkedFileIsNotExclusive: a second name is somebody's copy.
func TestLinkedFileIsNotExclusive(t *testing.T) {
	dir := t.TempDir()
	f, err := journal.OS(dir).Create("f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !f.Exclusive(false) {
		t.Fatal("a file with one name that was never lent is not exclusive")
	}
	if err := os.Link(filepath.Join(dir, "f"), filepath.Join(dir, "copy")); err != nil {
		t.Skipf("the file system of %s has no hard links: %v", dir, err)
	}
	if f.Exclusive(false) {
		t.Fatal("a file with two names is exclusive")
	}
}
