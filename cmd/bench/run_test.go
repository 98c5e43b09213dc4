package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rejoin/loadgen"
	"rejoin/loadgen/target/memory"
	"rejoin/plots"
	"rejoin/results"
	"rejoin/server/sim"
)

// bench runs a command line and returns its code and what it printed.
func bench(t *testing.T, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	code := run(t.Context(), args, &out, &out)
	return code, out.String()
}

// memoryScenario is a short load with a kill and a stop, written to a file.
func memoryScenario(t *testing.T, extra string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mini.yaml")
	text := `name: mini
target: memory
producers: 4
batch_messages: 10
messages_per_s: 4000
warmup: 200ms
duration: 2s
quiet_max: 1s
faults:
  - {at: 500ms, kill: primary, restart_after: 300ms}
  - {at: 1s, stop: backup, cont_after: 200ms}
` + extra
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRunMemory(t *testing.T) {
	playedOnce(t, "a whole run")
	root := t.TempDir()
	code, out := bench(t, "--results", root, "run", memoryScenario(t, "demands: {acked_share_min: 0.999, late_p99_max: 1s, canary_change_max: 100}"), "--seed", "7")
	if code != results.ExitPass {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	folder, err := results.Open(root, "latest")
	if err != nil {
		t.Fatal(err)
	}
	s, err := folder.ReadSummary()
	if err != nil {
		t.Fatal(err)
	}
	if s.OfferedBatches != 800 || s.AckedBatches != 800 {
		t.Errorf("offered %d, acknowledged %d; the timetable holds 800", s.OfferedBatches, s.AckedBatches)
	}
	if len(s.Kills) != 1 || s.Kills[0].Role != results.RolePrimary || s.Kills[0].FirstAckMs == nil || s.Kills[0].GapWithoutAckMs < 50 {
		t.Errorf("kills are %+v; the memory target is without a primary for 100 ms", s.Kills)
	}
	if s.LoadStopMs == nil || len(s.Kills) == 1 && *s.LoadStopMs < s.Kills[0].AtMs+1000 {
		t.Errorf("the load ended at %v ms; it lasts 2 s, and the kill was after 500 ms", s.LoadStopMs)
	}
	if len(s.Kills) == 1 {
		if r := s.Kills[0].Recovery; r == nil || r.Outside.FirstAck == nil || *r.Outside.FirstAck != *s.Kills[0].FirstAckMs || r.Outside.BacklogDrained == nil {
			t.Errorf("the recovery is %+v", r)
		}
	}
	p, err := folder.ReadProof()
	if err != nil {
		t.Fatal(err)
	}
	if b := p.Books; b.Asked != 800 || b.Sent != 800 || p.Baseline == nil || len(p.Canaries) != 3 || p.Canaries[2].After == nil || p.Steal == nil || len(p.Limits) < 3 {
		t.Errorf("the proof is %+v", p)
	}
	for _, r := range s.Replicas {
		if r.VerifiedBatches != 800 {
			t.Errorf("%s verified %d batches", r.Node, r.VerifiedBatches)
		}
	}
	for _, name := range append(figureFiles(), "run.json", "proof.json", "machine.ndjson", "bench.txt", "latency.hlog", "events.ndjson", "rates.ndjson") {
		if st, err := os.Stat(filepath.Join(folder.Dir, name)); err != nil || st.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if folder.HasData() {
		t.Error("data directories are kept after a pass")
	}
	code, again := bench(t, "--results", root, "run", "--from", "latest", "--quiet", "--duration", "1s")
	if code != results.ExitPass || strings.Count(again, "\n") != 1 {
		t.Errorf("--from: exit code %d\n%s", code, again)
	}
}

func figureFiles() []string {
	files := []string{"report.html"}
	for _, name := range plots.Names() {
		files = append(files, filepath.Join("plots", name+".svg"), filepath.Join("plots", name+".png"))
	}
	return files
}

func TestRunMissesDemand(t *testing.T) {
	playedOnce(t, "a whole run")
	root := t.TempDir()
	defer func() {
		if _, out := bench(t, "--results", root, "list"); !strings.Contains(out, "\n            because ") {
			t.Errorf("the list gives no reason:\n%s", out)
		}
	}()
	code, out := bench(t, "--results", root, "run", memoryScenario(t, "demands: {primary_gap_max: 1ms, late_p99_max: 1s, canary_change_max: 100}"))
	if code != results.ExitMissed || !strings.Contains(out, "without an acknowledgement around the kill of the primary") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// TestRunFindsPlantedFaults makes the log misbehave at reading and expects the run to say so by its exit code.
func TestRunFindsPlantedFaults(t *testing.T) {
	for _, test := range []struct {
		fault memory.Fault
		code  int
	}{
		{memory.FaultLost, results.ExitLoss}, {memory.FaultDuplicated, results.ExitLoss}, {memory.FaultReordered, results.ExitLoss},
		{memory.FaultCorrupted, results.ExitLoss}, {memory.FaultForeign, results.ExitLoss}, {memory.FaultDiverged, results.ExitLoss},
		{memory.FaultTruncated, results.ExitStuck}, {memory.FaultUnreadable, results.ExitStuck},
	} {
		t.Run(test.fault.String(), func(t *testing.T) {
			log := memory.New(memory.Options{})
			outcome, err := loadgen.Run(t.Context(), loadgen.Options{Target: log, LedgerDir: filepath.Join(t.TempDir(), "ledger"), Producers: 2,
				BatchMessages: 5, RatePerS: 1000, Duration: 200e6, Seed: 3, OvershootSamples: -1})
			if err != nil {
				t.Fatal(err)
			}
			log.Plant(test.fault, "m1")
			report, err := loadgen.Verify(t.Context(), log, loadgen.VerifyOptions{Ledgers: outcome.Ledgers})
			if err != nil {
				t.Fatal(err)
			}
			var judge results.Judge
			judgeVerification(&judge, report, nil)
			if _, code := judge.Verdict(); code != test.code {
				t.Errorf("exit code %d, want %d: %v", code, test.code, judge.Reasons())
			}
		})
	}
}

// TestPlantedFaultsDecideTheExitCode is the same from end to end, by a scenario.
func TestPlantedFaultsDecideTheExitCode(t *testing.T) {
	playedOnce(t, "a whole run")
	for plant, want := range map[string]int{"lost": results.ExitLoss, "unreadable": results.ExitStuck, "sunshine": results.ExitInvalid} {
		code, out := bench(t, "--results", t.TempDir(), "run", memoryScenario(t, "plant: "+plant), "--duration", "1s", "--quiet")
		if code != want {
			t.Errorf("%s: exit code %d, want %d\n%s", plant, code, want, out)
		}
	}
}

func TestInterruptedRun(t *testing.T) {
	root := t.TempDir()
	scenario := memoryScenario(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &cancelOn{word: "load:", cancel: cancel}
	code := run(ctx, []string{"--results", root, "run", scenario}, out, out)
	if code != results.ExitInterrupted {
		t.Fatalf("exit code %d\n%s", code, out.text.String())
	}
	folder, err := results.Open(root, "latest")
	if err != nil {
		t.Fatal(err)
	}
	s, err := folder.ReadSummary()
	if err != nil {
		t.Fatal(err)
	}
	run, err := folder.ReadRun()
	if err != nil {
		t.Fatal(err)
	}
	if s.Verdict != results.Interrupted || run.Status != results.StatusInterrupted || s.AckedBatches == 0 {
		t.Errorf("verdict %s, status %s, %d acknowledged", s.Verdict, run.Status, s.AckedBatches)
	}
}

// cancelOn cancels when a word is printed for the first time.
type cancelOn struct {
	word   string
	cancel func()
	text   bytes.Buffer
}

func (c *cancelOn) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(c.word)) {
		c.cancel()
	}
	return c.text.Write(p)
}

func TestUsage(t *testing.T) {
	root := t.TempDir()
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "quack"}, "built in are"},
		{[]string{"run", "--from", "latest"}, "no run folder"},
		{[]string{"run", "quick", "--from", "latest"}, "either a scenario or --from"},
		{[]string{"run", "--target", "nosuch"}, "is unknown"},
		{[]string{"run", "--target", "kafka", "--kafka-home", t.TempDir()}, "let `make peers` fetch one"},
		{[]string{"run", "--profile", "everything"}, "profile mode"},
		{[]string{"run", "--rate", "many"}, "--rate: \"many\" is no whole number"},
		{[]string{"run", "--rate", "0"}, "less than one batch"},
		{[]string{"run", "--rate=1"}, "pass a rate of at least 1200"},
		{[]string{"run", "--rate", "-5"}, "-5 messages a second are less than one batch"},
		{[]string{"run", "--rate=99999999999999"}, "at most 1000000000"},
		{[]string{"run", "--rate"}, "--rate: a value is missing"},
		{[]string{"run", "--duration=-5s"}, "--duration: \"-5s\" is no length"},
		{[]string{"run", "--duration", "-5s"}, "--duration: \"-5s\" is no length"},
		{[]string{"run", "--duration", "15"}, "--duration: \"15\" is no length of time"},
		{[]string{"run", "--duration", "5x"}, "--duration: \"5x\" is no length"},
		{[]string{"run", "--duration", "5ms"}, "pass at least 1s"},
		{[]string{"run", memoryScenario(t, "payload_bytes: 200000\n")}, "a batch holds at most 1048576"},
		{[]string{"run", memoryScenario(t, "demands: {repair_ops_min: 5}")}, "repairs and transfers nothing"},
		{[]string{"run", "--repeat", "-1"}, "--repeat -1: pass 1 to 1000"},
		{[]string{"run", "--repeat"}, "--repeat: a value is missing"},
		{[]string{"search", "--p99", "-1s"}, "--p99 -1s, --recovery 5s, --within 30m0s: pass more than 0"},
		{[]string{"search", "--p99", "20"}, "--p99: \"20\" is no length of time"},
		{[]string{"search", "--precision", "-0.5"}, "--precision -0.5: pass 0.01 to 1"},
		{[]string{"sim", "--seeds", "-1"}, "--seeds: \"-1\" is no whole number from 0 up"},
		{[]string{"sim", "--clients", "some"}, "--clients: \"some\" is no whole number"},
		{[]string{"node", "--cluster", "run.go", "--id", "--data", root}, "--id: \"--data\" is no whole number"},
		{[]string{"node", "--cluster", "run.go", "--id", "0", "--data", ""}, "--data is empty"},
		{[]string{"sim", "--seeds", "0"}, "--seeds 0 plays nothing"},
		{[]string{"sim", "--switch", "HollowHat"}, "there is no such mistake; there are\n  InstallBelowHeardCommit"},
		{[]string{"dump", root, "--max=-1"}, "--max -1"},
		{[]string{"dump", root}, "this is a folder: name a file in it. It prints\n  of a run       *.ledger"},
		{[]string{"dump", "run.go"}, "none of the files that bench dump can print. It prints"},
		{[]string{"frobnicate"}, "unexpected argument"},
		{[]string{"verify"}, "start one with bench run"},
		{[]string{"report", "yesterday"}, "bench list shows"},
		{[]string{"clean"}, "name the runs to remove"},
		{[]string{"dump", filepath.Join(root, "nothing.seg")}, "no such file"},
		{[]string{"node", "--cluster", filepath.Join(root, "none.yaml"), "--id", "0", "--data", root}, "none.yaml"},
	} {
		code, out := bench(t, append([]string{"--results", root}, test.args...)...)
		if code != results.ExitUsage || !strings.Contains(out, test.want) {
			t.Errorf("%v: exit code %d, want %q in:\n%s", test.args, code, test.want, out)
		}
	}
}

