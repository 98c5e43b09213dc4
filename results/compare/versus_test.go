package compare

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"rejoin/results"
)

// systemRun is a run of a system, with one kill of a primary.
func systemRun(target string, at int, verdict results.Verdict, p99 int64, gapMs float64) Run {
	r := Run{Name: target + string(rune('a'+at)), Dir: "/nowhere"}
	r.Run.StartedAt = time.Unix(int64(at), 0)
	r.Run.Asked = results.Asked{Target: target, Guarantee: "promise of " + target, BatchMessages: 100, MessagesPerS: 30_000}
	r.Summary = results.Summary{Verdict: verdict, Target: target, OfferedBatches: 1000, AckedBatches: 990, UnknownBatches: 10,
		LatencyNs: map[string]results.Quantiles{string(results.Steady): {Count: 1000, P50: new(p99 / 4), P99: &p99}},
		Kills:     []results.KillSummary{{Node: "n0", Role: results.RolePrimary, GapWithoutAckMs: gapMs, DownMs: new(1000.0), CaughtUpMs: new(gapMs / 2)}},
		Replicas:  []results.ReplicaSummary{{Node: "n0", VerifiedBatches: 990, DataBytes: new(int64(9_900_000))}, {Node: "n1", VerifiedBatches: 990, DataBytes: new(int64(9_900_000))}}}
	if verdict == results.Invalid {
		r.Summary.Reasons = []string{"the generator was late"}
	}
	r.Summary.Verification = []results.VerifyRound{{Name: "live", Ok: true}}
	return r
}

// ended gives a run the verdict that goes with its exit code.
func ended(r Run, verdict results.Verdict, code int, reasons ...string) Run {
	r.Summary.Verdict, r.Summary.ExitCode, r.Summary.Reasons = verdict, code, reasons
	return r
}

// cells are the texts of a row, by its label.
func cells(t *testing.T, v Versus, label string) []string {
	t.Helper()
	for _, s := range v.Table().Sections {
		for _, row := range s.Rows {
			if row.Label == label {
				var texts []string
				for _, c := range row.Cells {
					texts = append(texts, c.Text)
				}
				return texts
			}
		}
	}
	t.Fatalf("the table has no row %q", label)
	return nil
}

// TestFailedRunsAreNotClean: what the verifier found and no sum of batches tells, such as damage, shows in rows of its own and in a warning.
func TestFailedRunsAreNotClean(t *testing.T) {
	run := func(at int) Run { return systemRun("peer", at, results.Pass, 2_000_000, 400) }
	v, err := CompareSystems("quick", 4, []Entry{{Target: "ours", Runs: []Run{run(0)}}, {Target: "peer", Runs: []Run{
		ended(run(1), results.Fail, results.ExitLoss, "3 corrupted; first on n1: batch 7", "2 moved"),
		ended(run(2), results.Stuck, results.ExitStuck, "n2 could not be read to its end"),
		ended(run(3), results.Fail, results.ExitMissed, "a gap of 9 s"),
	}}}, time.Unix(100, 0))
	if err != nil {
		t.Fatal(err)
	}
	for label, want := range map[string]string{"runs that lost or broke": "0 1", "runs that got stuck": "0 1", "runs missing a demand": "0 1"} {
		if got := strings.Join(cells(t, v, label), " "); got != want {
			t.Errorf("%s: %s, want %s", label, got, want)
		}
	}
	var text, markdown bytes.Buffer
	if err := errors.Join(v.WriteText(&text), v.WriteMarkdown(&markdown)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"peerb of peer did not pass (fail, exit code 3): 3 corrupted; first on n1: batch 7; and 1 more reason",
		"peerc of peer did not pass (stuck, exit code 4): n2 could not be read to its end", "peerd of peer did not pass (fail, exit code 1): a gap of 9 s"} {
		for _, look := range []string{text.String(), markdown.String()} {
			if !strings.Contains(strings.Join(strings.Fields(look), " "), want) {
				t.Errorf("nothing says %q:\n%s", want, look)
			}
		}
	}
	if !strings.Contains(markdown.String(), "| runs that lost or broke | 0 | **1** |") {
		t.Errorf("the broken run is not marked:\n%s", markdown.String())
	}
}

