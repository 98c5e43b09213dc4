package goals

import (
	"strings"
	"testing"
	"time"

	"rejoin/results"
)

// sample is a run of 3 s beside a shape.
func sample(n int, rate, shape float64) Sample {
	return Sample{Series: SeriesBurst, Number: n, Shape: &results.ShapeLimit{BatchesPerS: shape, PrimaryCPUNsPerBatch: 100},
		Summary: results.Summary{Verdict: results.Pass, BatchesPerS: rate, Cost: results.Cost{Roles: []results.RoleCost{{Role: results.RolePrimary, CPUNsPerBatch: new(150.0), ZeroedBytesPerBatch: new(0.0)},
			{Role: results.RoleBackup, ZeroedBytesPerBatch: new(0.0)}}}}}
}

func rowNamed(t *testing.T, figure string) Row {
	t.Helper()
	for _, r := range Rows() {
		if strings.HasPrefix(r.Figure, figure) {
			return r
		}
	}
	t.Fatalf("there is no row %q", figure)
	return Row{}
}

// TestJudge: the median of the ratios is held against goal and floor, in the row's own direction.
func TestJudge(t *testing.T) {
	row := rowNamed(t, "saturated batches/s to the shape, burst")
	for _, test := range []struct {
		rates  []float64 // of a shape of 1,000
		status Status
	}{{[]float64{100, 950, 910}, Met}, {[]float64{700, 650, 2000}, FloorHeld}, {[]float64{500, 590, 2000}, BelowFloor}, {nil, NoData}} {
		var samples []Sample
		for i, rate := range test.rates {
			samples = append(samples, sample(i+1, rate, 1000))
		}
		if o := Judge(row, samples); o.Status != test.status || o.N != len(test.rates) {
			t.Errorf("%v: %+v, want %s", test.rates, o, test.status)
		}
	}
	cpu := rowNamed(t, "CPU per batch at saturation, primary")
	if o := Judge(cpu, []Sample{sample(1, 1, 1)}); o.Status != FloorHeld || *o.Value != 1.5 {
		t.Errorf("1.5 times the CPU of the shape: %+v", o)
	}
}

// TestBurstWithoutZeros: a run whose nodes made zeros meanwhile, or did not tell, is no burst in segments made before.
func TestBurstWithoutZeros(t *testing.T) {
	row := rowNamed(t, "saturated batches/s to the shape, burst")
	zeros, untold := sample(1, 900, 1000), sample(2, 900, 1000)
	zeros.Summary.Cost.Roles[1].ZeroedBytesPerBatch = new(1.0)
	untold.Summary.Cost.Roles[0].ZeroedBytesPerBatch = nil
	if o := Judge(row, []Sample{zeros, untold}); o.Status != NoData || !strings.Contains(o.Why, "made no zeros") {
		t.Errorf("%+v", o)
	}
	if o := Judge(row, []Sample{zeros, sample(3, 910, 1000)}); o.N != 1 || o.Status != Met {
		t.Errorf("%+v", o)
	}
}

// TestDeviceBytes: zeros of all three nodes are taken off, and a machine that cannot tell says why.
func TestDeviceBytes(t *testing.T) {
	row := rowNamed(t, "device bytes")
	s := Sample{Series: SeriesSteady, Summary: results.Summary{Verdict: results.Pass, Cost: results.Cost{AckedMessages: 1000, DeviceWrittenBytes: new(int64(3*256*1000*2 + 300)),
		Roles: []results.RoleCost{{Role: results.RolePrimary, Batches: 10, ZeroedBytesPerBatch: new(10.0)}, {Role: results.RoleBackup, Batches: 20, ZeroedBytesPerBatch: new(10.0)}}}}}
	if o := Judge(row, []Sample{s}); o.Status != FloorHeld || *o.Value != 2 {
		t.Errorf("%+v", o)
	}
	s.Summary.Cost.DeviceWrittenBytes, s.Summary.Cost.DeviceUnknown = nil, "no device"
	if o := Judge(row, []Sample{s}); o.Status != NoData || !strings.Contains(o.Why, "no device") {
		t.Errorf("%+v", o)
	}
}

