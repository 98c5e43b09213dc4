// Package sample makes run folders for tests of pages: what a real run leaves, small, from a seed, with or without names that attack a page.
package sample

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"rejoin/results"
)

const (
	sec = int64(time.Second)
	ms  = int64(time.Millisecond)
)

// Options choose a run. The zero value is 70 s at 300 batches a second with three kills.
type Options struct {
	Seconds  int64 // of load
	BatchesS int64 // batches a second
	PollNs   int64 // between two polls of a node
	// Stall, if above 0, is the latency of one batch in the middle of the run, beside all others of some ms.
	Stall time.Duration
	// Name stands in every text that comes from outside: scenario, target, nodes' details, reasons, guarantee.
	Name string
	// Steady leaves out the kills.
	Steady bool
	// Factor multiplies all latencies; 0 is 1. Seed draws others.
	Factor float64
	Seed   uint64
	// After is how long after the first sample the run began.
	After time.Duration
	// Flame is the page of a flame graph for profiles/.
	Flame []byte
}

func (o Options) filled() Options {
	if o.Seconds == 0 {
		o.Seconds = 70
	}
	if o.BatchesS == 0 {
		o.BatchesS = 300
	}
	if o.PollNs == 0 {
		o.PollNs = 20 * ms
	}
	if o.Factor == 0 {
		o.Factor = 1
	}
	return o
}

func (o Options) started() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(o.After) }

// kills are those of this run.
func (o Options) kills() []kill {
	if o.Steady {
		return nil
	}
	return kills
}

// kill is one kill of the sample.
type kill struct {
	node                                int
	role                                string
	atNs, firstAckNs, restartNs, caught int64
}

var kills = []kill{
	{1, results.RoleBackup, 15 * sec, 15*sec + 3*ms, 17 * sec, 17*sec + 420*ms},
	{0, results.RolePrimary, 30 * sec, 30*sec + 640*ms, 34 * sec, 34*sec + 980*ms},
	{2, results.RoleBackup, 48 * sec, 48*sec + 2*ms, 58 * sec, 59*sec + 650*ms},
}

// Run makes a run folder under root.
func Run(root string, o Options) (results.Folder, error) {
	o = o.filled()
	f, err := results.Create(root, "builtin", "sample", o.started())
	if err != nil {
		return f, err
	}
	events := o.events()
	timeline := results.TimelineOf(events)
	set, err := f.WriteLatencies(o.started(), o.latencies(), timeline.PhaseAt)
	if err != nil {
		return f, err
	}
	run, summary := o.run(), o.summary(set)
	err = errors.Join(f.WriteRun(run), f.WriteSummary(summary), f.WriteProof(o.proof()), o.writeEvents(f, events), o.writeRates(f), o.writeStatus(f))
	if err == nil && o.Flame != nil {
		err = o.writeProfiles(f)
	}
	return f, err
}

func (o Options) run() results.Run {
	scenario, _ := json.Marshal(map[string]string{"name": "sample", "about": o.Name}) // strings always marshal
	return results.Run{Status: results.StatusFinished, StartedAt: o.started(),
		Asked: results.Asked{Target: "builtin" + o.Name, ScenarioName: "sample" + o.Name, Scenario: scenario, Guarantee: "synced on two of three replicas" + o.Name, Seed: 7,
			Nodes: 3, Producers: 12, BatchMessages: 100, PayloadBytes: 256, BatchesPerS: float64(o.BatchesS), WarmupNs: 5 * sec, LoadNs: o.Seconds * sec, BatchBudgetNs: 30 * sec,
			Arguments: []string{"run", "sample" + o.Name}, Profiling: results.Profiling{Mode: "cpu windows", CPUHz: 100, Words: "CPU at 100 Hz" + o.Name}},
		Found: results.Found{Cores: 2, GoMaxProcs: 2, CPU: "a processor" + o.Name, Kernel: "6.18", Arch: "amd64", DataDir: "/data" + o.Name, FileSystem: "ext4", GoVersion: "go1.26",
			MemoryBytes: new(int64(8 << 30)), Commit: "0123456789abcdef", Missing: []string{"disk" + o.Name}}}
}

