package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"rejoin/cmd/bench/limits"
	"rejoin/cmd/bench/limits/child"
	"rejoin/results"
)

type limitsCommand struct {
	Dir   string `help:"Folder to write in, 4 GiB while it runs; its file system is what is measured. Default: the present folder." default:"." placeholder:"DIR"`
	Frame int    `help:"Bytes of a frame, which is also what producers send to the shape. Default: 26928, 100 messages of 256 bytes." placeholder:"BYTES"`
	Only  string `help:"Measure one kind only: syncs, disk, loopback, checksums, http or shape." placeholder:"KIND"`
	Quick bool   `help:"A tenth of each measurement, in about three seconds: for a first look, the figures are rough."`
	Out   string `help:"File for the figures as JSON (docs/files.md)." default:"limits.json" placeholder:"FILE"`
}

// Help is shown by bench limits --help.
func (limitsCommand) Help() string {
	return `Measures, in about half a minute, what no log on this machine can be faster than: a synced write of one frame to growing and to zero-filled
files, by one process and by three at once; the disk; loopback; checksums; a frame by HTTP; and the shape, which is the bare commit by two of three
processes with 12 producers, saturated and at 30,000 messages a second. Every figure is checked: what was written is read back, what was sent is
counted. bench run --limits does the same before and after a run and puts both into its report. docs/limits.md says how to read them.`
}

// Run measures and prints one line each.
func (c *limitsCommand) Run(env *environment) error {
	if c.Frame != 0 && (c.Frame < limitsFrameMin || c.Frame > limitsFrameMax) {
		return usage("--frame %d: pass %d to %d bytes", c.Frame, limitsFrameMin, limitsFrameMax)
	}
	if c.Only != "" && !slices.Contains(limits.Kinds(), c.Only) {
		return usage("--only %s: pass one of %s", c.Only, strings.Join(limits.Kinds(), ", "))
	}
	options := limits.Options{}
	if c.Quick {
		options = limits.Quick()
	}
	options.Dir, options.FrameBytes, options.Only = c.Dir, c.Frame, c.Only
	measured, err := measureLimits(env.ctx, options, func(line limits.Line) { fmt.Fprintf(env.out, "%-48s %s\n", line.Name, line.Text) })
	if env.ctx.Err() != nil {
		return &exitError{code: results.ExitInterrupted}
	}
	if err != nil {
		return usage("%w", err)
	}
	if err := results.WriteLimits(c.Out, []results.Limits{measured}); err != nil {
		return usage("%w", err)
	}
	fmt.Fprintf(env.out, "took %.0f s, written to %s\n", measured.TookMs/1e3, filepath.Clean(c.Out))
	return nil
}

const (
	limitsFrameMin = 16
	limitsFrameMax = 8 << 20
)

// measureLimits measures with this binary as the processes.
func measureLimits(ctx context.Context, options limits.Options, tell func(limits.Line)) (measured results.Limits, err error) {
	launch, end, err := limitsLauncher()
	if err != nil {
		return measured, err
	}
	defer end()
	options.Launch = launch
	return limits.Measure(ctx, options, tell)
}

// limitsLauncher starts this binary as parts of a measurement, at ordinary priority and tied to the life of this process until end.
func limitsLauncher() (launch child.Launcher, end func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return launch, nil, fmt.Errorf("find the bench binary: %w", err)
	}
	spawner := newSpawner()
	return child.Launcher{Start: spawner.start, Command: func(ctx context.Context, role, settings string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, self, limitsPartName, role, settings)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
		return cmd
	}}, spawner.close, nil
}

// limitsPartName is the hidden command that a part of a measurement is started by.
const limitsPartName = "limits-part"

type limitsPartCommand struct {
	Role     string `arg:"" help:"What to be."`
	Settings string `arg:"" help:"JSON."`
}

// Run serves one role until standard input ends.
func (c *limitsPartCommand) Run(*environment) error {
	if err := limits.Serve(c.Role, c.Settings); err != nil {
		return errors.Join(errors.New("part of a measurement"), err)
	}
	return nil
}
