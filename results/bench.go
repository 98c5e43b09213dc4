package results

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// benchUnits tell benchstat which direction is better; it knows that of its own units only. It shows -ns as seconds.
var benchUnits = []struct{ unit, better string }{
	{"p50-ns", "lower"}, {"p90-ns", "lower"}, {"p99-ns", "lower"}, {"p999-ns", "lower"}, {"max-ns", "lower"},
	{"gap-ns", "lower"}, {"catchup-ns", "lower"}, {"firstack-ns", "lower"}, {"transfer-B", "lower"},
	{"batches/s", "higher"}, {"acked-batches", "higher"}, {"unknown-batches", "lower"}, {"failed-batches", "lower"},
	{"lost-batches", "lower"}, {"viewchanges", "lower"}, {"late-p99-ns", "lower"}, {"rss-anon-B", "lower"},
	{"node-cpu-ns/msg", "lower"}, {"generator-cpu-ns/msg", "lower"}, {"disk-B/msg", "lower"},
}

// WriteBench writes a run as Go benchmark results, so that `benchstat old.txt new.txt` reads two runs. What was not measured is left out.
//
// benchstat makes a table of its own for each combination of the keys, and compares nothing across tables. So the keys are what has to be
// equal (machine, target, scenario); what a comparison is about (commit) or ends as (verdict) stands in lines that it passes over.
func WriteBench(out io.Writer, r Run, s Summary) error {
	w := bufio.NewWriter(out)
	for _, c := range [][2]string{
		{"goos", "linux"}, {"goarch", r.Found.Arch}, {"pkg", "rejoin"}, {"cpu", r.Found.CPU}, {"target", s.Target}, {"scenario", s.Scenario},
		{"kernel", r.Found.Kernel}, {"filesystem", r.Found.FileSystem}, {"# commit", r.Found.Commit}, {"# verdict", string(s.Verdict)},
	} {
		if v := strings.Join(strings.Fields(c[1]), " "); v != "" {
			fmt.Fprintf(w, "%s: %s\n", c[0], v)
		}
	}
	for _, u := range benchUnits {
		fmt.Fprintf(w, "Unit %s better=%s\n", u.unit, u.better)
	}
	fmt.Fprintln(w)
	writeBenchRun(w, r, s)
	for _, name := range append(phaseNames(), Overall) {
		if q, ok := s.LatencyNs[name]; ok && q.Count > 0 {
			writeBenchPhase(w, name, q)
		}
	}
	for i, k := range s.Kills {
		writeBenchKill(w, i, k)
	}
	if err := w.Flush(); err != nil { // also holds the error of any line before
		return fmt.Errorf("write bench results: %w", err)
	}
	return nil
}

func phaseNames() []string {
	var names []string
	for _, p := range Phases() {
		names = append(names, string(p))
	}
	return names
}

// benchLine collects "value unit" pairs behind a name and an iteration count.
type benchLine struct{ b strings.Builder }

func newBenchLine(name string, n int64) *benchLine {
	l := &benchLine{}
	fmt.Fprintf(&l.b, "Benchmark%s %d", name, max(n, 1))
	return l
}

func (l *benchLine) count(v int64, unit string) *benchLine {
	fmt.Fprintf(&l.b, " %d %s", v, unit)
	return l
}

func (l *benchLine) maybe(v *int64, unit string) *benchLine {
	if v != nil {
		l.count(*v, unit)
	}
	return l
}

func (l *benchLine) maybeMs(v *float64, unit string) *benchLine {
	if v != nil {
		l.count(int64(*v*1e6), unit)
	}
	return l
}

func (l *benchLine) perMessage(total *int64, messages int64, unit string) *benchLine {
	if total != nil && messages > 0 {
		fmt.Fprintf(&l.b, " %.2f %s", float64(*total)/float64(messages), unit)
	}
	return l
}

func writeBenchRun(w io.Writer, r Run, s Summary) {
	l := newBenchLine("Run", s.AckedBatches)
	var lost *int64
	if s.Verified() || s.LostBatches > 0 {
		lost = &s.LostBatches
	}
	fmt.Fprintf(&l.b, " %.2f batches/s", s.BatchesPerS)
	l.count(s.AckedBatches, "acked-batches").count(s.UnknownBatches, "unknown-batches").count(s.FailedBatches, "failed-batches").
		maybe(lost, "lost-batches").count(s.ViewChanges, "viewchanges").maybe(s.Generator.LateP99Ns, "late-p99-ns")
	var rss *int64
	for _, r := range s.Replicas {
		if r.RssAnonMaxBytes != nil && (rss == nil || *r.RssAnonMaxBytes > *rss) {
			rss = r.RssAnonMaxBytes
		}
	}
	l.maybe(rss, "rss-anon-B").perMessage(s.Cost.NodesCPUNs, s.Cost.AckedMessages, "node-cpu-ns/msg").
		perMessage(s.Cost.GeneratorCPUNs, s.AckedBatches*int64(r.Asked.BatchMessages), "generator-cpu-ns/msg").
		perMessage(s.Cost.DeviceWrittenBytes, s.Cost.AckedMessages, "disk-B/msg")
	fmt.Fprintln(w, l.b.String())
}

func writeBenchPhase(w io.Writer, phase string, q Quantiles) {
	l := newBenchLine("Batch/phase="+phase, q.Count)
	l.maybe(q.P50, "p50-ns").maybe(q.P90, "p90-ns").maybe(q.P99, "p99-ns").maybe(q.P999, "p999-ns").maybe(q.Max, "max-ns")
	fmt.Fprintln(w, l.b.String())
}

func writeBenchKill(w io.Writer, i int, k KillSummary) {
	l := newBenchLine(fmt.Sprintf("Kill/kill=%d/role=%s", i, k.Role), 1) // which node it met differs from run to run
	l.maybeMs(k.Gap(), "gap-ns").maybeMs(k.FirstAckMs, "firstack-ns").maybeMs(k.CaughtUpMs, "catchup-ns").
		count(k.TransferBytes, "transfer-B")
	fmt.Fprintln(w, l.b.String())
}

// WriteBench writes bench.txt.
func (f Folder) WriteBench(r Run, s Summary) error {
	return WriteFileAtomic(f.Bench(), func(w io.Writer) error { return WriteBench(w, r, s) })
}
