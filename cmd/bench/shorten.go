package main

import (
	"fmt"
	"strings"
	"time"
)

// setDuration changes the length of the load. A fault falls away when it, or its node's return, would lie behind the end: a node that
// comes back when nobody writes proves nothing. It tells what fell away.
func (s *Scenario) setDuration(d time.Duration) (leftOut []string) {
	shorter := d < time.Duration(s.Duration)
	s.fitSteps(d)
	s.Duration = duration(d)
	if s.Warmup >= s.Duration {
		s.Warmup = s.Duration / 10
		leftOut = append(leftOut, fmt.Sprintf("the scenario's warm-up; it lasts %v of a load of %v", s.Warmup, s.Duration))
	}
	if !shorter {
		return leftOut
	}
	var kept []Fault
	for i, f := range s.Faults {
		if f.endsAt() <= d && f.At.After < d {
			kept = append(kept, f)
			continue
		}
		leftOut = append(leftOut, fmt.Sprintf("fault %d (%s): it would end at %v, the load ends at %v", i+1, f, f.endsAt(), d))
	}
	s.Faults = kept
	return leftOut
}

// fitSteps cuts the steps of a changing load at its new end, or lets the last one go on.
func (s *Scenario) fitSteps(d time.Duration) {
	var kept []LoadStep
	begin := time.Duration(0)
	for i, step := range s.Load {
		length := time.Duration(step.For)
		rest := d - begin
		begin += length
		switch from, to := step.rates(); {
		case rest <= 0:
			continue
		case rest < length && step.MessagesPerS == nil: // a ramp ends where it has come to
			at := from + int(float64(to-from)*rest.Seconds()/length.Seconds())
			step.To = &at
			step.For = duration(rest)
		case rest < length:
			step.For = duration(rest)
		case i == len(s.Load)-1 && rest > length && step.MessagesPerS != nil:
			step.For = duration(rest)
		case i == len(s.Load)-1 && rest > length:
			kept = append(kept, step)
			step = LoadStep{For: duration(rest - length), MessagesPerS: &to}
		}
		kept = append(kept, step)
	}
	s.Load = kept
}

// endsAt is when the node comes back, since the start of the load; when the fault begins, if it never does.
func (f Fault) endsAt() time.Duration { return f.At.After + f.end().After }

func (f Fault) String() string {
	if f.At.Before {
		return fmt.Sprintf("%s %s before the load", f.verb(), f.node())
	}
	return fmt.Sprintf("%s %s at %v", f.verb(), f.node(), f.At.After)
}

// dropUnreachable zeroes the floors that the scenario, as flags have changed it, cannot reach, and tells which. Without that a short or
// slow run of a good log would end invalid.
func (s *Scenario) dropUnreachable() (leftOut []string) {
	d := &s.Demands
	reach := s.reach()
	for _, floor := range []struct {
		name  string
		want  int64
		meets bool
		clear func()
	}{
		{"killed_primaries_min", int64(d.KilledPrimariesMin), reach.primaries >= d.KilledPrimariesMin, func() { d.KilledPrimariesMin = 0 }},
		{"killed_backups_min", int64(d.KilledBackupsMin), reach.backups >= d.KilledBackupsMin, func() { d.KilledBackupsMin = 0 }},
		{"repair_ops_min", d.RepairOpsMin, reach.repairOps >= d.RepairOpsMin, func() { d.RepairOpsMin = 0 }},
		{"transfer_ops_min", d.TransferOpsMin, reach.transferOps >= d.TransferOpsMin, func() { d.TransferOpsMin = 0 }},
	} {
		if floor.want == 0 || floor.meets {
			continue
		}
		floor.clear()
		why := "what is left of the faults and the load does not reach it"
		if !s.kind().own && strings.HasSuffix(floor.name, "_ops_min") {
			why = "target " + s.Target + " " + s.kind().whyNoRepairs()
		}
		leftOut = append(leftOut, fmt.Sprintf("%s: %d: %s", floor.name, floor.want, why))
	}
	return leftOut
}

// reachable is what a scenario's kills can exercise at most.
type reachable struct {
	primaries, backups     int
	repairOps, transferOps int64 // after one kill
}

// ringOpsDefault is where a repair ends and a transfer begins when the scenario does not say.
const ringOpsDefault = 1024

func (s *Scenario) reach() reachable {
	var r reachable
	ring := int64(ringOpsDefault)
	if s.Cluster.RingOps > 0 {
		ring = int64(s.Cluster.RingOps)
	}
	for _, f := range s.Faults {
		if !f.ends() {
			continue
		}
		if f.node() != nodeBackup && f.node() != nodeFirst {
			r.primaries++
		}
		if f.node() != nodePrimary {
			r.backups++
		}
		if !s.kind().own || f.end().Never {
			continue
		}
		from := f.At.After
		if f.Wipe != "" {
			from = 0
		}
		if missed := int64(s.batchesOffered(from, f.endsAt())); missed > ring {
			r.transferOps = max(r.transferOps, missed)
		} else {
			r.repairOps = max(r.repairOps, missed)
		}
	}
	return r
}