func twoSystems(t *testing.T) Versus {
	t.Helper()
	lossy := systemRun("peer", 3, results.Fail, 30_000_000, 4000)
	lossy.Summary.LostBatches = 2
	never := systemRun("peer", 4, results.Stuck, 50_000_000, 6000)
	never.Summary.Kills[0].CaughtUpMs, never.Summary.Verification = nil, nil
	v, err := CompareSystems("quick", 2, []Entry{
		{Target: "ours", NotRun: "no run of it has ended yet", Runs: []Run{systemRun("ours", 1, results.Pass, 2_000_000, 400), systemRun("ours", 5, results.Invalid, 900_000_000, 1)}},
		{Target: "peer", Runs: []Run{lossy, never}},
		{Target: "absent", NotRun: "its server is not here"},
	}, time.Unix(100, 0))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Runs that are no evidence count for nothing, what was not found out is null, and what a system lost stands there.
func TestCompareSystems(t *testing.T) {
	v := twoSystems(t)
	ours, peer, absent := v.Contenders[0], v.Contenders[1], v.Contenders[2]
	if ours.Counted != 1 || len(ours.Runs) != 2 || ours.NotRun != "" || *ours.Metric("steady.p99").Estimate.Median != 2e6 {
		t.Errorf("ours: %d counted of %d, p99 %v", ours.Counted, len(ours.Runs), ours.Metric("steady.p99"))
	}
	if peer.Counted != 2 || *peer.Totals.LostBatches != 2 || peer.Totals.NeverCurrent != 1 || peer.Totals.OfferedBatches != 2000 {
		t.Errorf("peer: %+v", peer.Totals)
	}
	if m := peer.Metric("kill.caught_up"); m.Estimate.N != 1 {
		t.Errorf("a node that never caught up is in the median: n = %d", m.Estimate.N)
	}
	if m := peer.Metric("disk.kept"); m == nil || *m.Estimate.Median != 200 {
		t.Errorf("bytes on disk by message: %+v, want 200", m)
	}
	if absent.Totals != nil || absent.Counted != 0 || absent.Metric("steady.p99") != nil {
		t.Errorf("a system that did not run has figures: %+v", absent)
	}
	if got := strings.Join(v.Order, " "); got != "ours peer peer ours" {
		t.Errorf("order %q", got)
	}
	all := strings.Join(v.Warnings, "\n")
	for _, want := range []string{"is invalid: the generator was late", "run peerd: 1.0 % of the batches were not acknowledged in time; its latencies are of the others", "absent was not run: its server is not here"} {
		if !strings.Contains(all, want) {
			t.Errorf("no warning says %q: %s", want, all)
		}
	}
	text, err := json.Marshal(v)
	if err != nil || !strings.Contains(string(text), `"totals":null`) {
		t.Errorf("the absent system's totals are not null: %s, %v", text, err)
	}
}

// TestUnverifiedIsNoData: what a verification that did not run to its end found counts; what it did not find is not known, and a warning says so.
func TestUnverifiedIsNoData(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*results.Summary)
		lost   string
		warned bool
	}{
		"none":                      {func(s *results.Summary) { s.Verification = nil }, noData, true},
		"cut short":                 {func(s *results.Summary) { s.VerificationWhole = new(false) }, noData, true},
		"cut short after a loss":    {func(s *results.Summary) { s.VerificationWhole, s.LostBatches = new(false), 3 }, "3", true},
		"whole":                     {func(s *results.Summary) { s.VerificationWhole = new(true) }, "0", false},
		"of a build without a word": {func(*results.Summary) {}, "0", false},
	} {
		r := systemRun("peer", 1, results.Stuck, 1_000_000, 10)
		test.change(&r.Summary)
		v, err := CompareSystems("quick", 1, []Entry{{Target: "peer", Runs: []Run{r}}}, time.Unix(100, 0))
		if err != nil {
			t.Fatal(err)
		}
		if got := cells(t, v, "lost")[0]; got != test.lost {
			t.Errorf("%s: lost %s, want %s", name, got, test.lost)
		}
		if warned := strings.Contains(strings.Join(v.Warnings, " "), "was not verified to the end"); warned != test.warned {
			t.Errorf("%s: warnings %q", name, v.Warnings)
		}
	}
}

