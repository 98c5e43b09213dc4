package results

import (
	"path/filepath"
	"testing"
)

// TestLimitShares: each figure meets its own limit, by the mean of before and after; what is missing on one side is left out.
func TestLimitShares(t *testing.T) {
	limit := func(moment string, rate float64) Limits {
		return Limits{Moment: moment, Shapes: []ShapeLimit{
			{Producers: 12, AskedBatchesPerS: 0, BatchesPerS: rate, LatencyNs: Quantiles{P50: new(int64(1000)), Count: 30}, PrimaryCPUNsPerBatch: 80},
			{Producers: 12, AskedBatchesPerS: 300, BatchesPerS: 300, LatencyNs: Quantiles{P50: new(int64(500))}}},
			Disk: DiskLimit{WriteBytesPerS: 1e6, ReadBytesPerS: 4e6}, Loopback: LoopbackLimit{BytesPerS: 2e6, SendfileBytesPerS: 5e6}}
	}
	file := LimitsFile{Measurements: []Limits{limit(MomentBefore, 1000), limit(MomentAfter, 3000)}}
	run := Run{Asked: Asked{Producers: 12}}
	s := Summary{BatchesPerS: 1500, FrameBytes: 100, LatencyNs: map[string]Quantiles{string(Steady): {P50: new(int64(1500)), P99: new(int64(9000))}},
		Cost:         Cost{Roles: []RoleCost{{Role: RolePrimary, CPUNsPerBatch: new(120.0)}}},
		Kills:        []KillSummary{{Node: "n1", TransferBytes: 500_000, TransferMs: new(1000.0)}},
		Verification: []VerifyRound{{Ok: true, VerifiedBatches: 10_000, DurationMs: 1000}, {Ok: false, VerifiedBatches: 90_000, DurationMs: 1000}}}
	ratios := map[string]float64{}
	for _, share := range LimitShares(file, run, s) {
		ratios[share.Figure] = share.Ratio
		if share.Before == nil || share.After == nil {
			t.Errorf("%s lacks one of its limits", share.Figure)
		}
	}
	want := map[string]float64{"batches acknowledged": 0.75, "latency, steady, p50": 1.5, "CPU time of a batch, primary": 1.5, "transfer after kill 1 (n1)": 0.5,
		"reading back and verifying one replica, the fastest time": 0.2}
	for name, ratio := range want {
		if ratios[name] != ratio {
			t.Errorf("%s: %v, want %v", name, ratios[name], ratio)
		}
	}
	if len(ratios) != len(want) {
		t.Errorf("shares %v", ratios)
	}
	run.Asked.BatchesPerS = 300
	for _, share := range LimitShares(file, run, s) {
		if share.Figure == "batches acknowledged" || share.Figure == "latency, steady, p50" && share.Ratio != 3 {
			t.Errorf("at a rate: %+v", share)
		}
	}
	if shares := LimitShares(LimitsFile{}, run, s); len(shares) != 0 {
		t.Errorf("shares of nothing: %+v", shares)
	}
}

func TestLimitsRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "limits.json")
	if err := WriteLimits(path, []Limits{{Moment: MomentAlone, FrameBytes: 7}}); err != nil {
		t.Fatal(err)
	}
	read, err := ReadLimits(path)
	if err != nil || read.SchemaVersion != SchemaVersion || read.Measurements[0].FrameBytes != 7 {
		t.Errorf("%+v, error %v", read, err)
	}
	if err := WriteJSON(path, LimitsFile{SchemaVersion: SchemaVersion + 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadLimits(path); err == nil {
		t.Error("a schema of the future was read")
	}
}