// TestNearOne: within 15 % of 1 ten pairs are enough whose interval reaches the edge with its better end; fewer, or an interval beyond it, are not.
func TestNearOne(t *testing.T) {
	low := Row{Goal: 1.15, Floor: 1.6, Ratio: true, LowerIsBetter: true}
	high := Row{Goal: 0.90, Floor: 0.60, Ratio: true}
	for _, test := range []struct {
		row           Row
		value, lo, hi float64
		n             int
		status        Status
	}{
		{low, 1.2, 1.1, 1.3, 10, Met},
		{low, 1.2, 1.1, 1.3, 9, FloorHeld},
		{low, 1.2, 1.16, 1.3, 10, FloorHeld},
		{low, 1.7, 1.1, 2.3, 10, BelowFloor},
		{high, 0.88, 0.872, 0.888, 10, Met}, // all of it is better than the edge, 0.8696
		{high, 0.82, 0.70, 0.95, 10, Met},
		{high, 0.82, 0.70, 0.86, 10, FloorHeld},
		{high, 0.55, 0.40, 0.95, 10, BelowFloor},
		{Row{Goal: 1.15, Floor: 1.6, Unit: "ms", LowerIsBetter: true}, 1.2, 1.1, 1.3, 10, FloorHeld},
		{Row{Goal: 1.3, Floor: 2.5, Ratio: true, LowerIsBetter: true}, 1.4, 1.1, 1.5, 10, FloorHeld}, // a goal far from 1
	} {
		if got := test.row.status(test.value, &test.lo, &test.hi, test.n); got != test.status {
			t.Errorf("%+v: %s", test, got)
		}
	}
}

// TestNearOneHasAnOrder: with everything better by the same factor, the status is never worse.
func TestNearOneHasAnOrder(t *testing.T) {
	rank := map[Status]int{BelowFloor: 0, FloorHeld: 1, Met: 2}
	for _, row := range []Row{{Goal: 0.90, Floor: 0.60, Ratio: true}, {Goal: 1.15, Floor: 1.6, Ratio: true, LowerIsBetter: true}} {
		before := 0
		for step := range 200 {
			value := 0.4 + float64(step)*0.01
			if row.LowerIsBetter {
				value = 2.4 - float64(step)*0.01
			}
			status := row.status(value, new(value*0.99), new(value*1.01), nearPairs)
			if rank[status] < before {
				t.Fatalf("%+v: %v is %s and a worse one was better", row, value, status)
			}
			before = rank[status]
		}
		if before != rank[Met] {
			t.Errorf("%+v is never met", row)
		}
	}
}

// TestWorstAndDoubts: the longest of all kills counts where the row says so, and runs that did not pass are named.
func TestWorstAndDoubts(t *testing.T) {
	s := Sample{Series: SeriesPrimary, Summary: results.Summary{Verdict: results.Fail, Reasons: []string{"late"},
		Kills: []results.KillSummary{{FirstAckMs: new(300.0)}, {FirstAckMs: new(1500.0)}, {FirstAckMs: nil}, {FirstAckMs: new(200.0)}}}}
	o := Judge(rowNamed(t, "kill of the primary to the first acknowledgement, longest"), []Sample{s})
	if o.Status != FloorHeld || *o.Value != 1500 || o.N != 3 || !strings.Contains(o.Why, "1 of 1 runs did not pass: late") {
		t.Errorf("%+v", o)
	}
	if o := Judge(rowNamed(t, "kill of the primary to the first acknowledgement, median"), []Sample{s}); o.Status != Met || *o.Value != 300 {
		t.Errorf("%+v", o)
	}
	beside := Sample{Series: SeriesMany, Summary: results.Summary{Verdict: results.Pass, BatchesPerS: 900},
		Against: &results.Summary{Verdict: results.Fail, Reasons: []string{"strangers"}, BatchesPerS: 1000}}
	if o := Judge(rowNamed(t, "total throughput, 16 partitions to 1"), []Sample{beside}); *o.Value != 0.9 || !strings.Contains(o.Why, "1 of 2 runs did not pass: strangers") {
		t.Errorf("%+v", o)
	}
}

// TestNoEvidence: a run that proves nothing gives no value, on either side of a comparison, and the row says so.
func TestNoEvidence(t *testing.T) {
	row := rowNamed(t, "saturated batches/s to the shape, sustained")
	good, bad := sample(1, 900, 1000), sample(2, 100, 1000)
	bad.Summary.Verdict, bad.Summary.Reasons = results.Invalid, []string{"the disk was full"}
	if o := Judge(row, []Sample{good, bad}); o.N != 1 || *o.Value != 0.9 || !strings.Contains(o.Why, "1 of 2 samples do not count, the first of them is invalid: the disk was full") {
		t.Errorf("%+v", o)
	}
	if o := Judge(row, []Sample{bad}); o.Status != NoData || o.Value != nil || o.Why != "1 of 1 samples do not count, the first of them is invalid: the disk was full; --again sustained measures anew" {
		t.Errorf("%+v", o)
	}
	for _, verdict := range []results.Verdict{results.Interrupted, "splendid", ""} {
		bad.Summary.Verdict = verdict
		if o := Judge(row, []Sample{bad}); o.Status != NoData || !strings.Contains(o.Why, "1 of 1 samples do not count") {
			t.Errorf("verdict %q: %+v", verdict, o)
		}
	}
	beside := Sample{Summary: results.Summary{Verdict: results.Pass, BatchesPerS: 900}, Against: &results.Summary{Verdict: results.Invalid, BatchesPerS: 1000}}
	if o := Judge(rowNamed(t, "total throughput, 16 partitions to 1"), []Sample{beside}); o.Status != NoData {
		t.Errorf("%+v", o)
	}
}

