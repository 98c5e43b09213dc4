package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"rejoin/results"
)

// commandLine is every command and flag; kong reads it.
type commandLine struct {
	Results string `help:"Folder that holds the runs, one folder each." default:"results" placeholder:"DIR"`

	Run     runCommand     `cmd:"" help:"Run a scenario end to end: start nodes, drive load, kill nodes, verify every replica, draw, judge."`
	Verify  verifyCommand  `cmd:"" help:"Check a run's ledger once more against its nodes' data directories."`
	Report  reportCommand  `cmd:"" help:"Write a run's report.html and plots once more, from its folder."`
	Compare compareCommand `cmd:"" help:"Hold runs against runs: latency, throughput, recovery and cost, with tests that say what differs."`
	Ab      abCommand      `cmd:"" help:"Build another revision, run both in turn, and compare."`
	Versus  versusCommand  `cmd:"" help:"Run one scenario against several systems in turn, into one table and one page."`
	Search  searchCommand  `cmd:"" help:"Look for the highest rate at which latency and recovery after a kill keep within limits."`
	List    listCommand    `cmd:"" help:"List runs with verdict, size and age."`
	Export  exportCommand  `cmd:"" help:"Write a table of a run or a comparison as CSV or JSON."`
	Clean   cleanCommand   `cmd:"" help:"Remove runs, or only their nodes' data."`
	Dump    dumpCommand    `cmd:"" help:"Print a segment, ledger, interval log, profile, or file of JSON for a person."`
	Sim     simCommand     `cmd:"" help:"Simulate whole clusters from seeds, with faults, and check every promise after every step."`
	Goals   goalsCommand   `cmd:"" help:"Measure every goal of speed, as ratios on this machine, and write the table; goes on where it was interrupted."`
	Scaling scalingCommand `cmd:"" help:"Vary producers, batches, messages and nodes one at a time; tables and figures of rate and latency."`
	Limits  limitsCommand  `cmd:"" help:"Measure what this machine can do at most: synced writes, disk, loopback, checksum, HTTP, the bare commit by two of three."`
	Frame   frameCommand   `cmd:"" help:"Make a frame from lines of text, for curl."`
	Node    nodeCommand    `cmd:"" help:"Run one node of the replicated log."`
	Version versionCommand `cmd:"" help:"Print commit, state of the checkout and Go version."`

	LimitsPart limitsPartCommand `cmd:"" hidden:"" help:"A process of bench limits."`
}

const description = `Rejoin benchmarks replicated logs through kills and restarts, and proves that nothing acknowledged was lost.

Begin with

    bench run      three nodes, each killed once; about 80 s
    bench list     its verdict; open results/latest/report.html

Exit codes: 0 pass, 1 a demand of the scenario was missed, 2 usage, 3 loss, duplication, reordering or divergence, 4 stuck,
5 invalid (generator, machine or sample too weak to tell), 6 a comparison beyond its bound, 7 a simulation that met too little, 130 interrupted.`

// environment is what a command gets from main.
type environment struct {
	ctx     context.Context // done at the first SIGINT or SIGTERM
	out     io.Writer       // for people; unplain gives what is for programs
	errs    io.Writer
	results string
	args    []string
}

// exitError ends the program with a code of its own.
type exitError struct {
	code int
	err  error // nil: everything has been said already
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usage is a refusal of what the user asked for: exit code 2.
func usage(format string, args ...any) error {
	return &exitError{results.ExitUsage, fmt.Errorf(format, args...)}
}

func main() {
	ctx, stop := withSignals(context.Background())
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// withSignals makes the first SIGINT or SIGTERM end the context, and the second one the program.
func withSignals(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		if _, again := <-signals; again {
			os.Exit(results.ExitInterrupted) // child processes die with this one
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel()
	}
}

// run is main without the process: it returns the exit code.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	out, errs = &plainWriter{to: out}, &plainWriter{to: errs}
	var line commandLine
	exited := -1
	options := append(numberFlags(), kong.Name("bench"), kong.Description(description), kong.Writers(out, errs), kong.ValueFormatter(helpWithDefault),
		kong.Exit(func(code int) { exited = code }), kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 120}), kong.UsageOnError())
	parser, err := kong.New(&line, options...)
	if err != nil {
		panic("bench: command line is malformed: " + err.Error())
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	if exited >= 0 { // --help has printed
		return exited
	}
	if err != nil {
		fmt.Fprintf(errs, "bench: %v; bench --help shows commands, bench COMMAND --help its flags\n", err)
		return results.ExitUsage
	}
	err = parsed.Run(&environment{ctx: ctx, out: out, errs: errs, results: line.Results, args: args})
	return exitCode(err, errs)
}

func exitCode(err error, errs io.Writer) int {
	if err == nil {
		return 0
	}
	code := results.ExitUsage // a command that could not do its work
	var exit *exitError
	if errors.As(err, &exit) {
		code = exit.code
		err = exit.err
	}
	if err != nil {
		fmt.Fprintf(errs, "bench: %v\n", err)
	}
	return code
}
