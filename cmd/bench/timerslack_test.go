package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestEveryThreadOfANodeWakesLate: also that of the runtime's monitor, which was there before main; the process is the one that was started.
func TestEveryThreadOfANodeWakesLate(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the slack of another thread may be read by root only")
	}
	held, err := reservePorts(3) // until the end: a node may listen beside who holds them
	if err != nil {
		t.Fatal(err)
	}
	defer held.release()
	dir := t.TempDir()
	file := filepath.Join(dir, "cluster.yaml")
	config := fmt.Sprintf("cluster: late\nnodes:\n  - {id: 0, listen: {peer: \"127.0.0.1:%d\", client: \"127.0.0.1:%d\", admin: \"127.0.0.1:%d\"}}\n"+
		"topics:\n  - {name: t, partitions: 1}\n", held.numbers[0], held.numbers[1], held.numbers[2])
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	node := exec.Command(os.Args[0], "node", "--cluster", file, "--id", "0", "--data", filepath.Join(dir, "data"))
	node.Stdout, node.Stderr = &said, &said
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		node.Process.Kill()
		node.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	}()
	last := ""
	for limit := time.Now().Add(10 * time.Second); time.Now().Before(limit); time.Sleep(20 * time.Millisecond) {
		if last = slackOfThreads(node.Process.Pid); last == "" {
			return
		}
	}
	t.Errorf("after 10 s %s", last)
}

// slackOfThreads says what is not as it should be.
func slackOfThreads(pid int) string {
	want := fmt.Sprint(nodeTimerSlack.Nanoseconds())
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil || len(threads) < 3 { // main's, the monitor's, and one of the collector
		return fmt.Sprintf("the node has %d threads, %v", len(threads), err)
	}
	for _, thread := range threads {
		slack, err := os.ReadFile(fmt.Sprintf("/proc/%s/timerslack_ns", thread.Name()))
		if err != nil || strings.TrimSpace(string(slack)) != want {
			return fmt.Sprintf("thread %s of process %d has a slack of %s ns, not %s: %v", thread.Name(), pid, strings.TrimSpace(string(slack)), want, err)
		}
	}
	return ""
}
