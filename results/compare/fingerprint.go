package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// fact is one line of a run's fingerprint. An empty value is not known and fits everything.
type fact struct{ name, value string }

// fingerprint is what has to be equal before two runs are compared: machine, build, layout, load and scenario. What the comparison is about
// (commit), what never repeats (seed, ports, times) and what only describes (name, about, demands) is not in it.
func fingerprint(r Run) []fact {
	f, a := r.Run.Found, r.Run.Asked
	facts := []fact{
		{"cores", positive(f.Cores)},
		{"GOMAXPROCS", positive(f.GoMaxProcs)},
		{"CPU", f.CPU},
		{"memory", memoryText(f.MemoryBytes)},
		{"kernel", f.Kernel},
		{"architecture", f.Arch},
		{"file system", f.FileSystem},
		{"Go", f.GoVersion},
		{"race detector", onOff(f.Race)},
		{"profilers", a.Profiling.Mode},
		{"target", a.Target},
		{"nodes", positive(a.Nodes)},
		{"producers", positive(a.Producers)},
		{"messages a batch", positive(a.BatchMessages)},
		{"payload", positive(int(a.PayloadBytes)) + " B"},
		{"rate", fmt.Sprintf("%g messages/s", a.MessagesPerS)},
	}
	for _, setting := range slices.Sorted(maps.Keys(f.BuildSettings)) {
		if setting != "-ldflags" { // may hold the version
			facts = append(facts, fact{"build " + setting, f.BuildSettings[setting]})
		}
	}
	return append(facts, scenarioFacts(a.Scenario)...)
}

// notParameters are the fields of a scenario that do not decide what happens in the run, or that have a line of their own above.
var notParameters = []string{"about", "demands", "repetitions", "target", "nodes", "producers", "batch_messages", "payload_bytes", "messages_per_s"}

// scenarioFact begins the names of the facts that are parameters of the scenario.
const scenarioFact = "scenario "

// scenarioFacts are the scenario's parameters, each field of the first level one.
func scenarioFacts(text json.RawMessage) []fact {
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil {
		return nil
	}
	var facts []fact
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if slices.Contains(notParameters, name) {
			continue
		}
		var flat bytes.Buffer
		if json.Compact(&flat, fields[name]) != nil {
			continue
		}
		facts = append(facts, fact{scenarioFact + name, strings.Trim(flat.String(), `"`)})
	}
	return facts
}

// memoryText rounds to MiB of 64: kernels of one machine reserve a little more or less.
func memoryText(n *int64) string {
	if n == nil {
		return ""
	}
	const step = 64 << 20
	return fmt.Sprintf("%d MiB", (*n+step/2)/step*step>>20)
}

func positive(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// notSet is the value of a scenario's field that a run does not have.
const notSet = "not set"

// compareFacts lists the facts of all runs, and those in which runs differ. sameCommand: all runs were made by one command line, so that a
// field which only one build knows is no difference.
func compareFacts(runs []Run, sameCommand bool) (facts []Fact, mismatches []Mismatch) {
	values := map[string]*Mismatch{}
	for _, r := range runs {
		for _, f := range fingerprint(r) {
			m := values[f.name]
			if m == nil {
				m = &Mismatch{Fact: f.name}
				values[f.name] = m
				facts = append(facts, Fact{Name: f.name, Value: f.value})
			}
			if f.value != "" {
				m.add(f.value, r.Name)
			}
		}
	}
	for i, f := range facts {
		m := values[f.Name]
		if strings.HasPrefix(f.Name, scenarioFact) && !sameCommand {
			for _, r := range runs {
				if !m.has(r.Name) {
					m.add(notSet, r.Name)
				}
			}
		}
		if len(m.Values) > 0 {
			facts[i].Value = m.Values[0].Value
		}
		if len(m.Values) > 1 {
			mismatches = append(mismatches, *m)
		}
	}
	return facts, mismatches
}

func (m *Mismatch) has(run string) bool {
	return slices.ContainsFunc(m.Values, func(v FactValue) bool { return slices.Contains(v.Runs, run) })
}

func (m *Mismatch) add(value, run string) {
	for i := range m.Values {
		if v := &m.Values[i]; v.Value == value {
			if !slices.Contains(v.Runs, run) {
				v.Runs = append(v.Runs, run)
			}
			return
		}
	}
	m.Values = append(m.Values, FactValue{Value: value, Runs: []string{run}})
}

// String says what differs, with one run of each value.
func (m Mismatch) String() string {
	var parts []string
	for _, v := range m.Values {
		who := v.Runs[0]
		if len(v.Runs) > 1 {
			who = fmt.Sprintf("%s and %d more", who, len(v.Runs)-1)
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", v.Value, who))
	}
	return m.Fact + ": " + strings.Join(parts, ", ")
}
