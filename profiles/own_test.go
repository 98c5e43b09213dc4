package profiles

import (
	"context"
	"errors"
	"os"
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
	await(t, "two windows", func() bool {
		burn(20 * time.Millisecond)
		files, err := windowFiles(dir)
		return err != nil || len(files) >= 2
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
		p, err := ReadFile(files[i])
		if err != nil {
			t.Fatal(err)
		}
		m := p.Meta()
		if m.Node != "generator" || m.Windows[0] != w || m.Go != runtime.Version() || w.Role != "generator" || w.FromNs < last {
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
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
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
