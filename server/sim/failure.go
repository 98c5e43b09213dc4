package sim

import (
	"fmt"
	"strings"
)

// Failure is a promise that did not hold. It is the error of Run.
type Failure struct {
	Seed     uint64
	Reduced  Reduction // what the run left out
	Switches []string  // mistakes that its replicas made
	Property string    // S1 to S9, P1 to P7, or what else was found
	Detail   string
	Step     uint64 // inputs that replicas had handled by then
	AtNs     int64  // virtual time
	Faults   uint64 // drawn by then, numbered from 1
	Script   string // that drove the run; "": its seed did
	Setup    string
	Lines    []string // the end of the trace
}

// Error is the whole story.
func (f *Failure) Error() string {
	return fmt.Sprintf("%s\n%s\n%s\n%s\nrepeat: %s", f.Summary(), f.Setup, Legend, strings.Join(f.Lines, "\n"), f.Command())
}

// Summary says what broke, and where.
func (f *Failure) Summary() string {
	run := fmt.Sprintf("seed %d", f.Seed)
	if f.Script != "" {
		run = "script " + f.Script
	}
	return fmt.Sprintf("%s: %s\n%s, step %d, %.6f s, after %d faults", f.Property, f.Detail, run, f.Step, float64(f.AtNs)/1e9, f.Faults)
}

// Command repeats the run, with every line of its trace.
func (f *Failure) Command() string {
	if f.Script != "" {
		return "go test ./server/sim -run TestScripts/" + f.Script
	}
	command := fmt.Sprintf("bench sim --seed %d%s", f.Seed, f.Reduced.Flags())
	for _, name := range f.Switches {
		command += " --switch " + name
	}
	return command + " --trace"
}