// TestFalseElections: no election in a minute is not none in half an hour, so the row says how long was counted.
func TestFalseElections(t *testing.T) {
	s := Sample{Series: SeriesElections, Summary: results.Summary{Verdict: results.Pass, MeasuredNs: int64(30 * time.Minute)}}
	if o := Judge(rowNamed(t, "false elections"), []Sample{s}); o.Status != Met || *o.Value != 0 || o.Why != "in 30m0s of saturated load" {
		t.Errorf("%+v", o)
	}
}

// TestSilenceAfterABackup: a silence that begins after the next acknowledgement, which is there a few milliseconds after the kill of a backup, counts.
func TestSilenceAfterABackup(t *testing.T) {
	s := Sample{Series: SeriesBackup, Summary: results.Summary{Verdict: results.Pass, Kills: []results.KillSummary{
		{Role: results.RoleBackup, AtMs: 3000, FirstAckMs: new(3.0), GapWithoutAckMs: 12, GapAtMs: new(2998.0)},
		{Role: results.RoleBackup, AtMs: 8000, FirstAckMs: new(3.0), GapWithoutAckMs: 2000, GapAtMs: new(8005.0)}}}}
	if o := Judge(rowNamed(t, "kill of a backup"), []Sample{s}); o.Value == nil || *o.Value != 2000 || o.N != 2 || o.Status != BelowFloor {
		t.Errorf("%+v", o)
	}
}

// TestRowsAreWhole: each row is measured by a series that exists, and its goal is no worse than its floor.
func TestRowsAreWhole(t *testing.T) {
	series := map[string]bool{}
	for _, s := range AllSeries(Plan{Elections: time.Minute, LogBytes: 2 << 30}) {
		series[s.Name] = true
	}
	for _, r := range Rows() {
		if !series[r.Series] || r.Values == nil {
			t.Errorf("%s: series %q", r.Figure, r.Series)
		}
		if r.Ratio && r.Unit != "" || !r.Ratio && strings.HasSuffix(r.Figure, "to the shape") {
			t.Errorf("%s: ratio %v with unit %q", r.Figure, r.Ratio, r.Unit)
		}
		if r.LowerIsBetter && r.Goal > r.Floor || !r.LowerIsBetter && r.Goal < r.Floor {
			t.Errorf("%s: goal %v, floor %v", r.Figure, r.Goal, r.Floor)
		}
	}
}

// TestLargeLog: the length follows the free space, its steps hold the frames, and windows of both stretches are compared.
func TestLargeLog(t *testing.T) {
	for free, want := range map[int64]int64{2 << 30: 0, 30 << 30: 10 << 30, 900 << 30: 20 << 30} {
		if got := LogBytes(free); got != want {
			t.Errorf("%d free: %d, want %d", free, got, want)
		}
	}
	const bytes = 20 << 30
	fill, pause, large, end := logTimes(bytes)
	if filled := (pause - fill).Seconds() * logFillPerS / logBatchMessages * logFrameBytes; filled < bytes*0.99 || filled > bytes*1.01 {
		t.Errorf("%v fill %v bytes", pause-fill, filled)
	}
	window := func(from time.Duration, p50 int64) results.Window {
		return results.Window{FromNs: int64(from), ToNs: int64(from + WindowWidth), QuantileNs: []*int64{&p50}}
	}
	s := Sample{LogBytes: bytes, LoadStart: time.Second, Summary: results.Summary{Verdict: results.Pass}}
	s.Windows = []results.Window{window(0, 9e9), window(2*time.Second, 6e9), window(12*time.Second, 1e6), window(s.LoadStart+fill+time.Second, 8e9),
		window(s.LoadStart+large, 2e6), window(s.LoadStart+end-time.Second, 7e9)}
	if got := largeToEmpty(s); len(got) != 1 || got[0] != 2 {
		t.Errorf("%v", got)
	}
	s.Windows = s.Windows[:3]
	if got := largeToEmpty(s); got != nil {
		t.Errorf("%v without a large log", got)
	}
	s.Summary.Kills = []results.KillSummary{{CaughtUpMs: new(500.0)}, {CaughtUpMs: new(1500.0)}}
	s.Summary.Replicas = []results.ReplicaSummary{{DataBytes: new(int64(bytes))}}
	if o := Judge(rowNamed(t, "boot of one node"), []Sample{s}); *o.Value != 1.5 || !strings.Contains(o.Why, "20.0 GiB") {
		t.Errorf("%+v", o)
	}
}

