package journal_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rejoin/server/journal"
)

// openBelow counts the files below a directory that this process has open.
func openBelow(t *testing.T, root string) (n int) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if name, err := os.Readlink(filepath.Join("/proc/self/fd", fd.Name())); err == nil && strings.HasPrefix(name, root+"/") {
			n++
		}
	}
	return n
}

// TestOpenFilesOfALog: a log that has read all its segments and made all that it makes ahead has as many files open as it says,
// without the two that it opens for a moment, and the one that it is making.
func TestOpenFilesOfALog(t *testing.T) {
	root := t.TempDir()
	o := options(nil)
	o.FS, o.SegmentsReady = journal.OS(root), 3
	log, _, err := journal.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	x := &fixture{TB: t, opts: o, log: log}
	for range 20 { // some twenty segments
		x.append(8, 2000)
		x.sync()
	}
	for more := true; more; {
		if more, err = log.PrepareMore(); err != nil {
			t.Fatal(err)
		}
	}
	x.wantHeld(1, 160)
	if _, err := log.Trim(100); err != nil || log.RecycledSegments() == 0 {
		t.Fatalf("%d files are kept, %v", log.RecycledSegments(), err)
	}
	x.wantHeld(log.Start(), 160)
	want := journal.OpenFilesMax(o.SegmentsReady)
	if n := openBelow(t, root); n > want || n < want-3 {
		t.Errorf("%d files are open, and %d at most are told", n, want)
	}
}