// In all three looks each system's figures stand under its promise.
func TestPromisesStandBesideFigures(t *testing.T) {
	v := twoSystems(t)
	var text, markdown bytes.Buffer
	if err := v.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if err := v.WriteMarkdown(&markdown); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"promise of ours", "promise of peer", "guarantee unknown", "no data", "2.00 ms", "30.0–50.0, n=2", "(1 of 2 runs counted)"} {
		if !strings.Contains(strings.Join(strings.Fields(text.String()), " "), want) {
			t.Errorf("the text does not say %q:\n%s", want, text.String())
		}
	}
	for _, line := range strings.Split(text.String(), "\n") {
		if len([]rune(line)) > columnsMax {
			t.Errorf("a line of %d columns: %s", len([]rune(line)), line)
		}
	}
	for _, want := range []string{"| **promise** | promise of ours | promise of peer | guarantee unknown", "| steady p99 | 2.00 ms<br>2.00–2.00, n=1 | 40.0 ms (×20)<br>30.0–50.0, n=2 | no data |", "| lost | 0 | **2** | no data |"} {
		if !strings.Contains(markdown.String(), want) {
			t.Errorf("the Markdown does not say %q:\n%s", want, markdown.String())
		}
	}
	columns := 0
	for _, line := range strings.Split(markdown.String(), "\n") {
		if strings.HasPrefix(line, "|") {
			if n := strings.Count(line, "|"); columns == 0 {
				columns = n
			} else if n != columns {
				t.Errorf("a row of %d bars in a table of %d: %s", n, columns, line)
			}
		}
	}
}