// TestRunNamedInsteadOfAScenario: who passes a run to bench run most likely wants it again.
func TestRunNamedInsteadOfAScenario(t *testing.T) {
	root := t.TempDir()
	folder := writtenRun(t, root, testTime(0), 1, nil)
	for _, ref := range []string{folder.Dir, folder.Name(), "latest"} {
		if code, out := bench(t, "--results", root, "run", ref); code != results.ExitUsage || !strings.Contains(out, "bench run --from "+ref+" repeats it") {
			t.Errorf("exit code %d\n%s", code, out)
		}
	}
	if code, out := bench(t, "--results", root, "run", root); code != results.ExitUsage || !strings.Contains(out, "is a folder; a scenario is a YAML file") {
		t.Errorf("a folder that is no run: exit code %d\n%s", code, out)
	}
}

// TestHelp holds every command to having a help with examples of itself that parse.
func TestHelp(t *testing.T) {
	code, out := bench(t, "--help")
	if code != 0 || !strings.Contains(out, "bench run") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	for _, command := range []string{"run", "verify", "report", "list", "clean", "dump", "frame", "goals", "limits", "scaling", "node", "sim", "version"} {
		if code, out := bench(t, command, "--help"); code != 0 || !strings.Contains(out, "Usage: bench "+command) {
			t.Errorf("%s: exit code %d\n%s", command, code, out)
		}
	}
}

