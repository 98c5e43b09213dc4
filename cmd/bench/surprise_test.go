package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"rejoin/loadgen"
	"rejoin/results"
)

// signaled is the wait status of a process that a signal ended, exited that of one that exited (wait(2) of Linux).
func signaled(s syscall.Signal) syscall.WaitStatus { return syscall.WaitStatus(s) }
func exited(code int) syscall.WaitStatus           { return syscall.WaitStatus(code << 8) }

// surprisedSystem is a system of which nodes have ended.
type surprisedSystem struct {
	memorySystem
	all []surprise
}

func (s *surprisedSystem) surprises() []surprise { return s.all }

// TestWhoEndedANode: what a process does to itself is the target's, what others do to it says nothing of the target.
func TestWhoEndedANode(t *testing.T) {
	for _, test := range []struct {
		status  syscall.WaitStatus
		verdict results.Verdict
		says    string
	}{
		{signaled(syscall.SIGKILL), results.Invalid, "the process of n1 ended by SIGKILL at 12.3 s, which nobody of this run sent"},
		{signaled(syscall.SIGHUP), results.Invalid, "the process of n1 ended by SIGHUP at 12.3 s, which nobody of this run sent"},
		{exited(0), results.Invalid, "(exit code 0) at 12.3 s, as at a SIGTERM, which nobody of this run sent"},
		{signaled(syscall.SIGSEGV), results.Stuck, "n1 was lost at 12.3 s without being told to; its log n1.log ends: why"},
		{exited(2), results.Stuck, "n1 was lost at 12.3 s without being told to"},
	} {
		r, s := goodSession(t, "{}")
		r.system = &surprisedSystem{all: []surprise{{node: "n1", atMs: 12_300, status: test.status, how: "was lost", log: "n1.log", said: "why"}}}
		s.Kills[1].CaughtUpMs = nil // of n1: it had no chance to
		r.verified = &loadgen.Report{Replicas: []*loadgen.ReplicaReport{{Replica: "n0"}, {Replica: "n1", Unreadable: "connection refused"}}}
		r.judgeRun(s)
		verdict, _ := r.judge.Verdict()
		reasons := strings.Join(r.judge.Reasons(), "\n")
		if verdict != test.verdict || !strings.Contains(reasons, test.says) {
			t.Errorf("wait status %x: %s, want %s\n%s", test.status, verdict, test.verdict, reasons)
		}
		if blamed := strings.Contains(reasons, "connection refused") || strings.Contains(reasons, "never caught up"); blamed != (test.verdict == results.Stuck) {
			t.Errorf("wait status %x: reasons\n%s", test.status, reasons)
		}
	}
}

// TestNodeKilledFromOutside: somebody kills a node of a run under way. The run says so, waits for the others only, and is invalid.
func TestNodeKilledFromOutside(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(t.TempDir(), "outside.yaml")
	text := "name: outside\nproducers: 2\nbatch_messages: 10\nmessages_per_s: 2000\nwarmup: 500ms\nduration: 4s\nquiet_max: 20s\ndemands: {late_p99_max: 5s, canary_change_max: 1000}\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	code := make(chan int)
	go func() {
		code <- run(t.Context(), []string{"--results", root, "run", path, "--profile", "none"}, &out, &out)
	}()
	pid := nodeUnderLoad(t, root, 1)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	got := <-code
	folder, err := results.Open(root, "latest")
	if err != nil {
		t.Fatal(err)
	}
	summary, err := folder.ReadSummary()
	if err != nil {
		t.Fatal(err)
	}
	reasons := strings.Join(summary.Reasons, "\n")
	if got != results.ExitInvalid || !strings.Contains(reasons, "the process of n1 ended by SIGKILL at ") || strings.Contains(reasons, "did not answer") {
		t.Errorf("exit code %d, reasons\n%s\n%s", got, reasons, out.String())
	}
	events, err := folder.ReadEvents()
	if err != nil {
		t.Fatal(err)
	}
	told := false
	for _, e := range events {
		told = told || e.Kind == results.KindExit && e.Node == "n1" && e.Signal == "SIGKILL" && e.Reason == "nobody of this run asked for it"
	}
	if !told {
		t.Error("events.ndjson does not tell it from an exit that the run asked for")
	}
}

// nodeUnderLoad is the process of a node of the one run under root, once the load has begun: only from then on polls are written.
func nodeUnderLoad(t *testing.T, root string, node int) int {
	t.Helper()
	for limit := time.Now().Add(time.Minute); time.Now().Before(limit); time.Sleep(pollInterval) {
		polls, _ := filepath.Glob(filepath.Join(root, "2*", "status.ndjson"))
		if len(polls) == 0 {
			continue
		}
		if info, err := os.Stat(polls[0]); err != nil || info.Size() == 0 {
			continue
		}
		entries, err := os.ReadDir("/proc")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			pid, err := strconv.Atoi(e.Name())
			if err != nil || !isNodeUnder(pid, root) {
				continue
			}
			line, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
			if bytes.Contains(line, []byte("--id\x00"+strconv.Itoa(node)+"\x00")) {
				return pid
			}
		}
	}
	t.Fatal("no load began")
	return 0
}
