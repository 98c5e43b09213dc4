package profiles

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"sync"
	"testing"
	"time"
)

// burn keeps a core busy for so long that a CPU profile cannot miss it.
//
//go:noinline
func burn(d time.Duration) (sum uint64) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		for i := range uint64(10_000) {
			sum = sum*31 + i
		}
	}
	return sum
}

// contend makes two goroutines wait for one mutex, and one for a channel.
func contend() {
	var mu sync.Mutex
	var wait sync.WaitGroup
	mu.Lock()
	waiting := make(chan struct{})
	for range 2 {
		wait.Go(func() {
			waiting <- struct{}{}
			mu.Lock()
			burn(time.Millisecond)
			mu.Unlock()
		})
	}
	<-waiting
	<-waiting
	burn(5 * time.Millisecond)
	mu.Unlock()
	wait.Wait()
}

func TestEveryModeLeavesACompleteFile(t *testing.T) {
	for _, mode := range Modes() {
		t.Run(string(mode), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "profiles")
			s, err := Start(mode, dir)
			if err != nil {
				t.Fatal(err)
			}
			kept := bytes.Repeat([]byte{1}, 1<<20)
			contend()
			burn(150 * time.Millisecond)
			path, err := s.Stop()
			runtime.KeepAlive(kept)
			if err != nil {
				t.Fatal(err)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
				t.Fatalf("left behind: %v, %v; want one file", left, err)
			}
			if mode == "trace" {
				if err := checkTrace(path); err != nil {
					t.Fatal(err)
				}
				return
			}
			p, err := ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if p.Kind() != mode.Kind() || p.Samples() == 0 || p.Meta().Go != runtime.Version() || p.Meta().Rate != mode.Rate() {
				t.Errorf("kind %s, %d samples, %+v", p.Kind(), p.Samples(), p.Meta())
			}
			if again, err := s.Stop(); again != "" || err != nil {
				t.Errorf("second stop: %q, %v", again, err)
			}
		})
	}
}

func TestASecondProfileIsRefused(t *testing.T) {
	first, err := Start("mem", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "second")
	if _, err := Start("goroutine", dir); !errors.Is(err, ErrRunning) {
		t.Errorf("got %v, want ErrRunning", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a refused profile left %s: %v", dir, err)
	}
	if _, err := first.Stop(); err != nil {
		t.Fatal(err)
	}
}

func TestACPUProfileBesideAnotherIsRefused(t *testing.T) {
	var other bytes.Buffer
	if err := pprof.StartCPUProfile(&other); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "second")
	if _, err := Start("cpu", dir); !errors.Is(err, ErrRunning) {
		t.Errorf("got %v, want ErrRunning", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a refused profile left %s: %v", dir, err)
	}
	pprof.StopCPUProfile()
	s, err := Start("cpu", dir)
	if err != nil {
		t.Fatalf("after the other ended: %v", err)
	}
	if _, err := s.Stop(); err != nil {
		t.Fatal(err)
	}
}

func TestAnUnusableFolderIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second shows that the first let go
		if _, err := Start("cpu", filepath.Join(file, "below")); err == nil || errors.Is(err, ErrRunning) {
			t.Errorf("got %v, want an error about the folder", err)
		}
	}
}

func TestTheFileOfAnEarlierProcessStaysUntilStop(t *testing.T) {
	dir := t.TempDir()
	earlier := filepath.Join(dir, "goroutine.pprof")
	if err := os.WriteFile(earlier, []byte("earlier"), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := Start("goroutine", dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(earlier); err != nil || string(got) != "earlier" {
		t.Errorf("while the next runs: %q, %v", got, err)
	}
	if _, err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(earlier); err != nil {
		t.Error(err)
	}
}

func TestAProfileThatCannotBeWrittenIsAnError(t *testing.T) {
	s, err := Start("goroutine", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(s.partial); err != nil {
		t.Fatal(err)
	}
	if path, err := s.Stop(); err == nil {
		t.Errorf("stopped without an error: %q", path)
	}
	if next, err := Start("goroutine", t.TempDir()); err != nil {
		t.Errorf("the next one: %v", err)
	} else if _, err := next.Stop(); err != nil {
		t.Error(err)
	}
}

func TestModes(t *testing.T) {
	if err := CheckMode(""); err != nil {
		t.Error(err)
	}
	if err := CheckMode("everything"); err == nil || err.Error() != `profile mode "everything" is unknown; there are cpu, mem, mutex, block, trace, goroutine, clock` {
		t.Error(err)
	}
	s, err := Start("", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if path, err := s.Stop(); path != "" || err != nil {
		t.Errorf("no profile: %q, %v", path, err)
	}
	for _, mode := range Modes() {
		if option(mode) == nil {
			t.Errorf("%s has no option", mode)
		}
	}
}