func TestLimits(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "limits.json")
	code, out := bench(t, "limits", "--quick", "--dir", dir, "--out", file)
	if code != 0 || !strings.Contains(out, "commit by 2 of 3, saturated") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	written, err := results.ReadLimits(file)
	if err != nil || len(written.Measurements) != 1 || written.Measurements[0].Shape(12, 0) == nil {
		t.Errorf("%+v, error %v", written, err)
	}
	if code, out := bench(t, "limits", "--only", "luck"); code != results.ExitUsage || !strings.Contains(out, "loopback") {
		t.Errorf("no kind: exit code %d\n%s", code, out)
	}
	if code, out := bench(t, "limits", "--frame", "3"); code != results.ExitUsage || !strings.Contains(out, "--frame 3") {
		t.Errorf("no frame: exit code %d\n%s", code, out)
	}
	if code, out := bench(t, "limits", "--dir", filepath.Join(t.TempDir(), "none")); code != results.ExitUsage {
		t.Errorf("no folder: exit code %d\n%s", code, out)
	}
}

func TestSim(t *testing.T) {
	code, out := bench(t, "sim", "--seed", "3", "--seeds", "2")
	if code != 0 || !strings.Contains(out, "all promises held: 2 runs") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if code, out := bench(t, "sim", "--seed", "3", "--trace"); code != 0 || strings.Count(out, "\n") < 100 || !strings.Contains(out, "trace hash") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if got := failureCode(fmt.Errorf("seed 7: %w", &sim.Failure{Property: "P1"})); got != results.ExitStuck {
		t.Errorf("a broken promise of progress exits %d", got)
	}
	if got := failureCode(&sim.Failure{Property: "S4"}); got != results.ExitLoss {
		t.Errorf("a broken promise of safety exits %d", got)
	}
}

