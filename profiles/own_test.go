package profiles

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestOwnWindows(t *testing.T) {
	began := time.Now()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	type outcome struct {
		captured Captured
		err      error
	}
	done := make(chan outcome, 1)
	go func() {
		captured, err := OwnWindows(ctx, OwnOptions{Dir: dir, NowNs: func() int64 { return int64(time.Since(began)) }, Window: 100 * time.Millisecond})
		done <- outcome{captured, err}
	}()
	spent := ownCPU()
	await(t, "two windows, and CPU time in them", func() bool {
		burn(20 * time.Millisecond)
		files, _ := windowFiles(dir) // fails until the folder is there
		return len(files) >= 2 && ownCPU()-spent >= burntMin
	})
	cancel()
	got := <-done
	if got.err != nil {
		t.Fatal(got.err)
	}
	files, err := windowFiles(dir)
	if err != nil || len(files) != len(got.captured.Windows) {
		t.Fatalf("%d files, %d windows, %v", len(files), len(got.captured.Windows), err)
	}
	var samples int64
	last := int64(0)
	for i, w := range got.captured.Windows {
		p, err := files[i].read(runtime.Version())
		if err != nil {
			t.Fatal(err)
		}
		m := p.Meta()
		if m.Node != "generator" || m.Windows[0].FromNs != w.FromNs || m.Windows[0].ToNs != w.ToNs || m.Windows[0].DurationNs > w.DurationNs || w.Role != "generator" || w.FromNs < last {
			t.Errorf("window %+v, meta %+v", w, m)
		}
		last = w.ToNs
		samples += p.Samples()
	}
	if samples == 0 {
		t.Error("no samples in any window")
	}
}

func TestOwnWindowsBesideAnotherProfileAreRefused(t *testing.T) {
	s, err := Start("cpu", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := OwnWindows(t.Context(), OwnOptions{Dir: dir, NowNs: func() int64 { return 0 }}); !errors.Is(err, ErrRunning) {
		t.Errorf("got %v, want ErrRunning", err)
	}
	if files, err := windowFiles(dir); err != nil || len(files) != 0 {
		t.Errorf("files: %v, %v", files, err)
	}
	if _, err := s.Stop(); err != nil {
		t.Error(err)
	}
}

func TestOwnOptions(t *testing.T) {
	now := func() int64 { return 0 }
	for want, o := range map[string]OwnOptions{
		"folder": {NowNs: now}, "clock": {Dir: "."}, "negative": {Dir: ".", NowNs: now, Window: -1}, "a/b": {Dir: ".", NowNs: now, Name: "a/b"},
	} {
		if _, err := OwnWindows(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q", o, err, want)
		}
	}
}

// Snapshots of this process go without a CPU profile, which may belong to somebody else.
func TestOwnSnapshots(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	now := int64(0)
	got, err := OwnWindows(ctx, OwnOptions{Dir: dir, NowNs: func() int64 { now++; return now }, Snapshots: []Kind{Heap, Goroutine}, NoCPU: true})
	if err != nil || len(got.Snapshots) != 2 || len(got.Windows) != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, p := range windowsIn(t, dir) {
		if p.Samples() == 0 || p.Meta().Node != "generator" {
			t.Errorf("%+v", p.Meta())
		}
	}
}
