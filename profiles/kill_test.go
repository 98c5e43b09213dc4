package profiles

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// childRole makes the test binary act as a node that burns CPU and serves its profile, or profiles itself by Start until SIGTERM.
const (
	childRole = "REJOIN_PROFILES_TEST_CHILD"
	childDir  = "REJOIN_PROFILES_TEST_DIR"
	roleServe = "serve"
	roleStart = "start"
)

func TestMain(m *testing.M) {
	switch os.Getenv(childRole) {
	case roleServe:
		serveProfiles()
		return
	case roleStart:
		startProfile()
		return
	}
	goleak.VerifyTestMain(m)
}

func burnForever() {
	for {
		burn(time.Second)
	}
}

// burntMin is CPU time that a profile cannot miss.
const burntMin = 500 * time.Millisecond

// ownCPU is what this process has used, 0 if the kernel does not say.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func startProfile() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	s, err := Start("cpu", os.Getenv(childDir))
	for ownCPU() < burntMin { // a busy machine may not let it run for long
		burn(10 * time.Millisecond)
	}
	fmt.Println("burnt", err)
	go burnForever()
	<-ctx.Done()
	if _, err := s.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serveProfiles() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(listener.Addr())
	go burnForever()
	_ = http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := pprof.StartCPUProfile(w); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		fmt.Println("capture")
		pause(r.Context(), time.Second)
		pprof.StopCPUProfile()
	}))
}

// startChild starts this binary in a role and returns a function that reads its next line.
func startChild(t *testing.T, env ...string) (cmd *exec.Cmd, line func() string) {
	t.Helper()
	cmd = exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(out)
	return cmd, func() string {
		t.Helper()
		text, err := reader.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(text)
	}
}

// TestAKilledNodeLeavesItsWindows kills a real process by SIGKILL in the middle of a window.
func TestAKilledNodeLeavesItsWindows(t *testing.T) {
	cmd, line := startChild(t, childRole+"="+roleServe)
	address := line()
	began := time.Now()
	dir := t.TempDir()
	c, err := NewCollector(CollectorOptions{Dir: dir, Nodes: []NodeAddress{{"n0", address}}, Window: time.Second,
		NowNs: func() int64 { return int64(time.Since(began)) }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	for range 2 { // windows begin; the second one does when the first is on disk
		if text := line(); text != "capture" {
			t.Fatal(text)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	await(t, "the lost window", func() bool { return c.Captured()[0].LostWindows() == 1 })
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	got := c.Captured()[0]
	if len(got.Lost) != 1 || got.Lost[0].Reason != errDied.Error() || got.Lost[0].FromNs < got.Windows[0].ToNs {
		t.Errorf("%+v", got)
	}
	p := windowsIn(t, dir)[0]
	if p.Samples() == 0 || !strings.Contains(p.pb.String(), "burn") {
		t.Errorf("%d samples, none in burn:\n%s", p.Samples(), p.pb)
	}
	if w := got.Windows[0]; w.DurationNs <= 0 || w.DurationNs > w.ToNs-w.FromNs {
		t.Errorf("window %+v", w)
	}
}

// TestHowAProcessEndsDecidesWhatItLeaves: a clean end leaves a whole file, SIGKILL none, and never an empty one.
func TestHowAProcessEndsDecidesWhatItLeaves(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) {
			dir := t.TempDir()
			cmd, line := startChild(t, childRole+"="+roleStart, childDir+"="+dir)
			if text := line(); text != "burnt <nil>" {
				t.Fatal(text)
			}
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			ended := cmd.Wait()
			p, err := ReadFile(filepath.Join(dir, "cpu.pprof"))
			if sig == syscall.SIGKILL {
				left, globErr := filepath.Glob(filepath.Join(dir, "cpu-partial-*"))
				if !errors.Is(err, os.ErrNotExist) || len(left) != 1 {
					t.Errorf("left %v, %v, %v", left, err, globErr)
				}
				return
			}
			if ended != nil || err != nil || p.Samples() == 0 {
				t.Errorf("ended by %v, %v", ended, err)
			}
		})
	}
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatalf("waited 30 s for %s", what)
		}
		pause(t.Context(), 5*time.Millisecond)
	}
}