// TestSimSwitch: a mistake that is found ends with its property and exit code 1, one that is not with 0.
func TestSimSwitch(t *testing.T) {
	code, out := bench(t, "sim", "--switch", "HollowHead", "--seeds", "200")
	if code != exitFound || !strings.HasPrefix(out, "S5\n") && !strings.Contains(out, "\nS5\n") || !strings.Contains(out, "--switch HollowHead --trace") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	// Where nothing restarts, nobody leads again after a restart.
	if code, out := bench(t, "sim", "--switch", "LeadAfterRestart", "--seed", "3", "--faults", "none"); code != 0 || !strings.Contains(out, "LeadAfterRestart is not found: every promise held in 1 runs") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

func TestWrapped(t *testing.T) {
	if got := wrapped("1 run, 22 steps, 3 kills, 4 repairs", 16); got != "1 run, 22 steps,\n  3 kills,\n  4 repairs" {
		t.Errorf("%q", got)
	}
	if got := wrapped("one", 2); got != "one" {
		t.Errorf("%q", got)
	}
}

func TestListCleanVersion(t *testing.T) {
	playedOnce(t, "a whole run")
	root := t.TempDir()
	if _, out := bench(t, "--results", root, "list"); !strings.Contains(out, "no runs") {
		t.Errorf("empty list: %s", out)
	}
	if code, out := bench(t, "--results", root, "run", memoryScenario(t, "demands: {late_p99_max: 1s, canary_change_max: 100}"), "--quiet", "--duration", "1s"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	if _, out := bench(t, "--results", root, "list"); !strings.HasPrefix(out, "verdict ") || !strings.Contains(out, "pass") || !strings.Contains(out, "memory-mini") {
		t.Errorf("list: %s", out)
	}
	if code, out := bench(t, "--results", root, "verify"); code != results.ExitUsage || !strings.Contains(out, "only a run of target builtin can be read again, this one drove memory") {
		t.Errorf("verify: exit code %d\n%s", code, out)
	}
	if code, out := bench(t, "--results", root, "report"); code != 0 || !strings.Contains(out, "latency.svg") {
		t.Errorf("report: exit code %d\n%s", code, out)
	}
	if code, out := bench(t, "dump", filepath.Join(root, "latest", "ledger", "p0000.ledger"), "--max", "3"); code != 0 || strings.Count(out, "\nbatch ") != 3 {
		t.Errorf("dump: exit code %d\n%s", code, out)
	}
	data := filepath.Join(root, "latest", "data", "n0")
	if err := os.MkdirAll(data, 0o755); err != nil {
		t.Fatal(err)
	}
	if code, out := bench(t, "--results", root, "clean", "--all", "--data"); code != 0 || !strings.Contains(out, "removed   data of ") {
		t.Errorf("clean --data: exit code %d\n%s", code, out)
	}
	if code, out := bench(t, "--results", root, "clean", "--all", "--data"); code != 0 || !strings.Contains(out, "no data   of ") {
		t.Errorf("clean --data again: exit code %d\n%s", code, out)
	}
	if code, out := bench(t, "--results", root, "clean", "--all"); code != 0 || !strings.Contains(out, "removed") {
		t.Errorf("clean: exit code %d\n%s", code, out)
	}
	if code, out := bench(t, "version"); code != 0 || !strings.Contains(out, "go1.") {
		t.Errorf("version: exit code %d\n%s", code, out)
	}
}
