package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rejoin/results"
)

// verifiedText says where counts of what the verifier found may be too low.
func verifiedText(s results.Summary) string {
	switch {
	case s.Verified():
		return ""
	case len(s.Verification) == 0:
		return " (not verified)"
	}
	return " (in what was read; not every reading was made)"
}

// tell prints the outcome for a person.
func (r *session) tell(s results.Summary) {
	p := r.say
	p.line("")
	p.line("offered %d batches, acknowledged %d, unknown %d, failed %d; lost %d, duplicated %d, reordered %d%s", s.OfferedBatches, s.AckedBatches,
		s.UnknownBatches, s.FailedBatches, s.LostBatches, s.DuplicatedBatches, s.ReorderedBatches, verifiedText(s))
	p.line("in all, on every node: %s, %s", counted(s.ViewChanges, "view change"), movedText(s, s.Repairs, s.Transfers, apartText(s, repairsOf), apartText(s, transfersOf)))
	for _, sentence := range latencyTexts(s) {
		p.line("%s", sentence)
	}
	for _, phase := range append(results.Phases(), results.Overall) {
		if q, ok := s.ReadNs[string(phase)]; ok && q.Count > 0 {
			p.line("due to read %-8s p50 %-8s p99 %-8s max %-8s of %d batches by %s", phase, nsText(q.P50), nsText(q.P99), nsText(q.Max), q.Count,
				counted(int64(len(s.Consumers)), "consumer"))
		}
	}
	for _, sentence := range costTexts(s) {
		p.line("%s", sentence)
	}
	for _, sentence := range lateTexts(s, r.scenario) {
		p.line("%s", sentence)
	}
	for _, sentence := range proofTexts(r.proof) {
		p.line("%s", sentence)
	}
	p.line("setting: %s", r.headerText())
	for _, text := range faultTexts(s) {
		p.line("%s", text)
	}
	for _, sentence := range r.profileTexts() {
		p.line("%s", sentence)
	}
	reasons := s.Reasons
	if reasons == nil {
		reasons = []string{}
	}
	defer p.tell(func(w watcher) {
		w.verdict(runVerdict{Verdict: s.Verdict, ExitCode: s.ExitCode, Reasons: reasons, Folder: r.folder.Dir})
	})
	if _, err := os.Stat(r.folder.Report()); err == nil { // an interrupted run may have none
		p.line("report: open %s", r.folder.Report())
	}
	p.always("%s (exit code %d): %s", s.Verdict, s.ExitCode, r.folder.Dir)
	for _, reason := range s.Reasons {
		p.always("  because %s", reason)
	}
	if kept := r.keptText(s.Verdict); kept != "" {
		p.always("  %s", kept)
	}
}

// latencyTexts are the latencies of each phase that has some. A batch is one sample, however many messages it holds.
func latencyTexts(s results.Summary) []string {
	var texts []string
	for _, phase := range append(results.Phases(), results.Overall) {
		if q, ok := s.LatencyNs[string(phase)]; ok && q.Count > 0 {
			texts = append(texts, fmt.Sprintf("latency %-8s p50 %-8s p90 %-8s p99 %-8s p99.9 %-8s max %-8s of %d batches", phase,
				nsText(q.P50), nsText(q.P90), nsText(q.P99), nsText(q.P999), nsText(q.Max), q.Count))
		}
	}
	return texts
}

// lateTexts tells the two latenesses of summary.json apart: generator.late_p99_ns, which is judged, and late_ns, which is not.
func lateTexts(s results.Summary, scenario Scenario) []string {
	if s.Generator.LateP99Ns == nil {
		return nil
	}
	limit := fmt.Sprintf("judged, at most %v", scenario.Demands.LateP99Max)
	if scenario.saturates() {
		limit = "not judged at saturation"
	}
	texts := []string{fmt.Sprintf("generator: late by its own fault p99 %s (%s)", nsText(s.Generator.LateP99Ns), limit)}
	if q, ok := s.LateNs[string(results.Overall)]; ok {
		texts = append(texts, fmt.Sprintf("generator: from due to sent p99 %s (not judged: with the time a batch waits for the answer to the one before it)", nsText(q.P99)))
	}
	return texts
}

// atText is when a kill was; one before the load has a time before the run's time 0, which says nothing to anybody.
func atText(atMs float64) string {
	if atMs < 0 {
		return "before the load"
	}
	return fmt.Sprintf("at %.1f s", atMs/1e3)
}

func repairsOf(s results.Summary) (all, inReturns int64) {
	for _, k := range s.Kills {
		inReturns += k.Repairs
	}
	return s.Repairs, inReturns
}

