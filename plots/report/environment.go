package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"rejoin/plots/axis"
	"rejoin/results"
)

// environmentSection is the machine, the build and the load, as far as they decide the figures.
type environmentSection struct {
	Machine, Build, Load table
	// Scenario and Settings are the effective ones, as JSON.
	Scenario, Settings string
	Missing            []string
}

func environmentOf(s *source) environmentSection {
	f, a := s.run.Found, s.run.Asked
	machine := table{ID: "machine", Caption: "Machine", Columns: words("what", "value")}
	machine.add("CPU", orNoData(f.CPU))
	machine.add("cores, GOMAXPROCS", fmt.Sprintf("%d, %d; generator and nodes share them, nothing is pinned", f.Cores, f.GoMaxProcs))
	machine.add("memory", bytesText(f.MemoryBytes))
	machine.add("kernel", orNoData(f.Kernel)+" "+f.Arch)
	machine.add("data directory", orNoData(f.DataDir))
	machine.add("file system, free", orNoData(f.FileSystem)+", "+bytesText(f.DiskFreeBytes))
	build := table{ID: "build", Caption: "Build", Columns: words("what", "value")}
	build.add("commit", commitText(f))
	build.add("Go", orNoData(f.GoVersion))
	build.add("race detector", yesNo(f.Race))
	for _, key := range slices.Sorted(maps.Keys(f.BuildSettings)) {
		build.add(key, orDash(f.BuildSettings[key]))
	}
	return environmentSection{Machine: machine, Build: build, Load: loadTable(s, a), Scenario: indented(a.Scenario), Settings: indented(a.Settings), Missing: f.Missing}
}

func loadTable(s *source, a results.Asked) table {
	t := table{ID: "load", Caption: "Load", Columns: words("what", "value")}
	t.add("target, scenario", orNoData(a.Target)+", "+orNoData(a.ScenarioName))
	t.add("offered", loadText(a))
	t.add("warm-up, load", axis.DurationText(float64(a.WarmupNs))+", "+axis.DurationText(float64(a.LoadNs)))
	t.add("a batch counts as unknown after", axis.DurationText(float64(a.BatchBudgetNs)))
	t.add("seed", fmt.Sprint(a.Seed))
	t.add("profilers", profilingText(s.run))
	t.add("began", timeText(s.run.StartedAt))
	return t
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return noData
	}
	return t.UTC().Format(time.DateTime) + " UTC"
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

func commitText(f results.Found) string {
	text := orNoData(f.Commit)
	if f.Dirty {
		text += ", with changes that are in no commit"
	}
	return text
}

func indented(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	var out bytes.Buffer
	if json.Indent(&out, raw, "", "  ") != nil {
		return string(raw)
	}
	return out.String()
}

// repeatSection is how to get the same again, and where everything lies.
type repeatSection struct {
	Commands []command
	Files    table
}

type command struct{ Line, Says string }

func repeatOf(s *source) repeatSection {
	name := s.folder.Name()
	var out repeatSection
	add := func(says string, words ...string) {
		out.Commands = append(out.Commands, command{shellLine(words...), says})
	}
	if len(s.run.Asked.Arguments) > 0 {
		add("how this run was started", append([]string{"bench"}, s.run.Asked.Arguments...)...)
	}
	add("the same again: same scenario, same seed", "bench", "run", "--from", name)
	add("this page and the figures once more, from the folder", "bench", "report", name)
	add("the replicas against the ledger once more; needs the nodes' data (bench run --keep)", "bench", "verify", name)
	add("this run against another", "bench", "compare", name, "OTHER")
	out.Files = filesTable(s.folder)
	return out
}

// filesTable names what lies beside the page.
func filesTable(f results.Folder) table {
	t := table{ID: "files", Caption: "Files of the run, beside this page.", Columns: words("file", "what it holds")}
	for _, file := range []struct{ path, says string }{
		{f.SummaryFile(), "every number of this page: verdict, counts, percentiles, kills"},
		{f.RunFile(), "what was asked and what machine and build were found"},
		{f.Latency(), "HdrHistogram interval log, by second, phase and part of the latency"},
		{f.Events(), "everything that happened, on one monotonic clock"},
		{f.StatusSamples(), "what each node said at each poll"},
		{f.Rates(), "batches offered, sent and acknowledged in each second"},
		{f.ProofFile(), "what speaks for the numbers and what against them"},
		{f.Bench(), "the results for benchstat"},
		{f.Plots(), "the figures as SVG and PNG"},
		{f.Profiles(), "profiles for go tool pprof"},
	} {
		t.add(filepath.Base(file.path), file.says)
	}
	return t
}
