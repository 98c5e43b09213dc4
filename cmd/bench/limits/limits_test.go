package limits

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"rejoin/cmd/bench/limits/child"
	"rejoin/cmd/bench/limits/shape"
	"rejoin/results"
)

// TestMain lets this binary be a part of a measurement.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "part" {
		if err := Serve(os.Args[2], os.Args[3]); err != nil {
			println(err.Error())
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func launcher(t *testing.T) child.Launcher {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return child.Launcher{Start: (*exec.Cmd).Start, Command: func(ctx context.Context, role, settings string) *exec.Cmd {
		return exec.CommandContext(ctx, self, "part", role, settings)
	}}
}

// TestMeasure: every figure is there, of the size that was asked for, and nothing is left in the folder.
func TestMeasure(t *testing.T) {
	dir := t.TempDir()
	var told []string
	l, err := Measure(t.Context(), Options{Dir: dir, FrameBytes: 5_000, Launch: launcher(t), Shape: shape.Options{FileBytes: 4 << 20},
		Saturated: 300 * time.Millisecond, Steady: 300 * time.Millisecond, DiskBytes: 4 << 20, LoopbackBytes: sendfileBytes, Syncs: 50}, func(l Line) { told = append(told, l.Name) })
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Syncs) != 4 || l.Syncs[0].ReadBackFrames != 50 || l.Syncs[3].ReadBackFrames != 150 || l.Syncs[3].File != results.FileZeroFilled {
		t.Errorf("syncs: %+v", l.Syncs)
	}
	for name, v := range map[string]float64{"disk write": l.Disk.WriteBytesPerS, "disk read": l.Disk.ReadBytesPerS, "loopback": l.Loopback.BytesPerS,
		"sendfile": l.Loopback.SendfileBytesPerS, "HTTP": l.HTTP.CPUNsPerRequest, "TCP": l.HTTP.TCPCPUNsPerRequest} {
		if v <= 0 {
			t.Errorf("%s: %v", name, v)
		}
	}
	saturated, steady := l.Shape(12, 0), l.Shape(12, SteadyRateDefault)
	if saturated == nil || steady == nil || len(l.Checksums) != 2 {
		t.Fatalf("shapes %+v, checksums %+v", l.Shapes, l.Checksums)
	}
	if steady.Batches != 90 { // 300 a second for 0.3 s
		t.Errorf("%d batches by the timetable", steady.Batches)
	}
	if saturated.BatchesPerSync < 1 || saturated.PrimaryCPUNsPerBatch <= 0 || *saturated.BackupCPUNsPerBatch <= 0 || saturated.ReadBackBatches < 1 {
		t.Errorf("saturated: %+v", *saturated)
	}
	if len(told) != len(Lines(l)) || !strings.Contains(strings.Join(told, "\n"), "commit by 2 of 3, saturated") {
		t.Errorf("told %q", told)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestInterrupted: the parts end with the context, and the error says so.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Measure(ctx, Options{Dir: t.TempDir(), FrameBytes: 100, Launch: launcher(t), Syncs: 20, DiskBytes: 1 << 20, LoopbackBytes: sendfileBytes, Saturated: time.Hour}, func(l Line) {
		if strings.HasPrefix(l.Name, "a frame by HTTP") {
			time.AfterFunc(10*time.Millisecond, cancel) // while the shape is filled or driven
		}
	})
	if err == nil || !strings.Contains(err.Error(), "context canceled") {
		t.Errorf("error %v", err)
	}
}

// TestDeadPart: the error says what the process said.
func TestDeadPart(t *testing.T) {
	p, err := child.Start(t.Context(), launcher(t), "nobody", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Ask("ready", nil, nil); err == nil || !strings.Contains(err.Error(), `no role "nobody"`) {
		t.Errorf("error %v", err)
	}
	if err := p.Close(); err != nil {
		t.Errorf("said twice: %v", err)
	}
}

// TestKilledPrimary: a load that loses its cluster is an error, not a figure.
func TestKilledPrimary(t *testing.T) {
	var started []*exec.Cmd
	launch := launcher(t)
	launch.Start = func(c *exec.Cmd) error {
		started = append(started, c)
		return c.Start()
	}
	c, err := shape.Start(t.Context(), launch, shape.Options{Dir: t.TempDir(), Nodes: 3, Producers: 2, BodyBytes: 100, FileBytes: 1 << 20, Sync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Drive(50*time.Millisecond, 0); err != nil {
		t.Fatal(err)
	}
	if err := started[0].Process.Signal(syscall.SIGKILL); err != nil { // the primary
		t.Fatal(err)
	}
	if f, err := c.Drive(50*time.Millisecond, 0); err == nil {
		t.Errorf("a figure without a primary: %+v", f)
	}
}

func TestContentIsCompared(t *testing.T) {
	c := newContent(64)
	read := append([]byte(nil), c.of(3)...)
	if err := c.check(3, read); err != nil {
		t.Error(err)
	}
	if c.check(4, read) == nil {
		t.Error("block 3 passed for block 4")
	}
	read[60]++
	if c.check(3, read) == nil {
		t.Error("a changed byte passed")
	}
}
