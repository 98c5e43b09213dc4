package main

import (
	"bytes"
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"rejoin/loadgen/target/memory"
	"rejoin/results"
)

// quietSession is a run in a folder of its own that prints into a buffer.
func quietSession(t *testing.T, scenario string) (*session, *bytes.Buffer) {
	t.Helper()
	s, err := parseScenario("test.yaml", []byte(scenario))
	if err != nil {
		t.Fatal(err)
	}
	folder, err := results.Create(t.TempDir(), "memory", "test", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	return &session{command: &runCommand{}, scenario: s, folder: folder, say: newProgress(&out, false), loaded: true}, &out
}

// Trap 2: whatever takes the cores from the generator makes it late, and then the run is invalid and not a failure of the target, even if it
// missed a demand too.
func TestBurnedCoresMakeTheRunInvalid(t *testing.T) {
	if found := results.Probe(t.TempDir()); testing.Short() || found.Race {
		t.Skip("takes all cores for ten seconds, and many times that with the race detector")
	}
	ctx, stop := context.WithCancel(t.Context())
	var burners sync.WaitGroup
	for range 6 * runtime.GOMAXPROCS(0) { // in this process: its goroutines stand in one queue with the producers, whatever their priority
		burners.Go(func() {
			for ctx.Err() == nil {
			}
		})
	}
	code, out := bench(t, "--results", t.TempDir(), "run", memoryScenario(t, "demands: {primary_gap_max: 1ns}"))
	stop()
	burners.Wait()
	itself := strings.Contains(out, "because the generator itself was late: p9") || strings.Contains(out, "by the generator's own doing; ")
	if code != results.ExitInvalid || !itself {
		t.Errorf("exit code %d, want %d for lateness\n%s", code, results.ExitInvalid, out)
	}
}

// Trap 4: where the null target itself is the limit, the baseline is not reached, and the report names the generator.
func TestBaselineNotReachedNamesTheGenerator(t *testing.T) {
	r, _ := quietSession(t, "name: test\ntarget: memory\nproducers: 4\nbatch_messages: 10\nmessages_per_s: 2000\nduration: 1s\nwarmup: 0s")
	limited, err := r.measureBaseline(t.Context(), memory.New(memory.Options{Discard: true, Delay: 40 * time.Millisecond})) // 4 producers: 100 a second
	if err != nil {
		t.Fatal(err)
	}
	if limited.Batches != 800 || limited.AchievedShare > 0.6 || r.baselineReached(limited) {
		t.Fatalf("%+v, want 800 batches asked for and about a quarter of them within the time", limited)
	}
	r.proof.Baseline, limited.Tries = limited, 3
	r.judgeOffer(&results.Summary{})
	verdict, _ := r.judge.Verdict()
	if reasons := strings.Join(r.judge.Reasons(), "; "); verdict != results.Invalid || !strings.Contains(reasons, "the generator alone did not reach twice the rate") {
		t.Errorf("verdict %s: %s", verdict, reasons)
	}
	if c, _ := r.proof.Check("baseline_share"); c.Judgement != results.JudgedInvalid || c.Value == nil || *c.Value > 0.6 {
		t.Errorf("%+v", c)
	}

	free, err := r.measureBaseline(t.Context(), memory.New(memory.Options{Discard: true}))
	if err != nil {
		t.Fatal(err)
	}
	if free.AchievedShare < baselineShareMin {
		t.Errorf("the target without a limit: %+v", free)
	}
}

// Trap 37: a disk that became slow during the run makes it invalid, and the reason names the canary. One that was slow once does not.
func TestSlowSyncAfterTheRunIsInvalid(t *testing.T) {
	for _, test := range []struct {
		name    string
		after   []time.Duration // medians, measurement by measurement
		verdict results.Judgement
		tries   int
	}{
		{"as before", []time.Duration{200 * time.Microsecond}, results.JudgedOK, 1},
		{"slow for good", []time.Duration{5 * time.Millisecond, 6 * time.Millisecond, 5 * time.Millisecond}, results.JudgedInvalid, 3},
		{"slow once", []time.Duration{5 * time.Millisecond, 210 * time.Microsecond}, results.JudgedOK, 2},
		{"faster than before", []time.Duration{20 * time.Microsecond, 20 * time.Microsecond, 20 * time.Microsecond}, results.JudgedDoubtful, 3},
	} {
		r, _ := quietSession(t, "name: test\nduration: 1s\nwarmup: 0s")
		takes := append([]time.Duration{200 * time.Microsecond}, test.after...)
		r.canaries = []canary{{results.CanarySync, canaryChangeDefault, func(context.Context) (*results.Histogram, error) {
			h := results.NewHistogram()
			for range canarySamples {
				h.Record(int64(takes[0]))
			}
			takes = takes[1:]
			return h, nil
		}}}
		if err := r.canariesBefore(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := r.canariesAfter(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.judgeOffer(&results.Summary{})
		c, ok := r.proof.Check("canary_sync")
		if !ok || c.Judgement != test.verdict || r.proof.Canaries[0].After.Tries != test.tries {
			t.Errorf("%s: %+v after %d tries", test.name, c, r.proof.Canaries[0].After.Tries)
		}
		named := strings.Contains(strings.Join(r.judge.Reasons(), "; "), "the machine changed during the run: canary sync took 200")
		if named != (test.verdict == results.JudgedInvalid) {
			t.Errorf("%s: reasons %q", test.name, r.judge.Reasons())
		}
	}
}

// The real canaries measure something and leave nothing behind.
func TestCanaries(t *testing.T) {
	dir := t.TempDir()
	for _, c := range canariesIn(dir, canaryChangeDefault) {
		times, err := c.measure(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if times.Count() < 20 || *times.MinNs() <= 0 {
			t.Errorf("%s: %d samples from %d ns on", c.name, times.Count(), *times.MinNs())
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.measure(ctx); err == nil {
			t.Errorf("%s: measured although it was told to stop", c.name)
		}
	}
	if sum := treeBytes(dir); sum != 0 {
		t.Errorf("%d bytes are left in %s", sum, dir)
	}
}

// An invalid run says what to do; stolen time is named as the cause where there was some.
func TestWhyLate(t *testing.T) {
	r, s := goodSession(t, "{late_p99_max: 2ms}")
	*s.Generator.LateP99Ns = int64(30 * time.Millisecond)
	r.proof.Steal = &results.StealProof{Share: 0.1, WorstSecondShare: 0.4, StolenSeconds: 7, Seconds: 64, BusyShare: 0.5}
	r.proof.Lateness.UnstolenP99Ns = new(int64(time.Millisecond))
	r.judgeRun(s)
	reasons := strings.Join(r.judge.Reasons(), "; ")
	for _, want := range []string{"p99 30ms, its budget is 2ms", "in 7 of 64 seconds, 40 % in the worst; outside them p99 was 1ms", "when the host is quieter"} {
		if !strings.Contains(reasons, want) {
			t.Errorf("%q lacks %q", reasons, want)
		}
	}
	if c, _ := r.proof.Check("steal"); c.Judgement != results.JudgedDoubtful {
		t.Errorf("a tenth of the time stolen: %+v", c)
	}

	r, s = goodSession(t, "{late_p99_max: 2ms}")
	*s.Generator.LateP99Ns = int64(30 * time.Millisecond)
	r.proof.Steal = &results.StealProof{Seconds: 64, BusyShare: 0.9, OwnShare: new(0.3)}
	r.judgeRun(s)
	if reasons := strings.Join(r.judge.Reasons(), "; "); !strings.Contains(reasons, "which does not explain it; the cores were 90 % busy, 60 % with other programs: end other programs") {
		t.Error(reasons)
	}
}

func TestParseCPUTimes(t *testing.T) {
	before := parseCPUTimes("cpu  765656 79501 395951 887887 28841 0 46011 21488 0 0")
	after := parseCPUTimes("cpu  765756 79501 395951 888087 28841 0 46011 21588 50 0")
	d := after.since(before)
	if !d.known || d.total != 400 || *d.stealShare() != 0.25 || d.busyShare() != 0.25 {
		t.Errorf("%+v: want 100 user, 200 idle, 100 stolen of 400", d)
	}
	for _, bad := range []string{"", "cpu", "cpu 1 2 3 4 5 6 7", "cpu a b c d e f g h", "intr 1 2 3 4 5 6 7 8", "cpu 99999999999999999999 1 1 1 1 1 1 1"} {
		if got := parseCPUTimes(bad); got.known || got.stealShare() != nil {
			t.Errorf("%q was read as %+v", bad, got)
		}
	}
	if d := before.since(before); d.known {
		t.Error("no time passed, yet there are shares")
	}
	if now := readCPUTimes(); !now.known {
		t.Error("/proc/stat of this machine cannot be read")
	}
}
