package main

import (
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"rejoin/profiles"
	"rejoin/results"
)

// burntFolder is a run folder with a real profile of this process, said to be a primary in the steady phase: it burns until the kernel has
// counted 3 s, so that there are enough samples on whatever machine.
func burntFolder(t *testing.T) results.Folder {
	t.Helper()
	folder := results.Folder{Dir: t.TempDir()}
	if err := os.Mkdir(folder.Profiles(), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	began := time.Now()
	taken := make(chan error, 1)
	go func() {
		_, err := profiles.OwnWindows(ctx, profiles.OwnOptions{Dir: folder.Profiles(), Name: "n0", Role: results.RolePrimary, Window: time.Second,
			NowNs: func() int64 { return int64(time.Since(began)) }})
		taken <- err
	}()
	block := make([]byte, 1<<20)
	for until := ownCPU(t) + 3*time.Second; ownCPU(t) < until; {
		crc32.ChecksumIEEE(block)
	}
	cancel()
	if err := <-taken; err != nil {
		t.Fatal(err)
	}
	steady := []results.Span{{Phase: results.Steady}}
	report, err := profiles.MergeWindows(profiles.MergeOptions{Dir: folder.Profiles(), PhaseOf: profiles.PhaseOfSpans(steady),
		Acked: func(fromNs, toNs int64) (int64, int64) { return (toNs - fromNs) / 1e7, (toNs - fromNs) / 1e5 }})
	if err != nil {
		t.Fatal(err)
	}
	index := profileIndex{folder: folder, captured: []profiles.Captured{{Node: "n0"}}, phases: []results.Phase{results.Steady},
		phaseAt: func(int64) results.Phase { return results.Steady }}
	index.addPhases(profiles.CPU, report)
	run := results.Run{Status: results.StatusFinished, Found: results.Found{Race: true}, Asked: results.Asked{Profiling: profiling{windows: true}.record()}}
	if err := errors.Join(folder.WriteProfileIndex(index.entries), folder.WriteRun(run)); err != nil {
		t.Fatal(err)
	}
	return folder
}

func ownCPU(t *testing.T) time.Duration {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestCompareProfiles: a run against itself differs in nothing, pprof subtracts the files, and what does not fit is refused in words.
func TestCompareProfiles(t *testing.T) {
	playedOnce(t, "draws flame graphs")
	folder, dir := burntFolder(t), t.TempDir()
	var out bytes.Buffer
	c, err := compareProfiles(&out, []string{folder.Dir}, []string{folder.Dir}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Parts) != 1 || c.Parts[0].Role != results.RolePrimary || c.Parts[0].Phase != results.Steady || len(c.Warnings) != 2 {
		t.Fatalf("%+v", c)
	}
	for _, p := range c.Parts {
		for _, f := range p.Diff.Functions {
			if f.Flat.PerMessage.Difference() != 0 || f.Flat.PerSecond.Difference() != 0 || !f.Chance {
				t.Fatalf("a run differs from itself: %+v", f)
			}
		}
		page, err := os.ReadFile(p.DiffPerMessage)
		if err != nil || !bytes.Contains(page, []byte("</html>")) {
			t.Error(err)
		}
	}
	words := strings.Fields(c.Parts[0].Commands[0])
	base, changed := words[len(words)-2], words[len(words)-1]
	if top, err := exec.Command(goTool(t, "pprof"), "-top", "-diff_base", base, changed).CombinedOutput(); err != nil || !bytes.Contains(top, []byte("accounting for 0, 0%")) {
		t.Errorf("%v: %s", err, top)
	}
	windows, err := filepath.Glob(filepath.Join(folder.Profiles(), "windows", "n0-cpu-*.pb.gz"))
	if err != nil || len(windows) == 0 {
		t.Fatalf("no windows, %v", err)
	}
	window, subtracted := windows[0], filepath.Join(dir, "subtracted.pb.gz")
	if text, err := exec.Command(goTool(t, "pprof"), "-proto", "-output", subtracted, "-diff_base", window, changed).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	none := results.Folder{Dir: t.TempDir()}
	if err := none.WriteRun(results.Run{Status: results.StatusFinished, Found: results.Found{Race: true}, Asked: results.Asked{Profiling: results.Profiling{Mode: profileNone}}}); err != nil {
		t.Fatal(err)
	}
	for _, refusal := range []struct {
		b     string
		is    error
		words string
	}{
		{subtracted, profiles.ErrSubtracted, "already a difference"},
		{none.Dir, nil, "B ran without a profiler"},
		{filepath.Join(dir, "missing.pb.gz"), os.ErrNotExist, "missing.pb.gz"},
		{window, profiles.ErrUnlike, "and B has [cpu]"},
	} {
		a := folder.Dir
		if refusal.is != nil {
			a = changed
		}
		if _, err := compareProfiles(io.Discard, []string{a}, []string{refusal.b}, dir); err == nil || refusal.is != nil && !errors.Is(err, refusal.is) || !strings.Contains(err.Error(), refusal.words) {
			t.Errorf("%s: %v, want %q", refusal.b, err, refusal.words)
		}
	}
	if _, err := compareProfiles(io.Discard, []string{none.Dir}, []string{none.Dir}, dir); !errors.Is(err, errNotProfiled) {
		t.Errorf("none on both sides: %v", err)
	}
}

// TestCompareProfileFiles: the command takes two files as well, and refuses in words with exit code 2.
func TestCompareProfileFiles(t *testing.T) {
	playedOnce(t, "draws flame graphs")
	folder, root := burntFolder(t), t.TempDir()
	merged := filepath.Join(folder.Profiles(), "n0-cpu-steady.pb.gz")
	if code, out := bench(t, "--results", root, "compare", merged, merged); code != 0 || !strings.Contains(out, "no function is called different") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if code, out := bench(t, "--results", root, "compare", merged, merged); code != 0 { // in the same second, mostly
		t.Errorf("exit code %d\n%s", code, out)
	}
	if groups, err := results.Groups(root); err != nil || len(groups) != 2 {
		t.Errorf("two comparisons lie in %v, %v", groups, err)
	}
	empty := filepath.Join(root, "empty.pb.gz")
	if err := os.WriteFile(empty, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if code, out := bench(t, "--results", root, "compare", merged, empty); code != results.ExitUsage || !strings.Contains(out, "empty (0 bytes)") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if groups, err := results.Groups(root); err != nil || len(groups) != 2 {
		t.Errorf("what was refused left a folder: %v, %v", groups, err)
	}
}