func (o Options) events() []results.Event {
	h := func(tNs int64, kind results.Kind, node, role string) results.Event {
		return results.Event{TNs: tNs, Source: results.SourceHarness, Kind: kind, Node: node, Role: role}
	}
	events := []results.Event{h(0, results.KindRunStart, "", ""), h(0, results.KindLoadStart, "", ""), h(5*sec, results.KindWarmupEnd, "", "")}
	for _, k := range o.kills() {
		node := results.NodeName(k.node)
		events = append(events, h(k.atNs, results.KindKill, node, k.role), h(k.firstAckNs, results.KindFirstAck, node, ""),
			h(k.restartNs, results.KindRestart, node, ""), h(k.caught, results.KindCaughtUp, node, ""))
	}
	pair := func(node string, begin, end results.Kind, from, to, opFrom, opTo, bytes int64) {
		events = append(events, results.Event{TNs: from, Source: node, Kind: begin, OpFrom: &opFrom, OpTo: &opTo, Reason: "gap" + o.Name},
			results.Event{TNs: to, Source: node, Kind: end, OpFrom: &opFrom, OpTo: &opTo, Bytes: &bytes, DurationNs: new(to - from)})
	}
	if o.Steady {
		return append(events, h(o.Seconds*sec, results.KindLoadStop, "", ""))
	}
	pair("n1", results.KindRepairBegin, results.KindRepairEnd, 17*sec+80*ms, 17*sec+390*ms, 4500, 5120, 21_900_000)
	pair("n0", results.KindTransferBegin, results.KindTransferEnd, 34*sec+90*ms, 34*sec+820*ms, 9000, 10_190, 42_000_000)
	pair("n2", results.KindTransferBegin, results.KindTransferEnd, 58*sec+100*ms, 59*sec+500*ms, 14_400, 17_350, 104_000_000)
	events = append(events, results.Event{TNs: 30*sec + 600*ms, Source: "n1", Kind: results.KindViewChangeEnd, View: new(int64(1)), DurationNs: new(90 * ms)})
	if o.Name != "" {
		events = append(events, results.Event{TNs: 20 * sec, Source: o.Name, Kind: results.Kind(o.Name), Node: o.Name, Role: o.Name, Peer: o.Name, Reason: o.Name, Signal: o.Name, Detail: o.Name},
			results.Event{TNs: 21 * sec, Source: results.SourceHarness, Kind: results.KindKill, Node: o.Name, Role: o.Name})
	}
	return append(events, h(o.Seconds*sec, results.KindLoadStop, "", ""))
}

func (o Options) latencies() []results.Sample {
	r := rand.New(rand.NewPCG(7, o.Seed))
	samples := make([]results.Sample, 0, o.Seconds*o.BatchesS)
	for i := range o.Seconds * o.BatchesS {
		due := i * sec / o.BatchesS
		sent := due + 80_000 + r.Int64N(120_000)
		ack := sent + int64(o.Factor*float64(ms)*(1+r.ExpFloat64()))
		if i == o.Seconds*o.BatchesS/2 && o.Stall > 0 {
			ack = due + int64(o.Stall)
		}
		for _, k := range o.kills() {
			if k.role == results.RolePrimary && due >= k.atNs && due < k.firstAckNs {
				ack = max(ack, k.firstAckNs+r.Int64N(20*ms))
			}
		}
		samples = append(samples, results.Sample{DueNs: due, SentNs: sent, AckNs: ack})
	}
	return samples
}

func (o Options) writeEvents(f results.Folder, events []results.Event) error {
	w, err := f.AppendEvents()
	if err != nil {
		return err
	}
	for _, e := range events {
		err = errors.Join(err, w.Write(e))
	}
	return errors.Join(err, w.Close())
}

func (o Options) writeRates(f results.Folder) error {
	w, err := f.AppendRates()
	if err != nil {
		return err
	}
	for s := range o.Seconds {
		acked := o.BatchesS
		if s == 30 {
			acked = o.BatchesS / 3
		}
		err = errors.Join(err, w.Write(results.Rate{TNs: s * sec, OfferedBatches: o.BatchesS, SentBatches: o.BatchesS, AckedBatches: acked}))
	}
	return errors.Join(err, w.Close())
}

func (o Options) writeStatus(f results.Folder) error {
	w, err := f.AppendStatus()
	if err != nil {
		return err
	}
	names := []string{"n0", "n1", "n2"}
	if o.Name != "" {
		names = append(names, o.Name)
	}
	for t := int64(0); t < (o.Seconds+3)*sec; t += o.PollNs {
		for i, name := range names {
			err = errors.Join(err, w.Write(o.status(t, i, name)))
		}
	}
	return errors.Join(err, w.Close())
}

func (o Options) status(t int64, node int, name string) results.Status {
	s := results.Status{TNs: t, Node: name, Up: true, Role: results.RoleBackup, State: "normal"}
	if node == 0 && (o.Steady || t < kills[1].atNs) || node == 1 && !o.Steady && t >= kills[1].atNs {
		s.Role = results.RolePrimary
	}
	if node == 3 {
		s.Role, s.State = o.Name, o.Name
	}
	commit := min(t, o.Seconds*sec) * o.BatchesS / sec
	for _, k := range o.kills() {
		if k.node == node && t >= k.atNs && t < k.restartNs {
			return results.Status{TNs: t, Node: name}
		}
		if k.node == node && t >= k.restartNs && t < k.caught {
			commit -= (k.caught - t) * o.BatchesS / sec * 3
			s.State = "repairing"
		}
	}
	s.CommitOp, s.HeadOp = &commit, &commit
	return s
}

func (o Options) writeProfiles(f results.Folder) error {
	if err := os.WriteFile(filepath.Join(f.Profiles(), "n0-cpu-steady.html"), o.Flame, 0o644); err != nil {
		return err
	}
	return f.WriteProfileIndex([]results.ProfileEntry{
		{Source: "n0", Kind: "cpu", Phase: results.Steady, Role: "primary", Samples: 1234, SecondsCovered: 30, AckedBatches: 9000, AckedMessages: 900_000,
			File: new("n0-cpu-steady.pb.gz"), HTML: new("n0-cpu-steady.html"), Note: "a note" + o.Name},
		{Source: "n1", Kind: "cpu", Phase: results.Outage, Note: "7 samples, which say nothing"},
	})
}
