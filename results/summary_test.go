package results

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// Trap 39: one exit code for each verdict; TestUsage, TestPlantedFaultsDecideTheExitCode and TestInterruptedRun in cmd/bench have them from the
// command's end, results/compare that of a regression.
func TestJudge(t *testing.T) {
	type add func(*Judge)
	loss := func(j *Judge) { j.Loss("loss") }
	stuck := func(j *Judge) { j.Stuck("stuck") }
	invalid := func(j *Judge) { j.Invalid("invalid") }
	missed := func(j *Judge) { j.Missed("missed") }
	interrupt := func(j *Judge) { j.Interrupt("interrupt") }
	for _, c := range []struct {
		name    string
		adds    []add
		verdict Verdict
		code    int
		reasons string
	}{
		{"nothing", nil, Pass, 0, ""},
		{"missed", []add{missed}, Fail, 1, "missed"},
		{"loss", []add{loss}, Fail, 3, "loss"},
		{"stuck", []add{stuck}, Stuck, 4, "stuck"},
		{"invalid", []add{invalid}, Invalid, 5, "invalid"},
		{"interrupted", []add{interrupt}, Interrupted, 130, "interrupt"},
		{"all but interrupt", []add{missed, invalid, stuck, loss}, Fail, 3, "loss stuck invalid missed"},
		{"no loss", []add{missed, invalid, stuck}, Stuck, 4, "stuck invalid missed"},
		{"invalid over missed", []add{missed, invalid}, Invalid, 5, "invalid missed"},
		{"interrupt over all", []add{loss, interrupt, missed}, Interrupted, 130, "interrupt loss missed"},
		{"order within a kind", []add{missed, stuck, missed}, Stuck, 4, "stuck missed missed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var j Judge
			j.Verified()
			for _, a := range c.adds {
				a(&j)
			}
			var s Summary
			j.Conclude(&s)
			if s.Verdict != c.verdict || s.ExitCode != c.code || strings.Join(s.Reasons, " ") != c.reasons {
				t.Errorf("got %s, %d, %q; want %s, %d, %q", s.Verdict, s.ExitCode, s.Reasons, c.verdict, c.code, c.reasons)
			}
		})
	}
}

func TestUnverifiedIsNeverAPass(t *testing.T) {
	var j Judge
	if v, code := j.Verdict(); v != Invalid || code != ExitInvalid {
		t.Errorf("silent judge says %s, %d", v, code)
	}
	j.Missed("slow")
	if v, code := j.Verdict(); v != Invalid || code != ExitInvalid {
		t.Errorf("unverified and slow: %s, %d; invalid decides over missed", v, code)
	}
}

// Traps 7, 8, 12 and 26: an overflow, books that do not balance, a negative duration and a run without an acknowledgement are no pass.
func TestSummaryCheck(t *testing.T) {
	good := Summary{OfferedBatches: 10, AckedBatches: 8, UnknownBatches: 1, FailedBatches: 1}
	for _, c := range []struct {
		name string
		edit func(*Summary)
		code int
	}{
		{"good", func(*Summary) {}, ExitPass},
		{"lost", func(s *Summary) { s.LostBatches = 1 }, ExitLoss},
		{"duplicated", func(s *Summary) { s.DuplicatedBatches = 1 }, ExitLoss},
		{"reordered", func(s *Summary) { s.ReorderedBatches = 1 }, ExitLoss},
		{"corrupted", func(s *Summary) { s.CorruptedBatches = 1 }, ExitLoss},
		{"foreign", func(s *Summary) { s.ForeignBatches = 1 }, ExitLoss},
		{"gap", func(s *Summary) { s.GapBatches = 1 }, ExitLoss},
		{"diverged", func(s *Summary) { s.DivergedReplicas = []string{"n1"} }, ExitLoss},
		{"unreadable since it was killed from outside", func(s *Summary) {
			s.Replicas = []ReplicaSummary{{Node: "n2", UnreadableReason: "timeout", EndedFromOutside: "SIGKILL"}}
		}, ExitPass},
		{"unreadable", func(s *Summary) { s.Replicas = []ReplicaSummary{{Node: "n2", UnreadableReason: "timeout"}} }, ExitStuck},
		{"unbalanced", func(s *Summary) { s.OfferedBatches++ }, ExitInvalid},
		{"nothing acked", func(s *Summary) { *s = Summary{OfferedBatches: 1, UnknownBatches: 1} }, ExitInvalid},
		{"overflow", func(s *Summary) { s.Histogram.OverflowCount = 1 }, ExitInvalid},
		{"negative", func(s *Summary) { s.Histogram.NegativeCount = 1 }, ExitInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := good
			c.edit(&s)
			var j Judge
			j.Verified()
			s.Check(&j)
			if _, code := j.Verdict(); code != c.code {
				t.Errorf("exit %d, want %d; %v", code, c.code, j.Reasons())
			}
		})
	}
}

// TestSummaryFields holds the names that checks outside the project read.
func TestSummaryFields(t *testing.T) {
	f := newRun(t, t.TempDir(), "quick", testNow)
	h := NewHistogram()
	for range 50 {
		h.Record(1_000_001)
	}
	s := Summary{Verdict: Pass, Replicas: []ReplicaSummary{{Node: "n0"}}, Kills: []KillSummary{{Node: "n0", Role: RolePrimary}},
		LatencyNs: map[string]Quantiles{"steady": h.Quantiles(), Overall: NewHistogram().Quantiles()}}
	if err := f.WriteSummary(s); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(f.SummaryFile())
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(`schema_version verdict reasons offered_batches acked_batches unknown_batches failed_batches
		lost_batches duplicated_batches diverged_replicas replicas.0.verified_batches replicas.0.caught_up_ms kills.0.node kills.0.role
		kills.0.at_ms kills.0.down_ms kills.0.gap_without_ack_ms kills.0.caught_up_ms kills.0.repairs kills.0.transfers
		kills.0.transfer_bytes latency_ns.steady.p50 latency_ns.steady.p90 latency_ns.steady.p99 latency_ns.steady.p999
		latency_ns.steady.max latency_ns.steady.count latency_ns.overall.p50 repairs transfers view_changes
		generator.late_p99_ns generator.cpu_share batches_per_s frame_bytes`) {
		if _, ok := dig(m, path); !ok {
			t.Errorf("summary.json lacks %s", path)
		}
	}
	for path, want := range map[string]any{
		"latency_ns.steady.p50": 1_000_001.0, "latency_ns.steady.p90": nil, "latency_ns.steady.max": 1_000_001.0, "latency_ns.overall.max": nil,
		"replicas.0.caught_up_ms": nil, "kills.0.gap_without_ack_ms": 0.0, "generator.cpu_share": nil, "latency_ns.steady.count": 50.0,
	} {
		if got, _ := dig(m, path); got != want {
			t.Errorf("%s = %v, want %v", path, got, want)
		}
	}
	if got, ok := m["diverged_replicas"].([]any); !ok || len(got) != 0 {
		t.Errorf("diverged_replicas = %v, want an empty list", m["diverged_replicas"])
	}
	if back, err := f.ReadSummary(); err != nil || back.SchemaVersion != SchemaVersion || !slices.Equal(back.Reasons, []string{}) {
		t.Errorf("read back %+v, %v", back, err)
	}
}

func dig(v any, path string) (any, bool) {
	for _, key := range strings.Split(path, ".") {
		switch at := v.(type) {
		case map[string]any:
			var ok bool
			if v, ok = at[key]; !ok {
				return nil, false
			}
		case []any:
			v = at[0]
		default:
			return nil, false
		}
	}
	return v, true
}
