package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// Exit codes.
const (
	exitFailed = 1 // no figure, or one that is not to be believed
	exitUsage  = 2
)

func main() {
	runtime.LockOSThread() // the kernel counts the death of the thread that started a node as this process's
	if len(os.Args) == 3 && os.Args[1] == nodeCommand {
		if err := serveNode(os.Args[2], os.Stdin, os.Stdout, digestOf); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(exitFailed)
		}
		return
	}
	ctx, end := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer end()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program without its process.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	o, err := parse(args, errs)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintf(errs, "hashicorp-raft: %v\n", err)
		return exitUsage
	}
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintf(errs, "hashicorp-raft: find this program: %v\n", err)
		return exitFailed
	}
	found, err := measure(ctx, self, o)
	if err == nil {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(found)
	}
	if err != nil {
		fmt.Fprintf(errs, "hashicorp-raft: %v\n", err)
		return exitFailed
	}
	return 0
}

// options say what is measured, and where.
type options struct {
	dir      string // a folder in it is made for the nodes and removed again; its file system is what is measured
	load     load
	overtime time.Duration // beyond the load, until all is given up
}

// Limits of what may be asked for.
const (
	frameBytesMin = 16
	frameBytesMax = 8 << 20
	producersMax  = 512 // half of what MaxAppendEntries may be
)

func parse(args []string, errs io.Writer) (options, error) {
	o := options{overtime: 2 * time.Minute}
	flags := flag.NewFlagSet("hashicorp-raft", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.StringVar(&o.dir, "dir", ".", "existing `folder`, in which one is made for the nodes' files and removed at the end")
	flags.IntVar(&o.load.FrameBytes, "frame", 26_928, "`bytes` of a batch")
	flags.IntVar(&o.load.Producers, "producers", 12, "`number` of goroutines that each apply one batch after the other")
	flags.DurationVar(&o.load.Warmup, "warmup", 2*time.Second, "`time` of load before the measured one")
	flags.DurationVar(&o.load.Duration, "duration", 10*time.Second, "measured `time`")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch l := o.load; {
	case flags.NArg() > 0:
		return o, fmt.Errorf("%q is no flag: see --help", flags.Arg(0))
	case l.FrameBytes < frameBytesMin || l.FrameBytes > frameBytesMax:
		return o, fmt.Errorf("--frame %d: pass %d to %d bytes", l.FrameBytes, frameBytesMin, frameBytesMax)
	case l.Producers < 1 || l.Producers > producersMax:
		return o, fmt.Errorf("--producers %d: pass 1 to %d", l.Producers, producersMax)
	case l.Warmup < 0 || l.Duration < 100*time.Millisecond:
		return o, fmt.Errorf("--warmup %v --duration %v: pass at least 0s and 100ms", l.Warmup, l.Duration)
	}
	return o, nil
}
