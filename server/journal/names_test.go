package journal_test

import (
	"errors"
	"math/rand/v2"
	"path"
	"syscall"
	"testing"

	"rejoin/server/journal"
	"rejoin/server/journal/faultfs"
)

// TestOpensCutShortTwice: a process is killed while it makes a log, when the last names it made are not durable;
// the next one finds them and goes on, until the power is cut. What it made beside them must not outlive them.
func TestOpensCutShortTwice(t *testing.T) {
	open := func(fs *faultfs.FS) {
		if _, _, err := journal.Open(options(fs)); err != nil && !errors.Is(err, faultfs.ErrStopped) {
			t.Fatalf("open: %v", err)
		}
	}
	beforeNamesAreDurable := func(fs *faultfs.FS, then func(*faultfs.FS)) {
		var at []int
		whole := fs.Clone()
		whole.OnOp = func(op int, verb faultfs.Verb, _ string) {
			if verb == faultfs.VerbSyncDir {
				at = append(at, op)
			}
		}
		open(whole)
		if len(at) == 0 {
			t.Fatal("no name is made durable")
		}
		for _, k := range at {
			stopped := fs.Clone()
			stopped.StopBefore(k)
			open(stopped)
			then(stopped)
		}
	}
	beforeNamesAreDurable(faultfs.New(), func(fs *faultfs.FS) {
		fs.Kill()
		beforeNamesAreDurable(fs, func(fs *faultfs.FS) {
			for seed := range uint64(64) {
				cut := fs.Clone()
				cut.Crash(rand.New(rand.NewPCG(seed, 1)))
				if _, _, err := journal.Open(options(cut)); err != nil {
					t.Fatalf("crash %d: %v", seed, err)
				}
			}
		})
	})
}

// TestNewDirectoryOutlivesAPowerCut: what is acknowledged lies below names that are durable.
func TestNewDirectoryOutlivesAPowerCut(t *testing.T) {
	const nodeState = "node.state"
	payload := []byte("of a node")
	disk := faultfs.New()
	if err := errors.Join(disk.Mkdir("srv"), disk.SyncDir(".")); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time it is there
		if err := journal.MkdirMissing(disk, "srv/rejoin/data/n0"); err != nil {
			t.Fatal(err)
		}
	}
	file, err := journal.CreateStateFile(disk, "srv/rejoin/data/n0/"+nodeState, len(payload), payload)
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	disk.CrashHard()
	if _, _, err := journal.OpenStateFile(disk, "srv/rejoin/data/n0/"+nodeState, len(payload)); err != nil {
		t.Errorf("after a power cut: %v", err)
	}
	if err := journal.MkdirMissing(disk, "srv/rejoin/data/n0/"+nodeState+"/below"); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("below a file: %v", err)
	}
}

// TestADirectoryThatWasJustMadeOutlivesAPowerCut: by an operator, or by a start that was killed before its sync.
func TestADirectoryThatWasJustMadeOutlivesAPowerCut(t *testing.T) {
	const nodeState, dir = "node.state", "srv/rejoin/data"
	for _, made := range []string{"", "srv/rejoin", "srv/rejoin/data"} {
		disk := faultfs.New()
		if err := errors.Join(disk.Mkdir("srv"), disk.SyncDir(".")); err != nil {
			t.Fatal(err)
		}
		if made == "" { // killed between making a name and its sync
			disk.StopBefore(1)
			if err := journal.MkdirMissing(disk, dir); !errors.Is(err, faultfs.ErrStopped) {
				t.Fatal(err)
			}
			disk.Kill()
		} else if err := journal.MkdirAll(disk, path.Dir(made)); err != nil {
			t.Fatal(err)
		} else if err := disk.Mkdir(made); err != nil {
			t.Fatal(err)
		}
		if err := journal.MkdirMissing(disk, dir); err != nil {
			t.Fatal(err)
		}
		file, err := journal.CreateStateFile(disk, dir+"/"+nodeState, 1, []byte{1})
		if err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		disk.CrashHard()
		if _, _, err := journal.OpenStateFile(disk, dir+"/"+nodeState, 1); err != nil {
			t.Errorf("%q was there: after a power cut: %v", made, err)
		}
	}
}

// What stands above may belong to others: that it cannot be synced refuses no directory.
func TestADirectoryBelowOneOfOthers(t *testing.T) {
	for answer, refused := range map[error]bool{syscall.EACCES: false, syscall.EPERM: false, syscall.EROFS: false, syscall.EINVAL: false, syscall.EIO: true} {
		disk := faultfs.New()
		if err := journal.MkdirAll(disk, "srv/rejoin"); err != nil {
			t.Fatal(err)
		}
		disk.Inject(faultfs.Fault{Verb: faultfs.VerbSyncDir, Name: "srv", Err: answer})
		if err := journal.MkdirMissing(disk, "srv/rejoin"); (err != nil) != refused || err != nil && !errors.Is(err, answer) {
			t.Errorf("a sync above that is answered with %v: %v", answer, err)
		}
	}
}
