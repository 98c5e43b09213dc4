package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Fault is one timed fault. Exactly one of Kill, Stop, Restart and Wipe names the node; RestartAfter, or ContAfter for Stop, says after how
// long it comes back.
type Fault struct {
	At           faultTime `yaml:"at"`                // since the start of the load
	Kill         string    `yaml:"kill,omitempty"`    // SIGKILL
	Restart      string    `yaml:"restart,omitempty"` // SIGTERM: the node closes its files
	Wipe         string    `yaml:"wipe,omitempty"`    // SIGKILL, and its data directory is removed
	RestartAfter until     `yaml:"restart_after,omitempty"`
	Stop         string    `yaml:"stop,omitempty"` // SIGSTOP
	ContAfter    until     `yaml:"cont_after,omitempty"`
}

// Names of what a fault does.
const (
	faultKill    = "kill"
	faultStop    = "stop"
	faultRestart = "restart"
	faultWipe    = "wipe"
)

// Names that a fault resolves when its time comes.
const (
	nodePrimary  = "primary"
	nodeBackup   = "backup"   // the lowest-numbered backup that no fault has killed yet, else the lowest-numbered
	nodeUnkilled = "unkilled" // the lowest-numbered node that no fault has killed yet
	nodeFirst    = "first"    // the backup that producers ask first
)

// faultsMax bounds the schedule: each fault has a goroutine.
const faultsMax = 1000

// named are the things a fault is told to do; a valid one has one of them.
func (f Fault) named() (verbs []string) {
	for _, v := range []struct{ verb, node string }{{faultKill, f.Kill}, {faultStop, f.Stop}, {faultRestart, f.Restart}, {faultWipe, f.Wipe}} {
		if v.node != "" {
			verbs = append(verbs, v.verb)
		}
	}
	return verbs
}

// verb is what the fault does.
func (f Fault) verb() string {
	if verbs := f.named(); len(verbs) > 0 {
		return verbs[0]
	}
	return ""
}

func (f Fault) node() string { return f.Kill + f.Stop + f.Restart + f.Wipe }

// ends reports whether the fault ends the node's process.
func (f Fault) ends() bool { return f.Stop == "" }

// end is when the node comes back, since At; a fault before the load counts from its start.
func (f Fault) end() until {
	switch {
	case f.Stop != "":
		return f.ContAfter
	case f.Restart != "" && !f.RestartAfter.Given:
		return until{Given: true}
	}
	return f.RestartAfter
}

func (f Fault) validate(s Scenario) error {
	verbs := f.named()
	switch {
	case len(verbs) == 0:
		return errors.New("say one of kill, stop, restart or wipe, each with the name of a node")
	case len(verbs) > 1:
		return fmt.Errorf("%s are two faults; say one of kill, stop, restart or wipe", strings.Join(verbs, " and "))
	case f.ends() && f.ContAfter.Given:
		return refuseField("cont_after", "it goes with stop; say restart_after with %s", f.verb())
	case !f.ends() && f.RestartAfter.Given:
		return refuseField("restart_after", "it goes with kill, restart and wipe; say cont_after with stop")
	case !f.end().Given && f.ends():
		return fmt.Errorf("say restart_after with %s: a duration or never", f.verb())
	case !f.end().Given:
		return errors.New("say cont_after with stop: a duration or never")
	case f.Restart != "" && f.end().Never:
		return refuseField("restart_after", "a restart that never comes back is a kill; say a duration")
	case !f.At.Before && f.At.After >= time.Duration(s.Duration):
		return refuseField("at", "%v lies behind the load of %v", f.At.After, s.Duration)
	}
	if f.Wipe != "" && s.kind().ports == 0 {
		return refuseField(faultWipe, "target %s has no data directory", s.Target)
	}
	if f.Wipe != "" && s.Nodes < 3 {
		return refuseField(faultWipe, "with one node all that was acknowledged is gone; pass three or five nodes")
	}
	return within(f.verb(), f.validateNode(s))
}

func (f Fault) validateNode(s Scenario) error {
	switch name := f.node(); name {
	case nodePrimary, nodeBackup, nodeUnkilled:
		return nil
	case nodeFirst:
		if s.FirstAddress == "" {
			return errors.New("the node first needs first_address")
		}
		return nil
	default:
		_, err := nodeNumber(name, s.Nodes)
		return err
	}
}

// validateFaults checks each fault, and that none meets a node that another one still holds. Of roles that is not known beforehand: such a
// fault fails when its time comes, and the run is invalid.
func (s Scenario) validateFaults() error {
	if len(s.Faults) > faultsMax {
		return refuseField("faults", "%d faults; pass at most %d", len(s.Faults), faultsMax)
	}
	for i, f := range s.Faults {
		if err := f.validate(s); err != nil {
			return within(fmt.Sprintf("faults[%d]", i), err)
		}
	}
	for i, f := range s.Faults {
		for j, other := range s.Faults[:i] {
			if f.node() == other.node() && !isRole(f.node()) && f.overlaps(other) {
				return refuseField(fmt.Sprintf("faults[%d].%s", i, f.verb()), "%s is still under fault %d (%s) at that time; let it come back first", f.node(), j+1, other)
			}
		}
	}
	return nil
}

// isRole says that a name may mean another node each time.
func isRole(name string) bool {
	return slices.Contains([]string{nodePrimary, nodeBackup, nodeUnkilled}, name)
}

func (f Fault) overlaps(other Fault) bool {
	begin := func(f Fault) time.Duration {
		if f.At.Before {
			return -1
		}
		return f.At.After
	}
	end := func(f Fault) time.Duration {
		if f.end().Never {
			return 2 * scenarioTimeMax
		}
		return f.endsAt()
	}
	return begin(f) <= end(other) && begin(other) <= end(f)
}

func nodeNumber(name string, nodes int) (int, error) {
	digits, ok := strings.CutPrefix(name, "n")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 0 || n >= nodes || digits != strconv.Itoa(n) {
		return 0, fmt.Errorf("node %q: there are n0 to n%d, %s, %s, %s and %s", name, nodes-1, nodePrimary, nodeBackup, nodeUnkilled, nodeFirst)
	}
	return n, nil
}
