package faultfs_test

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"syscall"
	"testing"

	"rejoin/server/journal"
	"rejoin/server/journal/faultfs"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func create(t testing.TB, f *faultfs.FS, name, content string) journal.File {
	t.Helper()
	h, err := f.Create(name)
	must(t, err)
	must(t, h.Writev([][]byte{[]byte(content)}, 0))
	return h
}

func content(f *faultfs.FS, name string) string {
	b, err := f.ReadFile(name)
	if err != nil {
		return "missing"
	}
	return string(b)
}

func TestOnlyWhatIsSyncedSurvives(t *testing.T) {
	f := faultfs.New()
	must(t, f.Mkdir("d"))
	must(t, f.SyncDir("."))
	both := create(t, f, "d/both", "12345")
	must(t, both.Sync())
	nameless := create(t, f, "d/nameless", "12345")
	must(t, f.SyncDir("d"))
	must(t, nameless.Sync())
	must(t, both.Writev([][]byte{[]byte("xx"), []byte("y")}, 1))
	late := create(t, f, "d/late", "12345")
	must(t, late.Sync())
	create(t, f, "d/empty", "")
	must(t, f.Rename("d/nameless", "d/renamed"))
	if got := content(f, "d/both"); got != "1xxy5" {
		t.Fatal(got)
	}
	f.CrashHard()
	for name, want := range map[string]string{"d/both": "12345", "d/nameless": "12345", "d/renamed": "missing", "d/late": "missing", "d/empty": "missing"} {
		if got := content(f, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if err := both.Sync(); !errors.Is(err, faultfs.ErrStale) {
		t.Fatal(err)
	}
}

func TestDirectoryThatWasNotSyncedTakesItsFilesAlong(t *testing.T) {
	f := faultfs.New()
	must(t, f.Mkdir("d"))
	h := create(t, f, "d/f", "x")
	must(t, h.Sync())
	must(t, f.SyncDir("d"))
	f.CrashHard()
	if got := content(f, "d/f"); got != "missing" {
		t.Fatal(got)
	}
}

func TestKillKeepsThePageCache(t *testing.T) {
	f := faultfs.New()
	create(t, f, "f", "abc")
	f.Kill()
	if got := content(f, "f"); got != "abc" {
		t.Fatal(got)
	}
	f.CrashHard() // still not durable
	if got := content(f, "f"); got != "missing" {
		t.Fatal(got)
	}
}

// A truncation that is not synced may come back; what is written over it again is never mixed up.
func TestTruncate(t *testing.T) {
	f := faultfs.New()
	h := create(t, f, "f", "abcdef")
	must(t, h.Sync())
	must(t, f.SyncDir("."))
	must(t, h.Truncate(2))
	must(t, h.Truncate(4))
	if got := content(f, "f"); got != "ab\x00\x00" {
		t.Fatalf("%q", got)
	}
	c := f.Clone()
	c.CrashHard()
	if got := content(c, "f"); got != "abcdef" {
		t.Fatalf("%q", got)
	}
	must(t, h.Sync())
	f.CrashHard()
	if got := content(f, "f"); got != "ab\x00\x00" {
		t.Fatalf("%q", got)
	}
}

// Over many crashes each mix of pages turns up: none, all, the later one without the earlier, a torn
// one. The same seed gives the same disk.
func TestCrashKeepsAnyPages(t *testing.T) {
	old, new := make([]byte, 8192), make([]byte, 8192)
	for i := range old {
		old[i], new[i] = 'o', 'n'
	}
	seen := map[string]int{}
	for seed := range uint64(300) {
		run := func() []byte {
			f := faultfs.New()
			h := create(t, f, "f", string(old))
			must(t, h.Sync())
			must(t, f.SyncDir("."))
			must(t, h.Writev([][]byte{new}, 0))
			f.Crash(rand.New(rand.NewPCG(seed, 0)))
			return []byte(content(f, "f"))
		}
		got := run()
		if string(got) != string(run()) {
			t.Fatalf("seed %d is not deterministic", seed)
		}
		kind := ""
		for _, page := range [][]byte{got[:4096], got[4096:]} {
			n := 0
			for i, b := range page {
				if b == 'n' {
					n++
				}
				if b != page[i/512*512] {
					t.Fatal("a sector is torn")
				}
			}
			kind += map[bool]string{true: "n", false: "t"}[n == 4096]
			if n == 0 {
				kind = kind[:len(kind)-1] + "o"
			}
		}
		seen[kind]++
	}
	for _, kind := range []string{"oo", "nn", "on", "no", "tn", "nt"} {
		if seen[kind] == 0 {
			t.Errorf("%s never happens: %v", kind, seen)
		}
	}
}

func TestFaults(t *testing.T) {
	f := faultfs.New()
	h := create(t, f, "dir.seg", "....")
	must(t, f.SyncDir("."))
	must(t, h.Sync())

	f.Inject(faultfs.Fault{Verb: faultfs.VerbWrite, Name: ".seg", After: 1, Err: syscall.EIO, ShortBytes: 1})
	must(t, h.Writev([][]byte{[]byte("ab")}, 0))
	if err := h.Writev([][]byte{[]byte("cd")}, 0); !errors.Is(err, syscall.EIO) || content(f, "dir.seg") != "cb.." {
		t.Fatalf("%v %q", err, content(f, "dir.seg"))
	}
	f.Inject(faultfs.Fault{Verb: faultfs.VerbSync, Err: syscall.EIO, DropDirty: true})
	if err := h.Sync(); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	must(t, h.Sync()) // and nothing is written
	c := f.Clone()
	c.CrashHard()
	if got := content(c, "dir.seg"); got != "...." {
		t.Fatal(got)
	}
	f.Inject(faultfs.Fault{Verb: faultfs.VerbWrite, AstrayBytes: 2})
	must(t, h.Writev([][]byte{[]byte("zz")}, 0))
	if got := content(f, "dir.seg"); got != "cbzz" {
		t.Fatal(got)
	}
	f.Inject(faultfs.Fault{Verb: faultfs.VerbRead, Err: syscall.EIO, Offset: 3, Bytes: 1, Sticky: true})
	if _, err := h.ReadAt(make([]byte, 3), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := h.ReadAt(make([]byte, 3), 1); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	f.Heal()
	f.Rot("dir.seg", 1, 0xff)
	if got := content(f, "dir.seg"); got[1] != 'b'^0xff {
		t.Fatalf("%q", got)
	}
}

func TestCapacity(t *testing.T) {
	f := faultfs.New()
	f.CapacityBytes = 10
	h := create(t, f, "a", "123456")
	if err := h.Writev([][]byte{[]byte("78"), []byte("9abc")}, 6); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if got := content(f, "a"); got != "123456789a" {
		t.Fatalf("%q", got)
	}
	must(t, h.Writev([][]byte{[]byte("over")}, 0))
	must(t, h.Truncate(4))
	create(t, f, "b", "123456")
	must(t, f.Remove("b"))
	if free, err := f.FreeBytes(); err != nil || free != 6 {
		t.Fatal(free, err)
	}
}

func TestStopBefore(t *testing.T) {
	f := faultfs.New()
	f.StopBefore(2)
	h := create(t, f, "a", "x") // two operations
	if err := h.Sync(); !errors.Is(err, faultfs.ErrStopped) {
		t.Fatal(err)
	}
	if _, err := f.Open("a"); !errors.Is(err, faultfs.ErrStopped) || !f.Stopped() {
		t.Fatal(err)
	}
	f.Kill()
	_, err := f.Open("a")
	must(t, err)
	if _, err := f.Create("a"); !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
}

func TestOnDisk(t *testing.T) {
	f := faultfs.New()
	h := create(t, f, "f", "12345")
	want := func(off, size int64, want bool) {
		t.Helper()
		if got := f.OnDisk("f", off, size); got != want {
			t.Fatalf("%d bytes at %d are on the disk: %v, want %v", size, off, got, want)
		}
	}
	must(t, h.Sync())
	want(0, 5, false) // the name is not
	must(t, f.SyncDir("."))
	want(0, 5, true)
	want(0, 6, false)
	must(t, h.Writev([][]byte{[]byte("xy")}, 3))
	want(0, 3, true)
	want(0, 4, false)
	f.Inject(faultfs.Fault{Verb: faultfs.VerbSync, Err: syscall.EIO, DropDirty: true})
	if err := h.Sync(); err == nil {
		t.Fatal("no fault")
	}
	must(t, h.Sync()) // the pages look clean
	want(3, 2, false)
	f.CrashHard()
	want(0, 5, true)
}
