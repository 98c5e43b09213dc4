package compare

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"rejoin/results"
)

var testStart = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// synthetic makes runs whose metrics are known values times noise.
type synthetic struct {
	rand *rand.Rand
	made int
}

func newSynthetic(seed uint64) *synthetic { return &synthetic{rand: rand.New(rand.NewPCG(seed, 7))} }

// noise is exp of a normal deviate with that deviation.
func (g *synthetic) noise(deviation float64) float64 {
	return math.Exp(deviation * g.rand.NormFloat64())
}

// run is a run of scenario steady whose p50, p99 and CPU are those of a healthy cluster times factor, and noise.
func (g *synthetic) run(label string, factor, deviation float64) Run {
	g.made++
	ns := func(v float64) *int64 { return new(int64(v * factor * g.noise(deviation))) }
	name := fmt.Sprintf("%02d-%s", g.made, label)
	r := Run{Name: name, Dir: "/runs/" + name,
		Run: results.Run{Name: name, StartedAt: testStart.Add(time.Duration(g.made) * time.Minute),
			Asked: results.Asked{ScenarioName: "steady", Target: "builtin", Scenario: json.RawMessage(`{"name":"steady","duration":"20s"}`), Nodes: 3,
				Producers: 12, BatchMessages: 100, PayloadBytes: 256, MessagesPerS: 30_000},
			Found: results.Found{Cores: 4, CPU: "cpu", Kernel: "6.1", Arch: "amd64", FileSystem: "ext4", GoVersion: "go1.26", Commit: "c0ffee" + label}},
		Summary: results.Summary{Verdict: results.Pass, OfferedBatches: 4500, AckedBatches: 4500, BatchesPerS: 300,
			LatencyNs: map[string]results.Quantiles{"steady": {P50: ns(860_000), P90: ns(1_200_000), P99: ns(1_900_000), Max: ns(4e6), Count: 4500}},
			Cost:      results.Cost{NodesCPUNs: ns(9e9), AckedMessages: 450_000}},
	}
	return r
}

// kill adds a kill of the primary with a gap and a return.
func (g *synthetic) kill(r *Run, gapMs, caughtUpMs float64) {
	r.Run.Asked.Faults = append(r.Run.Asked.Faults, results.AskedFault{Kind: "kill"})
	r.Summary.Kills = append(r.Summary.Kills, results.KillSummary{Node: "n0", Role: results.RolePrimary, DownMs: new(1500.0),
		GapWithoutAckMs: gapMs * g.noise(0.05), FirstAckMs: &gapMs, CaughtUpMs: new(caughtUpMs * g.noise(0.05))})
}

// pairs makes n interleaved pairs in the order ABBA; each pair shares a noise of the machine.
func (g *synthetic) pairs(n int, factor float64) Options {
	o := Options{Paired: true, LabelA: "old", LabelB: "new"}
	for i := range n {
		machine := g.noise(0.04)
		a := func() { o.A = append(o.A, g.run("A", machine, 0.025)) }
		b := func() { o.B = append(o.B, g.run("B", machine*factor, 0.025)) }
		if i%2 == 0 {
			a()
			b()
		} else {
			b()
			a()
		}
	}
	return o
}

func mustCompare(t *testing.T, o Options) Comparison {
	t.Helper()
	c, err := Compare(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func metricOf(t *testing.T, c Comparison, name string) Metric {
	t.Helper()
	for _, m := range c.Metrics {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("the comparison has no metric %s", name)
	return Metric{}
}
