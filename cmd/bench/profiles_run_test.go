package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rejoin/profiles"
	"rejoin/results"
)

// killScenario is a load on real nodes in which the primary is killed: as many small batches as a machine may just do, so that a few
// seconds give every process 100 samples.
const killScenario = `name: profiled
batch_messages: 10
payload_bytes: 64
messages_per_s: 36000
overload: true
warmup: 500ms
duration: 6s
quiet_max: 30s
cluster: {segment_bytes: 16777216}
faults:
  - {at: 3500ms, kill: primary, restart_after: 500ms}
demands: {late_p99_max: 10s, canary_change_max: 100}
`

// TestProfilesOfARunWithAKill drives real nodes, kills one in the middle of a window, and reads what is there with the tools that people
// will use.
func TestProfilesOfARunWithAKill(t *testing.T) {
	playedOnce(t, "a whole run")
	root := t.TempDir()
	scenario := filepath.Join(root, "profiled.yaml")
	if err := os.WriteFile(scenario, []byte(killScenario), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out := bench(t, "--results", root, "run", scenario, "--profile", "flight")
	if code != results.ExitPass && code != results.ExitInvalid { // the machine may be too busy to judge
		t.Fatalf("exit code %d\n%s", code, out)
	}
	folder, err := results.Open(root, "latest")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("index", func(t *testing.T) { checkIndex(t, folder) })
	t.Run("events", func(t *testing.T) { checkProfileEvents(t, folder) })
	t.Run("pprof", func(t *testing.T) { checkWithPprof(t, folder) })
	t.Run("trace", func(t *testing.T) { checkFlights(t, folder) })
}

// checkIndex holds the index against the files: a line for each source and phase, every file named and readable.
func checkIndex(t *testing.T, folder results.Folder) {
	entries, err := folder.ReadProfileIndex()
	if err != nil {
		t.Fatal(err)
	}
	steady, lines := int64(0), map[string]int{}
	named := map[string]bool{"index.json": true, "windows": true}
	for _, e := range entries {
		if e.Kind == string(profiles.CPU) {
			lines[e.Source]++
		}
		for _, name := range []*string{e.File, e.HTML} {
			if name == nil {
				continue
			}
			named[*name] = true
			if info, err := os.Stat(filepath.Join(folder.Profiles(), *name)); err != nil || info.Size() == 0 {
				t.Errorf("%s: %v", *name, err)
			}
		}
		if e.File == nil && e.Note == "" {
			t.Errorf("%+v has no file and does not say why", e)
		}
		if e.Kind != string(profiles.CPU) {
			continue
		}
		if enough := e.Samples >= 100; (e.File != nil) != enough || (e.HTML != nil) != enough || strings.Contains(e.Note, "no data") == enough {
			t.Errorf("%+v", e)
		}
		if e.Phase == results.Steady {
			steady += e.Samples
			if e.Samples == 0 || e.SecondsCovered < 1 || e.AckedMessages == 0 {
				t.Errorf("%+v", e)
			}
		}
	}
	if steady < 100 {
		t.Errorf("%d samples of all processes in the steady phase", steady)
	}
	for _, source := range []string{"n0", "n1", "n2", results.SourceGenerator} {
		if lines[source] != 4 { // warmup, steady, outage, catchup
			t.Errorf("%s has %d lines for 4 phases", source, lines[source])
		}
	}
	files, err := os.ReadDir(folder.Profiles())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !named[f.Name()] {
			t.Errorf("%s is not in the index", f.Name())
		}
	}
}

// checkProfileEvents: windows lie on the run's time axis, one at a time for a source, and the killed node lost one at most.
func checkProfileEvents(t *testing.T, folder results.Folder) {
	events, err := folder.ReadEvents()
	if err != nil {
		t.Fatal(err)
	}
	ends, killed, lost := map[string]int64{}, "", map[string]int{}
	for _, e := range events {
		switch e.Kind {
		case results.KindKill:
			killed = e.Node
		case results.KindProfileWindow:
			if from := e.TNs - *e.DurationNs; from < ends[e.Node] || e.Role == "" || e.Reason != string(profiles.CPU) {
				t.Errorf("%+v overlaps the window before", e)
			}
			ends[e.Node] = e.TNs
		case results.KindProfileLost:
			lost[e.Node]++
		}
	}
	if len(ends) != 4 || lost[killed] > 1 || len(lost) > 1 {
		t.Errorf("windows of %v, lost %v, killed %s", ends, lost, killed)
	}
}

// goTool is the path of a tool that the Go command brings.
func goTool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.Command("go", "tool", "-n", name).Output()
	if err != nil {
		t.Fatalf("go tool -n %s: %v", name, err)
	}
	return strings.TrimSpace(string(path))
}

// checkWithPprof opens every merged profile and a window with `go tool pprof`.
func checkWithPprof(t *testing.T, folder results.Folder) {
	pprof := goTool(t, "pprof")
	files, err := filepath.Glob(filepath.Join(folder.Profiles(), "*.pb.gz"))
	if err != nil {
		t.Fatal(err)
	}
	windows, err := filepath.Glob(filepath.Join(folder.Profiles(), "windows", "n0-cpu-*.pb.gz"))
	if err != nil || len(windows) < 3 {
		t.Fatalf("%d windows of n0, %v", len(windows), err)
	}
	for _, path := range append(files, windows[0]) {
		top, err := exec.Command(pprof, "-top", "-nodecount=5", path).CombinedOutput()
		if err != nil || !bytes.Contains(top, []byte("Type: cpu")) || !bytes.Contains(top, []byte("flat%")) {
			t.Errorf("%s: %v\n%s", path, err, top)
		}
	}
}

// checkFlights: the view change after the kill was an occasion, and `go tool trace` reads what was kept.
func checkFlights(t *testing.T, folder results.Folder) {
	entries, err := folder.ReadProfileIndex()
	if err != nil {
		t.Fatal(err)
	}
	entries = slices.DeleteFunc(entries, func(e results.ProfileEntry) bool { return e.Kind != profileFlight || e.File == nil })
	if len(entries) == 0 || len(entries) > flightFilesMax {
		t.Fatalf("%d flight records", len(entries))
	}
	trace := goTool(t, "trace")
	dump, err := exec.Command(trace, "-d=parsed", filepath.Join(folder.Profiles(), *entries[0].File)).Output()
	if err != nil || bytes.Count(dump, []byte("\n")) < 1000 || !bytes.Contains(dump, []byte("GoCreate")) && !bytes.Contains(dump, []byte("StateTransition")) {
		t.Errorf("%s: %v, %d bytes: %.300s", *entries[0].File, err, len(dump), dump)
	}
}
