package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"rejoin/results"
)

// TestUnwrittenRecordHidesNoVerdict: on a full disk nothing can be written, but loss must still be said and decide the exit code.
func TestUnwrittenRecordHidesNoVerdict(t *testing.T) {
	playedOnce(t, "draws a report")
	for _, test := range []struct {
		name string
		find func(*results.Judge)
		code int
	}{
		{"loss", func(j *results.Judge) { j.Loss("3 batches lost") }, results.ExitLoss},
		{"nothing", func(j *results.Judge) {}, results.ExitInvalid},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, out := quietSession(t, "target: memory")
			if err := os.MkdirAll(filepath.Join(r.folder.SummaryFile(), "in the way"), 0o755); err != nil {
				t.Fatal(err)
			}
			r.judge.Verified()
			test.find(&r.judge)
			var summary results.Summary
			r.settle(&summary, nil)
			if run, err := r.folder.ReadRun(); err != nil || run.Status != results.StatusFailed || !strings.Contains(run.Error, "could not be written") {
				t.Errorf("run.json says %q %q, %v", run.Status, run.Error, err)
			}
			if summary.ExitCode != test.code || !strings.Contains(out.String(), "the record of the run could not be written") {
				t.Errorf("exit code %d, want %d:\n%s", summary.ExitCode, test.code, out)
			}
		})
	}
}

// TestFailedRunIsSaid: what ended a run early stands in run.json.
func TestFailedRunIsSaid(t *testing.T) {
	playedOnce(t, "draws a report")
	r, _ := quietSession(t, "target: memory")
	var summary results.Summary
	r.settle(&summary, errors.New("no node came up"))
	run, err := r.folder.ReadRun()
	if err != nil || run.Status != results.StatusFailed || run.Error != "no node came up" {
		t.Errorf("run.json says %q %q, %v", run.Status, run.Error, err)
	}
}

// TestFullDisk: a run that has filled its disk says so, in its files too. It runs in a mount namespace of its own, over a small file system.
func TestFullDisk(t *testing.T) {
	playedOnce(t, "draws a report")
	const inside = "BENCH_TEST_FULL_DISK"
	if dir := os.Getenv(inside); dir != "" {
		if err := syscall.Mount("small", dir, "tmpfs", 0, "size=4m"); err != nil {
			t.Fatal(err)
		}
		concludeOnFullDisk(t, dir)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestFullDisk$", "-test.v")
	cmd.Env = append(os.Environ(), inside+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}}
	out, err := cmd.CombinedOutput()
	var refused *fs.PathError
	if errors.As(err, &refused) {
		t.Skipf("this machine gives no namespace of its own to a user: %v", err)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func concludeOnFullDisk(t *testing.T, root string) {
	s, err := parseScenario("test.yaml", []byte("name: test\ntarget: memory"))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	r, err := newSession(&environment{ctx: t.Context(), out: &out, errs: &out, results: root}, &runCommand{}, s, 1, profiling{})
	if err != nil {
		t.Fatal(err)
	}
	fillAll(t, filepath.Join(root, "fill"))
	r.judge.Verified()
	var summary results.Summary
	r.settle(&summary, nil)
	run, runErr := r.folder.ReadRun()
	written, summaryErr := r.folder.ReadSummary()
	if runErr != nil || run.Status != results.StatusFailed || !strings.Contains(run.Error, "the disk is full: free space") {
		t.Errorf("run.json says %q %q, %v", run.Status, run.Error, runErr)
	}
	if summaryErr != nil || written.Verdict != results.Invalid || written.ExitCode != results.ExitInvalid {
		t.Errorf("summary.json says %+v, %v", written.Verdict, summaryErr)
	}
	if code, listed := bench(t, "--results", root, "list"); code != 0 || !strings.Contains(listed, "invalid") || !strings.Contains(listed, "the disk is full") {
		t.Errorf("bench list exits %d and says\n%s", code, listed)
	}

	// Without the reserve run.json still says that it is over.
	next, err := results.Create(root, "memory", "test", time.Now().Add(time.Minute))
	if err == nil {
		err = os.Remove(filepath.Join(root, "fill"))
	}
	if err == nil {
		err = next.WriteRun(results.Run{Status: results.StatusRunning, Pid: os.Getpid(), StartedAt: time.Now(), Asked: run.Asked})
	}
	if err != nil {
		t.Fatal(err)
	}
	fillAll(t, filepath.Join(root, "fill"))
	r.folder, r.judge = next, results.Judge{}
	r.settle(&summary, nil)
	if run, err := next.ReadRun(); err != nil || run.Status != results.StatusFailed {
		t.Errorf("run.json without a reserve says %q, %v", run.Status, err)
	}
	if _, listed := bench(t, "--results", root, "list"); !strings.Contains(listed, "failed") {
		t.Errorf("bench list says\n%s", listed)
	}
}

// fillAll writes a file until nothing fits any more.
func fillAll(t *testing.T, path string) {
	t.Helper()
	fill, err := os.Create(path)
	for piece := make([]byte, 64<<10); err == nil && len(piece) > 0; {
		if _, err = fill.Write(piece); errors.Is(err, syscall.ENOSPC) {
			piece, err = piece[:len(piece)/2], nil
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := fill.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestSessionKeepsNothingOpenThatCameToNothing: where one of the files of the record cannot be opened the other is closed again, and the folder
// does not look like a run under way.
func TestSessionKeepsNothingOpenThatCameToNothing(t *testing.T) {
	r, _ := quietSession(t, "target: memory")
	closed := 0
	r.closeSay = func() { closed++ }
	if err := os.Mkdir(r.folder.StatusSamples(), 0o755); err != nil {
		t.Fatal(err)
	}
	err := r.openRecord()
	if err == nil {
		t.Fatal("status.ndjson is a directory, and was opened")
	}
	open, readErr := os.ReadDir("/proc/self/fd")
	if readErr != nil {
		t.Fatal(readErr)
	}
	for _, fd := range open {
		if to, _ := os.Readlink("/proc/self/fd/" + fd.Name()); to == r.folder.Events() {
			t.Errorf("%s is still open", to)
		}
	}
	r.abandon(err)
	run, readErr := r.folder.ReadRun()
	if readErr != nil || run.Status != results.StatusFailed || run.Error != err.Error() || closed != 1 {
		t.Errorf("run.json says %q %q, %v; watchers closed %d times", run.Status, run.Error, readErr, closed)
	}
}
