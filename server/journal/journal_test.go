package journal

import (
	"errors"
	"testing"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

const (
	testCluster = 0xc1
	testGroup   = 7
)

// chain makes frames that continue one another.
type chain struct {
	prev   vsr.ID
	offset uint64
	view   uint64
}

func newChain() *chain {
	return &chain{prev: vsr.ID{Sum: wire.RootSum(testCluster, testGroup)}, view: 1}
}

func (c *chain) frame(payload []byte) Frame {
	body := wire.AppendMessage(nil, wire.Message{Payload: payload})
	h := vsr.Header{Kind: vsr.KindBatch, Session: 1, Request: c.prev.Op + 1, MessageCount: 1, BodyBytes: uint32(len(body)), BodySum: wire.Sum(body),
		Parent: c.prev.Sum, Cluster: testCluster, Group: testGroup, View: c.view, Op: c.prev.Op + 1, BaseOffset: c.offset, Timestamp: int64(c.prev.Op)}
	wire.Seal(&h)
	b := make([]byte, wire.HeaderBytes, wire.HeaderBytes+len(body))
	wire.PutHeader(b, &h)
	c.prev, c.offset = h.ID(), h.NextOffset()
	return Frame{h, append(b, body...)}
}

func (c *chain) frames(n, payloadBytes int) []Frame {
	var fs []Frame
	for range n {
		p := make([]byte, payloadBytes)
		for i := range p {
			p[i] = byte(c.prev.Op) + byte(i) | 1
		}
		fs = append(fs, c.frame(p))
	}
	return fs
}

func testOptions(fs FS) Options {
	return Options{FS: fs, Dir: "topics/t/0", Cluster: testCluster, Group: testGroup, SegmentBytes: 16 << 10, Pipeline: 16, SameBoot: true}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustOpen(t testing.TB, o Options) (*Log, *Recovered) {
	t.Helper()
	l, r, err := Open(o)
	must(t, err)
	return l, r
}

func TestOnTheRealFileSystem(t *testing.T) {
	o := testOptions(OS(t.TempDir()))
	l, r := mustOpen(t, o)
	if !r.New || r.Held.Op != 0 || r.Top != 0 || r.Start != 1 {
		t.Fatalf("blank directory: %+v", r)
	}
	c := newChain()
	all := c.frames(100, 700)
	for i := 0; i < len(all); i += 5 {
		must(t, l.Append(all[i:i+5]))
		id, err := l.Sync()
		must(t, err)
		if id != all[i+4].Header.ID() {
			t.Fatalf("durable %v", id)
		}
		must(t, l.SyncMark())
		must(t, l.Prepare())
	}
	must(t, l.SaveState(State{View: 3, LogView: 2, Commit: all[50].Header.ID()}))
	must(t, l.SaveTable(Table{ID: all[40].Header.ID(), NextOffset: 41, Bytes: []byte("table")}))
	check := func(l *Log, n int) {
		t.Helper()
		for op := uint64(1); op <= uint64(n); op++ {
			h, b, err := l.ReadFrame(op, nil)
			must(t, err)
			if h != all[op-1].Header || string(b) != string(all[op-1].Bytes) {
				t.Fatalf("op %d differs", op)
			}
			got, err := l.OpOf(op - 1)
			must(t, err)
			if got != op {
				t.Fatalf("message %d is in op %d", op-1, got)
			}
		}
		if _, err := l.Header(uint64(n) + 1); !errors.Is(err, ErrNotHeld) {
			t.Fatal(err)
		}
	}
	check(l, 100)
	must(t, l.Close())
	l, r = mustOpen(t, o)
	if r.Held != all[99].Header.ID() || r.State.View != 3 || string(r.Table().Bytes) != "table" || len(r.Holes) != 0 || len(r.Tail) != 16 {
		t.Fatalf("reopened: %+v", r)
	}
	check(l, 100)
	must(t, l.Cut(37))
	check(l, 37)
	must(t, l.Close())
	l, r = mustOpen(t, o)
	if r.Held != all[36].Header.ID() || r.Top != 37 || len(r.Findings) != 0 {
		t.Fatalf("after cut: %+v", r)
	}
	check(l, 37)
	must(t, l.Append(all[37:60]))
	_, err := l.Sync()
	must(t, err)
	check(l, 60)
	must(t, l.Close())
}

// A state of version 1 knows of no lives; the next one that is saved is of this version.
func TestStateOfTheFirstVersion(t *testing.T) {
	want := State{View: 4, LogView: 3, Commit: vsr.ID{Op: 3, Sum: 2}, Wiped: true, WipedAbove: 9}
	o := testOptions(OS(t.TempDir()))
	must(t, MkdirAll(o.FS, o.Dir))
	f, err := CreateStateFile(o.FS, o.Dir+"/state", stateBytesFirst, firstState())
	must(t, err)
	must(t, f.Close())
	for range 2 {
		l, r := mustOpen(t, o)
		if r.State != want {
			t.Fatalf("read %+v, want %+v", r.State, want)
		}
		want.Lives = vsr.Lives{1, 2, 3, 4, 5}
		must(t, l.SaveState(want))
		must(t, l.Close())
	}
	for _, b := range [][]byte{nil, {1, 0, 0, 0}, firstState()[:63], append(firstState(), 0), append([]byte{3}, firstState()[1:]...)} {
		if _, err := parseState(b, testCluster, testGroup); !errors.Is(err, ErrUnreadable) {
			t.Errorf("%d bytes: %v", len(b), err)
		}
	}
}

// A mark of version 1 does not tell what was synced: it is all written again, once.
func TestMarkOfTheFirstVersion(t *testing.T) {
	o := testOptions(OS(t.TempDir()))
	l, _ := mustOpen(t, o)
	all := newChain().frames(10, 700)
	must(t, l.Append(all))
	_, err := l.Sync()
	must(t, err)
	want := l.mark
	must(t, l.Close())
	var b [markBytes]byte
	putMark(b[:], testCluster, testGroup, &want)
	f, err := CreateStateFile(o.FS, o.Dir+"/mark", markBytesFirst, firstMark(b))
	must(t, err)
	must(t, f.Close())
	for _, rewritten := range []uint64{10, 0} {
		l, r := mustOpen(t, o)
		if rewritten > 0 {
			want.Synced = 0
		}
		if r.Mark != want || r.MarkLost || r.Held.Op != 10 || r.RewrittenOps != rewritten {
			t.Fatalf("%+v, want mark %+v and %d ops written again", r, want, rewritten)
		}
		want.Synced = 10
		must(t, l.Close())
	}
	above := b
	above[64]++
	for _, bad := range [][]byte{nil, {1, 0, 0, 0}, firstMark(b)[:63], append(firstMark(b), 0), b[:markBytesFirst], above[:]} {
		if _, err := parseMark(bad, testCluster, testGroup); !errors.Is(err, ErrUnreadable) {
			t.Errorf("%d bytes: %v", len(bad), err)
		}
	}
}