// However many systems stand side by side, each promise keeps to its column.
func TestPromisesKeepToTheirColumns(t *testing.T) {
	var entries []Entry
	for i, name := range []string{"builtin", "nats", "nats:always", "kafka", "kafka:flush"} {
		r := systemRun(name, i, results.Pass, 1_000_000, 10)
		r.Run.Asked.Guarantee = "a-promise-with-a-word-that-no-column-holds and (flush.messages=1: acknowledgement)"
		entries = append(entries, Entry{Target: name, Runs: []Run{r}})
	}
	v, err := CompareSystems("quick", 1, entries, time.Unix(100, 0))
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := v.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(text.String(), "\n") {
		if n := len([]rune(line)); n > versusLabelColumns+5*(versusColumnsLeast+versusBetweenColumn) {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
}

// TestFullSystemsHaveNoLatency: where the load is more than a system carries, what batches waited is no latency, and who waits in a closed loop does
// not even offer what he could not.
func TestFullSystemsHaveNoLatency(t *testing.T) {
	for scenario, overload := range map[string]bool{`{"closed_loop":true}`: true, `{"overload":true}`: true, `{}`: false} {
		r := systemRun("peer", 1, results.Pass, 1_000_000, 10)
		r.Run.Asked.Scenario = json.RawMessage(scenario)
		v, err := CompareSystems("saturate", 1, []Entry{{Target: "peer", Runs: []Run{r}}}, time.Unix(100, 0))
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := v.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		for _, shown := range []bool{strings.Contains(text.String(), "steady p99"), strings.Contains(text.String(), "not acknowledged in time"), v.Contenders[0].Metric("steady.p99") != nil} {
			if shown == overload {
				t.Errorf("scenario %s: latency shown: %v\n%s", scenario, shown, text.String())
			}
		}
		if v.Contenders[0].Metric("acked_share") == nil {
			t.Errorf("scenario %s: no throughput", scenario)
		}
	}
}

// TestBytesOfAPartAreNoCost: a node that has trimmed its log keeps little for each message that was acknowledged.
func TestBytesOfAPartAreNoCost(t *testing.T) {
	kept := func(r Run) []Value {
		for _, m := range Measure(r) {
			if m.Name == "disk.kept" {
				return m.Values
			}
		}
		return nil
	}
	r := systemRun("peer", 1, results.Pass, 1_000_000, 10)
	if len(kept(r)) != 1 {
		t.Errorf("a run that kept all has %v", kept(r))
	}
	r.Summary.Replicas[1].VerifiedBatches = 400
	if v := kept(r); v != nil {
		t.Errorf("a run that trimmed a part has %v", v)
	}
}

// TestDirtyBuildsAreNotToldApart: commit and a word are all that runs keep of a dirty build.
func TestDirtyBuildsAreNotToldApart(t *testing.T) {
	for _, dirty := range []bool{true, false} {
		a, b := systemRun("peer", 1, results.Pass, 1_000_000, 10), systemRun("peer", 2, results.Pass, 1_000_000, 10)
		a.Run.Found.Dirty, b.Run.Found.Dirty = dirty, dirty
		v, err := CompareSystems("quick", 1, []Entry{{Target: "peer", Runs: []Run{a, b}}}, time.Unix(100, 0))
		if err != nil {
			t.Fatal(err)
		}
		if warned := strings.Contains(strings.Join(v.Warnings, " "), "of a dirty checkout"); warned != dirty {
			t.Errorf("dirty %v, warnings %q", dirty, v.Warnings)
		}
	}
}

// TestCensoredRecoveries: a kill after which the full rate never came back is in no median, so it is counted beside it. A node whose role was not
// known is neither a primary nor a backup.
func TestCensoredRecoveries(t *testing.T) {
	r := systemRun("peer", 1, results.Pass, 1_000_000, 10)
	full, never := &results.Recovery{Outside: results.RecoveryTimes{FullRate: new(900.0)}}, &results.Recovery{}
	r.Summary.Kills = []results.KillSummary{{Role: results.RolePrimary, GapWithoutAckMs: 1, Recovery: full}, {Role: results.RolePrimary, GapWithoutAckMs: 1, Recovery: never},
		{Role: results.RoleBackup, GapWithoutAckMs: 2, Recovery: never}, {Node: "n2", Role: results.RoleUnknown, How: results.Killed, AtMs: 9000, GapWithoutAckMs: 8000, GapAtMs: new(9001.0), Recovery: never}}
	v, err := CompareSystems("quick", 1, []Entry{{Target: "peer", Runs: []Run{r}}, {Target: "older", Runs: []Run{systemRun("older", 2, results.Pass, 1_000_000, 10)}}}, time.Unix(100, 0))
	if err != nil {
		t.Fatal(err)
	}
	if m := v.Contenders[0].Metric("kill.primary.full_rate"); m == nil || m.Estimate.N != 1 {
		t.Errorf("full rate: %+v", m)
	}
	if got := strings.Join(cells(t, v, "full rate not reached"), ", "); got != "1, no data" {
		t.Errorf("full rate not reached: %s", got)
	}
	if m := v.Contenders[0].Metric("kill.backup.gap"); m.Estimate.N != 1 || *m.Estimate.Median != 2e6 {
		t.Errorf("gaps of backups: %+v", m.Estimate)
	}
	if got := strings.Join(cells(t, v, "of them, role unknown"), ", "); got != "1, 0" {
		t.Errorf("kills of a node of unknown role: %s", got)
	}
	if all := strings.Join(v.Warnings, "\n"); strings.Count(all, "it was not known what") != 1 || !strings.Contains(all, "it was not known what n2 was when it was killed at 9.0 s; its gap of 8.00 s is in no row") {
		t.Errorf("warnings: %s", all)
	}
}

// TestLateKills: what a kill has only because the load was over is no figure.
func TestLateKills(t *testing.T) {
	r := systemRun("peer", 1, results.Pass, 1_000_000, 10)
	kill := func(role string, atMs, gapMs float64, gapAtMs *float64) results.KillSummary {
		return results.KillSummary{Node: "n0", Role: role, AtMs: atMs, GapWithoutAckMs: gapMs, GapAtMs: gapAtMs, Recovery: &results.Recovery{}}
	}
	r.Summary.LoadStopMs = new(10_000.0)
	r.Summary.Kills = []results.KillSummary{kill(results.RolePrimary, 5000, 3000, new(4990.0)), kill(results.RolePrimary, 9001, 990, new(9000.0)), kill(results.RolePrimary, 10_500, 0, nil),
		kill(results.RoleBackup, 7000, 20, nil), kill(results.RoleBackup, 10_001, 0, nil), kill(results.RoleUnknown, 10_002, 0, nil)}
	values := map[string][]Value{}
	for _, m := range Measure(r) {
		values[m.Name] = m.Values
	}
	for name, want := range map[string][]Value{"kill.primary.gap": {{Kill: 0, Value: 3000e6}, {Kill: 1, Value: 990e6}}, "kill3.gap": nil,
		"kill.backup.gap": {{Kill: 3, Value: 20e6}}} { // of an older build, which did not say when the gap began
		if !slices.Equal(values[name], want) {
			t.Errorf("%s: %v, want %v", name, values[name], want)
		}
	}
	for stop, want := range map[*float64]int64{r.Summary.LoadStopMs: 1, new(10_001.0): 2, nil: 3} { // the second kill had a second of load, or nobody tells
		r.Summary.LoadStopMs = stop
		if got := totalsOf([]Run{r}).NeverFullRate; got == nil || *got != want {
			t.Errorf("full rate not reached: %v, want %d", got, want)
		}
	}
	if all := strings.Join(r.unknownRoles(), "\n"); !strings.Contains(all, "no gap was measured") {
		t.Errorf("warnings: %s", all)
	}
}

func TestMarkdownTakesForeignText(t *testing.T) {
	v := twoSystems(t)
	v.Contenders[1].Guarantee = "a | b\n<script>"
	var markdown bytes.Buffer
	if err := v.WriteMarkdown(&markdown); err != nil {
		t.Fatal(err)
	}
	if bad := "<script"; strings.Contains(markdown.String(), bad) || !strings.Contains(markdown.String(), `a \| b &lt;script>`) {
		t.Errorf("foreign text is not kept apart:\n%s", markdown.String())
	}
}

// TestRatioTo: what lies within the drift of one machine is no ratio.
func TestRatioTo(t *testing.T) {
	for _, c := range []struct {
		first, median float64
		want          string
	}{{100, 100, ""}, {100, 114, ""}, {100, 116, "×1.16"}, {100, 88, ""}, {100, 86, "×0.86"}, {0, 5, ""}, {100, 0, "×0"}} {
		if got := ratioTo(c.first, c.median); got != c.want {
			t.Errorf("%v against %v: %q, want %q", c.median, c.first, got, c.want)
		}
	}
}

func TestRatioText(t *testing.T) {
	for r, want := range map[float64]string{0.000343: "0.000343", 0.0666: "0.0666", 1: "1", 2.345: "2.35", 45.67: "45.7", 1234.5: "1235"} {
		if got := ratioText(r); got != want {
			t.Errorf("%v is written %q, want %q", r, got, want)
		}
	}
}