// TestBudget: with five samples of each series all of them fit.
func TestBudget(t *testing.T) {
	const samples = 5
	sum := time.Duration(0)
	for _, s := range AllSeries(Plan{Elections: 30 * time.Minute, LogBytes: LogBytes(1 << 40)}) {
		n := s.Pairs
		if n == 0 {
			n = samples
		}
		if sum += time.Duration(n) * s.Took; s.Took <= 0 {
			t.Errorf("%s has no budget", s.Name)
		}
	}
	if sum > Budget {
		t.Errorf("all series take %v", sum)
	}
}

func TestValues(t *testing.T) {
	s := Sample{Disk: &results.DiskLimit{ReadBytesPerS: 4e6, WriteBytesPerS: 1e6}, Loopback: &results.LoopbackLimit{BytesPerS: 2e6, SendfileBytesPerS: 5e6},
		Summary: results.Summary{FrameBytes: 300,
			Kills:        []results.KillSummary{{TransferBytes: 500_000, TransferMs: new(1000.0)}, {}},
			Verification: []results.VerifyRound{{Name: "alone", Ok: true, VerifiedBatches: 10_000, DurationMs: 1000}, {Name: "live", Ok: true, VerifiedBatches: 1, DurationMs: 1}, {Name: "offline", Ok: true, VerifiedBatches: 1, DurationMs: 1}}}}
	if got := catchUp(s); len(got) != 1 || got[0] != 0.5 {
		t.Errorf("catch-up %v", got)
	}
	if got := readBack(s); len(got) != 1 || got[0] != 0.6 {
		t.Errorf("reading back %v", got)
	}
	if catchUp(Sample{}) != nil || readBack(Sample{}) != nil {
		t.Error("figures of nothing")
	}
}

// TestCPUOfAllNodes: a role of either side of which nothing is known makes no sum.
func TestCPUOfAllNodes(t *testing.T) {
	row := rowNamed(t, "CPU per batch at 30,000")
	for _, test := range []struct {
		primary, backup, shapeBackup *float64
		want                         *float64
	}{
		{new(150.0), new(100.0), new(75.0), new(1.4)},
		{nil, new(100.0), new(75.0), nil},
		{new(150.0), nil, new(75.0), nil},
		{new(150.0), new(100.0), nil, nil},
	} {
		s := sample(1, 1, 1)
		s.Shape.BackupCPUNsPerBatch = test.shapeBackup
		s.Summary.Cost.Roles[0].CPUNsPerBatch, s.Summary.Cost.Roles[1].CPUNsPerBatch = test.primary, test.backup
		if o := Judge(row, []Sample{s}); (o.Value == nil) != (test.want == nil) || test.want != nil && *o.Value != *test.want {
			t.Errorf("%+v", o)
		}
	}
}

// TestFolder: samples come back in order, and are forgotten by series.
func TestFolder(t *testing.T) {
	f := Folder{t.TempDir()}
	for _, n := range []int{2, 1} {
		if err := f.Write(sample(n, float64(n), 1)); err != nil {
			t.Fatal(err)
		}
	}
	other := sample(1, 7, 1)
	other.Series = SeriesSteady
	if err := f.Write(other); err != nil {
		t.Fatal(err)
	}
	all, err := f.Read(SeriesBurst)
	if err != nil || len(all) != 2 || all[0].Number != 1 || all[1].Summary.BatchesPerS != 2 || !f.Has(SeriesBurst, 2) || f.Has(SeriesBurst, 3) {
		t.Errorf("%+v, error %v", all, err)
	}
	if err := f.Forget(SeriesBurst); err != nil || f.Has(SeriesBurst, 1) || !f.Has(SeriesSteady, 1) {
		t.Errorf("error %v", err)
	}
}

func TestMarkdown(t *testing.T) {
	table := Table{Machine: "a machine", Builds: []SamplesOf{{Commit: "abc", Samples: 1}}, Rows: []Outcome{Judge(rowNamed(t, "saturated batches/s to the shape, burst"), []Sample{sample(1, 950, 1000)}),
		Judge(rowNamed(t, "saturated batches/s to hashicorp"), nil)}}
	text := table.Markdown()
	for _, want := range []string{"On a machine, commit abc. ", "| saturated batches/s to the shape, burst of 3 s | 0.60 | 0.90 | 0.95 | 1 | met |", "| – | 0 | no data | series raft has not been measured: it needs hashicorp-raft", "1 met, 0 above their floor, 0 below it, 1 without data."} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
}
