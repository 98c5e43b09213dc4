package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestEveryThreadOfANodeWakesLate: also that of the runtime's monitor, which was there before main; the process is the one that was started.
func TestEveryThreadOfANodeWakesLate(t *testing.T) {
	node := newNodeToStart(t)
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	defer node.Wait()
	defer node.Process.Kill()
	awaitSlack(t, node)
}

// TestNodeDiesWithItsStarter: the parent-death signal is the main thread's, and outlives the second start.
func TestNodeDiesWithItsStarter(t *testing.T) {
	node := newNodeToStart(t)
	node.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	onThreadThatEnds(func() {
		if err := node.Start(); err != nil {
			t.Error(err)
			return
		}
		awaitSlack(t, node)
	})
	if t.Failed() {
		return
	}
	survived := time.AfterFunc(10*time.Second, func() {
		t.Error("the node is still there 10 s after its starter")
		node.Process.Kill()
	})
	defer survived.Stop()
	node.Wait()
}

// TestStopOfANodeThatHasJustStarted: no SIGTERM is lost between the two starts.
func TestStopOfANodeThatHasJustStarted(t *testing.T) {
	for after := time.Duration(0); after < 16*time.Millisecond; after += time.Millisecond {
		node := newNodeToStart(t)
		if err := node.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after) // the moment of the signal is what is tried; no state of the node names it
		if err := node.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		ignored := time.AfterFunc(10*time.Second, func() {
			t.Errorf("SIGTERM %v after its start did not end the node", after)
			node.Process.Kill()
		})
		node.Wait()
		ignored.Stop()
	}
}

// onThreadThatEnds calls f on a thread that has ended, or is about to, when it returns.
func onThreadThatEnds(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if unix.Gettid() != os.Getpid() {
			f()
			return
		}
		onThreadThatEnds(f) // the main one does not end; held here, it is not taken again
	}()
	<-done
}

// newNodeToStart is a node of its own cluster, whose ports are held to the end: it may listen beside who holds them.
func newNodeToStart(t *testing.T) *exec.Cmd {
	t.Helper()
	held, err := reservePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "cluster.yaml")
	config := fmt.Sprintf("cluster: late\nnodes:\n  - {id: 0, listen: {peer: \"127.0.0.1:%d\", client: \"127.0.0.1:%d\", admin: \"127.0.0.1:%d\"}}\n"+
		"topics:\n  - {name: t, partitions: 1}\n", held.numbers[0], held.numbers[1], held.numbers[2])
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	said := new(bytes.Buffer)
	node := exec.Command(os.Args[0], "node", "--cluster", file, "--id", "0", "--data", filepath.Join(dir, "data"))
	node.Stdout, node.Stderr = said, said
	t.Cleanup(func() {
		held.release()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	return node
}

// awaitSlack waits until each thread of a node has the slack of nodes.
func awaitSlack(t *testing.T, node *exec.Cmd) {
	t.Helper()
	last := error(nil)
	for limit := time.Now().Add(10 * time.Second); time.Now().Before(limit); time.Sleep(20 * time.Millisecond) {
		last = slackOfThreads(node.Process.Pid)
		switch {
		case last == nil:
			return
		case errors.Is(last, fs.ErrPermission): // CAP_SYS_NICE, which a container's root seldom has
			last = serves(node)
			if last == nil {
				return
			}
		}
	}
	t.Errorf("after 10 s %v", last)
}

// serves tells whether a node has formatted its data, which it does after the second start.
func serves(node *exec.Cmd) error {
	_, err := os.Stat(node.Args[len(node.Args)-1])
	return err
}

// slackOfThreads says what is not as it should be.
func slackOfThreads(pid int) error {
	want := fmt.Sprint(nodeTimerSlack.Nanoseconds())
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil || len(threads) < 3 { // main's, the monitor's, and one of the collector
		return fmt.Errorf("the node has %d threads, %v", len(threads), err)
	}
	for _, thread := range threads {
		slack, err := os.ReadFile(fmt.Sprintf("/proc/%s/timerslack_ns", thread.Name()))
		if err != nil {
			return err
		}
		if got := strings.TrimSpace(string(slack)); got != want {
			return fmt.Errorf("thread %s of process %d has a slack of %s ns, not %s", thread.Name(), pid, got, want)
		}
	}
	return nil
}