func transfersOf(s results.Summary) (all, inReturns int64) {
	for _, k := range s.Kills {
		inReturns += k.Transfers
	}
	return s.Transfers, inReturns
}

// apartText says how many of a sum stand in no line of a kill: those of nodes that had caught up already, or were only stopped.
func apartText(s results.Summary, of func(results.Summary) (all, inReturns int64)) string {
	all, inReturns := of(s)
	if rest := all - inReturns; rest > 0 && len(s.Kills) > 0 {
		return fmt.Sprintf(" (%d of them apart from the returns below)", rest)
	}
	return ""
}

// faultTexts are kills and stops in order of time.
func faultTexts(s results.Summary) []string {
	type line struct {
		atMs float64
		text string
	}
	var lines []line
	for _, k := range s.Kills {
		lines = append(lines, line{k.AtMs, killText(s, k)})
	}
	for _, stop := range s.Stops {
		lines = append(lines, line{stop.AtMs, stopText(stop)})
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.atMs, b.atMs) })
	var texts []string
	for _, l := range lines {
		texts = append(texts, l.text)
	}
	return texts
}

// ackTexts say how long the producers had to wait around a fault.
func ackTexts(whose string, atMs float64, firstAckMs *float64, gapMs float64, gapAtMs *float64) (parts []string) {
	switch {
	case firstAckMs == nil:
		parts = append(parts, "no acknowledgement after it")
	case atMs >= 0:
		parts = append(parts, "first acknowledgement"+whose+" after "+msText(firstAckMs))
	}
	if gapAtMs != nil {
		parts = append(parts, fmt.Sprintf("longest gap %.0f ms (at %.1f s)", gapMs, *gapAtMs/1e3))
	}
	return parts
}

// stopText is one stop and what it cost.
func stopText(s results.StopSummary) string {
	parts := []string{"stopped to the end"}
	if s.StoppedMs != nil {
		parts = []string{"stopped for " + msText(s.StoppedMs)}
	}
	parts = append(parts, ackTexts("", s.AtMs, s.FirstAckMs, s.GapWithoutAckMs, s.GapAtMs)...)
	return fmt.Sprintf("stop %s (%s) %s: %s", s.Node, s.Role, atText(s.AtMs), strings.Join(parts, ", "))
}

// killText is one kill and what it cost.
func killText(s results.Summary, k results.KillSummary) string {
	parts := []string{"stayed down"}
	if k.DownMs != nil {
		parts = []string{"down " + msText(k.DownMs)}
	}
	parts = append(parts, ackTexts(k.AckedBy(), k.AtMs, k.FirstAckMs, k.GapWithoutAckMs, k.GapAtMs)...)
	if k.DownMs != nil {
		back := "never caught up"
		if k.CaughtUpMs != nil {
			back = fmt.Sprintf("caught up %s after its restart", msText(k.CaughtUpMs))
		}
		parts = append(parts, back, movedText(s, k.Repairs, k.Transfers, fmt.Sprintf(" (%s)", counted(k.RepairOps, "op")),
			fmt.Sprintf(" (%s, %s)", counted(k.TransferOps, "op"), bytesText(&k.TransferBytes))))
	}
	return fmt.Sprintf("%s %s (%s) %s: %s", k.How.Verb(), k.Node, k.Role, atText(k.AtMs), strings.Join(parts, ", "))
}

// movedText is what was repaired and transferred, or that nobody tells.
func movedText(s results.Summary, repairs, transfers int64, ofRepairs, ofTransfers string) string {
	if !s.Tells(results.UntoldRepairs) {
		return "repairs and transfers: no data"
	}
	return counted(repairs, "repair") + ofRepairs + ", " + counted(transfers, "transfer") + ofTransfers
}

// keptText says that the nodes' data stays, how much it is, and how to be rid of it; empty when it goes or there is none.
func (r *session) keptText(verdict results.Verdict) string {
	if !r.folder.HasData() || verdict == results.Pass && !r.command.Keep {
		return ""
	}
	return fmt.Sprintf("the nodes' data is kept (%s); bench clean --data %s removes it", bytesText(new(treeBytes(r.folder.Data()))), r.folder.Dir)
}

// treeBytes sums the files under a folder; what cannot be read counts nothing.
func treeBytes(dir string) (sum int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	})
	return sum
}

// counted is a number with its thing, in the plural where one is due.
func counted(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func msText(ms *float64) string {
	if ms == nil {
		return "never"
	}
	return fmt.Sprintf("%.0f ms", *ms)
}
