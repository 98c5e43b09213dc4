package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rejoin/profiles"
	"rejoin/results"
)

// killScenario is a load on real nodes in which the primary is killed: many small batches, so that a few seconds give every process 100
// samples.
const killScenario = `name: profiled
batch_messages: 10
payload_bytes: 64
messages_per_s: 24000
warmup: 500ms
duration: 9s
quiet_max: 30s
cluster: {segment_bytes: 16777216}
faults:
  - {at: 5s, kill: primary, restart_after: 500ms}
demands: {acked_share_min: 0.5, late_p99_max: 10s}
`

// TestProfilesOfARunWithAKill drives real nodes, kills one in the middle of a window, and reads what is there with the tools that people
// will use.
func TestProfilesOfARunWithAKill(t *testing.T) {
	if testing.Short() {
		t.Skip("drives real nodes for 9 s")
	}
	root := t.TempDir()
	scenario := filepath.Join(root, "profiled.yaml")
	if err := os.WriteFile(scenario, []byte(killScenario), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out := bench(t, "--results", root, "run", scenario, "--profile", "flight")
	if code != results.ExitPass {
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
	t.Run("compare", func(t *testing.T) { compareWithItself(t, folder) })
}

// checkIndex holds the index against the files: a line for each source and phase, every file named and readable.
func checkIndex(t *testing.T, folder results.Folder) {
	entries, err := folder.ReadProfileIndex()
	if err != nil {
		t.Fatal(err)
	}
	lines, named := map[string]int{}, map[string]bool{"index.json": true, "windows": true}
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
		if e.Kind == string(profiles.CPU) && e.Phase == results.Steady && (e.File == nil || e.HTML == nil || e.Samples < 100 || e.SecondsCovered < 1 || e.AckedMessages == 0) {
			t.Errorf("%+v", e)
		}
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

// compareWithItself: no difference, files that pprof subtracts, and words for what does not fit.
func compareWithItself(t *testing.T, folder results.Folder) {
	dir := t.TempDir()
	var out bytes.Buffer
	c, err := compareProfiles(&out, []string{folder.Dir}, []string{folder.Dir}, dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{results.RolePrimary, results.RoleBackup, results.RoleGenerator} {
		i := slices.IndexFunc(c.Parts, func(p comparedPart) bool { return p.Phase == results.Steady && p.Role == role })
		if i < 0 {
			t.Fatalf("no part of role %s: %s", role, out.String())
		}
		p := c.Parts[i]
		for _, f := range p.Diff.Functions {
			if f.Flat.PerMessage.Difference() != 0 || f.Flat.PerSecond.Difference() != 0 || !f.Chance {
				t.Fatalf("a run differs from itself: %+v", f)
			}
		}
		page, err := os.ReadFile(p.DiffPerMessage)
		if err != nil || !bytes.Contains(page, []byte("</html>")) {
			t.Error(err)
		}
	}
	words := strings.Fields(c.Parts[0].Commands[0])
	base, changed := words[len(words)-2], words[len(words)-1]
	if top, err := exec.Command(goTool(t, "pprof"), "-top", "-diff_base", base, changed).CombinedOutput(); err != nil || !bytes.Contains(top, []byte("accounting for 0, 0%")) {
		t.Errorf("%v: %s", err, top)
	}
	subtracted := filepath.Join(dir, "subtracted.pb.gz")
	if text, err := exec.Command(goTool(t, "pprof"), "-proto", "-output", subtracted, "-diff_base", filepath.Join(folder.Profiles(), "generator-cpu-steady.pb.gz"), changed).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	none := results.Folder{Dir: t.TempDir()}
	if err := none.WriteRun(results.Run{Status: results.StatusFinished, Found: results.Found{Race: true}, Asked: results.Asked{Profiling: results.Profiling{Mode: profileNone}}}); err != nil {
		t.Fatal(err)
	}
	for _, refusal := range []struct {
		b     string
		is    error
		words string
	}{
		{subtracted, profiles.ErrSubtracted, "already a difference"},
		{none.Dir, nil, "B ran without a profiler"},
		{filepath.Join(dir, "missing.pb.gz"), os.ErrNotExist, "missing.pb.gz"},
		{filepath.Join(folder.Profiles(), "generator-cpu-steady.pb.gz"), profiles.ErrUnlike, "A has [cpu, steady, primary"},
	} {
		a := folder.Dir
		if refusal.is != nil {
			a = changed
		}
		if _, err := compareProfiles(io.Discard, []string{a}, []string{refusal.b}, dir); err == nil || refusal.is != nil && !errors.Is(err, refusal.is) || !strings.Contains(err.Error(), refusal.words) {
			t.Errorf("%s: %v, want %q", refusal.b, err, refusal.words)
		}
	}
	if _, err := compareProfiles(io.Discard, []string{none.Dir}, []string{none.Dir}, dir); !errors.Is(err, errNotProfiled) {
		t.Errorf("none on both sides: %v", err)
	}
}
