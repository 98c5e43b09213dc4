package journal_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net"
	"testing"

	"rejoin/server/journal"
)

func TestOSWritevBeyondTheSliceLimit(t *testing.T) {
	fsys := journal.OS(t.TempDir())
	f, err := fsys.Create("f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var bufs [][]byte
	var want []byte
	for i := range 3000 {
		b := payload(i%7, uint64(i)) // some are empty
		bufs, want = append(bufs, b), append(want, b...)
	}
	if err := f.Writev(bufs, 10); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(want))
	if _, err := f.ReadAt(got, 10); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("reads back differently, %v", err)
	}
	if size, err := f.Size(); err != nil || size != int64(10+len(want)) {
		t.Fatalf("size %d, %v", size, err)
	}
}

func TestOSErrors(t *testing.T) {
	fsys := journal.OS(t.TempDir())
	if _, err := fsys.Open("none"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if err := journal.MkdirAll(fsys, "a/b/c"); err != nil {
		t.Fatal(err)
	}
	if err := journal.MkdirAll(fsys, "a/b/c"); err != nil {
		t.Fatal(err)
	}
	f, err := fsys.Create("a/b/c/f")
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if _, err := fsys.Create("a/b/c/f"); !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	if names, err := fsys.List("a/b/c"); err != nil || len(names) != 1 || names[0] != "f" {
		t.Fatalf("%v, %v", names, err)
	}
	if free, err := fsys.FreeBytes(); err != nil || free == 0 {
		t.Fatalf("%d, %v", free, err)
	}
}

// A span goes to a socket by sendfile, also after its segment has lost its name.
func TestSpanOfARealFileGoesToASocket(t *testing.T) {
	x := &fixture{TB: t}
	x.opts = options(journal.OS(t.TempDir()))
	x.reopen()
	x.append(12, 2000)
	x.sync()
	span, err := x.log.Span(9, 12, 1<<20)
	x.must(err)
	x.must(x.log.Cut(5))
	if _, ok := journal.OSFile(span.File()); !ok {
		t.Fatal("no *os.File under a real segment")
	}
	own, err := journal.OwnFile(span.File(), span.Offset)
	x.must(err)
	defer own.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	x.must(err)
	defer listener.Close()
	sent := make(chan error, 1)
	go func() {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err == nil {
			_, err = io.CopyN(conn, own, span.Bytes)
			conn.Close()
		}
		sent <- err
	}()
	conn, err := listener.Accept()
	x.must(err)
	got, err := io.ReadAll(conn)
	x.must(err)
	x.must(<-sent)
	conn.Close()
	span.Release()
	var want []byte
	for _, f := range x.frames[8:12] {
		want = append(want, f.Bytes...)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("%d bytes arrived, want %d", len(got), len(want))
	}
}
