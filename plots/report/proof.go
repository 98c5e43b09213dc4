package report

import (
	"errors"
	"fmt"
	"io/fs"

	"rejoin/plots/axis"
	"rejoin/results"
)

// proofSection answers whether the measurement can be believed.
type proofSection struct {
	Says          string
	Checks        table
	Books         table
	Samples       table
	Pauses        table
	Canaries      table
	Disagreements table
	Limits        []string
	Empty         string
}

func proofOf(s *source) proofSection {
	p, err := s.folder.ReadProof()
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.note("proof.json", err)
		}
		out := proofSection{Empty: unread("proof.json", err, "the run wrote no proof.json")}
		if s.summary != nil {
			out.Books = booksTable(booksOf(s.summary))
			out.Checks = generatorTable(s.summary)
		}
		return out
	}
	out := proofSection{Says: proofSays(p.Checks), Checks: checksTable(p.Checks), Books: booksTable(p.Books), Samples: samplesTable(p.Samples),
		Pauses: pausesTable(p.Pauses), Canaries: canariesTable(p.Canaries), Disagreements: disagreementsTable(p.Disagreements), Limits: p.Limits}
	return out
}

// proofSays is the panel in a sentence.
func proofSays(checks []results.Check) string {
	n := map[results.Judgement]int{}
	for _, c := range checks {
		n[c.Judgement]++
	}
	switch {
	case n[results.JudgedInvalid] > 0:
		return fmt.Sprintf("No: %s of %d failed, so the figures of this run are no result.", counted(int64(n[results.JudgedInvalid]), "check"), len(checks))
	case n[results.JudgedDoubtful] > 0:
		return fmt.Sprintf("With doubts: %s of %d lie outside their budgets, none so far that the run says nothing.", counted(int64(n[results.JudgedDoubtful]), "check"), len(checks))
	case n[results.JudgedOK] == 0:
		return "Nobody can tell: nothing was checked."
	case n[results.NotJudged] > 0:
		return fmt.Sprintf("Yes, as far as it was checked: %s within their budgets, %d not judged.", counted(int64(n[results.JudgedOK]), "check"), n[results.NotJudged])
	}
	return fmt.Sprintf("Yes: all %s lie within their budgets.", counted(int64(n[results.JudgedOK]), "check"))
}

// judgementTexts say a judgement in words and a sign, so that no colour is needed.
var judgementTexts = map[results.Judgement]string{
	results.JudgedOK: "✓ fine", results.JudgedDoubtful: "! doubtful", results.JudgedInvalid: "✗ invalid", results.NotJudged: "– not judged",
}

// judgementClasses are looks of rows; what a file says is never a class by itself.
var judgementClasses = map[results.Judgement]string{
	results.JudgedOK: "ok", results.JudgedDoubtful: "doubtful", results.JudgedInvalid: "bad", results.NotJudged: "open",
}

func checksTable(checks []results.Check) table {
	t := table{ID: "checks", Caption: "Each figure, its budget, and what it came to.", Columns: append(append(words("what"), numbers("figure", "budget")...), column{"judgement", "judged"}, column{Text: "why"})}
	for _, c := range checks {
		judged := judgementTexts[c.Judgement]
		if judged == "" {
			judged = string(c.Judgement)
		}
		figure := noData
		if c.Value != nil {
			figure = inUnit(*c.Value, c.Unit)
		}
		t.addIn(judgementClasses[c.Judgement], c.What, figure, relationText(c.Relation)+" "+inUnit(c.Budget, c.Unit), judged, c.Reason)
	}
	if len(checks) == 0 {
		t.Empty = "no data: nothing was checked"
	}
	return t
}

func relationText(r results.Relation) string {
	if r == results.AtLeast {
		return "at least"
	}
	return "at most"
}

// inUnit spells a value of a check.
func inUnit(v float64, unit string) string {
	switch unit {
	case "ns":
		return axis.DurationText(v)
	case "share":
		return axis.NumberText(100*v) + " %"
	case "factor":
		return axis.NumberText(v) + " times"
	case "batches", "samples", "count":
		return axis.NumberText(v)
	}
	return axis.NumberText(v) + " " + unit
}

// generatorTable is what a run without a proof knows of its generator.
func generatorTable(s *results.Summary) table {
	g := s.Generator
	t := table{ID: "checks", Caption: "What is known of the generator.", Columns: append(words("what"), numbers("figure")...)}
	t.add("late by its own fault, p99", knownNs(g.LateP99Ns))
	t.add("late by its own fault, max", knownNs(g.LateMaxNs))
	t.add("overshoot of the pacer ("+orNoData(g.PacerMode)+"), p99", knownNs(g.OvershootP99Ns))
	t.add("share of all CPU time", percentText(g.CPUShare))
	t.add("longest garbage collection pause", knownNs(g.GCPauseMaxNs))
	return t
}

func booksOf(s *results.Summary) results.BooksProof {
	return results.BooksProof{Offered: s.OfferedBatches, Acked: s.AckedBatches, Unknown: s.UnknownBatches, Failed: s.FailedBatches, Attempts: s.Attempts, Histogram: s.Histogram}
}

// booksTable is the sum that must come out even.
func booksTable(b results.BooksProof) table {
	t := table{ID: "books", Caption: "Every offered batch ends as acknowledged, unknown or failed.", Columns: append(words("batches"), column{"count", "number judged"})}
	if b.Asked > 0 {
		t.add("asked by the timetable", axis.CountText(b.Asked))
	}
	t.add("offered (fell due)", axis.CountText(b.Offered))
	if b.Sent > 0 {
		t.add("sent", axis.CountText(b.Sent))
	}
	t.add("acknowledged", axis.CountText(b.Acked))
	t.add("unknown (may or may not be in the log)", axis.CountText(b.Unknown))
	t.add("failed (certainly not in the log)", axis.CountText(b.Failed))
	sum := b.Acked + b.Unknown + b.Failed
	if sum == b.Offered {
		t.addIn("total ok", "acknowledged + unknown + failed", axis.CountText(sum)+" ✓ equals offered")
	} else {
		t.addIn("total bad", "acknowledged + unknown + failed", axis.CountText(sum)+" ✗ is not what was offered")
	}
	t.add("tries on the wire", axis.CountText(b.Attempts))
	if b.SteadyDue > 0 {
		t.add("of the steady phase: offered in time, of those due", axis.CountText(b.SteadyInTime)+" of "+axis.CountText(b.SteadyDue))
	}
	h := b.Histogram
	t.add("latencies above the histogram's range, negative, lost in merging", axis.CountText(h.OverflowCount)+", "+axis.CountText(h.NegativeCount)+", "+axis.CountText(h.MergeLostCount))
	return t
}

func samplesTable(samples []results.PhaseSamples) table {
	t := table{ID: "samples", Caption: "What each phase rests on: a percentile is shown only if at least ten batches lie above it.",
		Columns: append(words("phase"), numbers("batches", "highest percentile shown")...)}
	for _, p := range samples {
		highest := "none"
		if p.Highest > 0 {
			highest = "p" + axis.NumberText(100*p.Highest)
			if p.Highest > 0.999 {
				highest = "p99.99"
			}
		}
		t.add(string(p.Phase), axis.CountText(p.Samples), highest)
	}
	if len(samples) == 0 {
		t.Empty = noData
	}
	return t
}

func pausesTable(pauses []results.PausesProof) table {
	t := table{ID: "pauses", Caption: "Garbage collection during the load.", Columns: append(words("process"), numbers("collections", "longest pause")...)}
	for _, p := range pauses {
		t.add(p.Source, axis.CountText(p.Cycles), knownNs(p.LongestNs))
	}
	if len(pauses) == 0 {
		t.Empty = noData
	}
	return t
}

var canaryNames = map[string]string{
	results.CanaryCPU: "a fixed piece of arithmetic", results.CanarySync: "one frame appended and synced", results.CanaryLoopback: "one frame over loopback and an answer",
}

func canariesTable(canaries []results.CanaryProof) table {
	t := table{ID: "canaries", Caption: "The same small measurements before the nodes were started and after they had ended: was it the same machine?",
		Columns: append(words("canary"), numbers("p50 before", "p50 after", "p99 before", "p99 after", "p50 after / before")...)}
	for _, c := range canaries {
		name := canaryNames[c.Name]
		if name == "" {
			name = c.Name
		}
		before, after := c.Before, c.After
		if before == nil {
			before = &results.CanaryTimes{}
		}
		if after == nil {
			after = &results.CanaryTimes{}
		}
		change := noData
		if c.Change != nil && c.Change.P50 != nil {
			change = axis.NumberText(*c.Change.P50) + " times"
		}
		t.add(name, knownNs(before.P50Ns), knownNs(after.P50Ns), knownNs(before.P99Ns), knownNs(after.P99Ns), change)
	}
	if len(canaries) == 0 {
		t.Empty = noData
	}
	return t
}

func disagreementsTable(all []results.Disagreement) table {
	t := table{ID: "disagreements", Caption: "Where a node tells its recovery otherwise than it looks from outside.",
		Columns: append(words("kill", "node", "what"), numbers("told by the server", "seen from outside", "tolerance")...)}
	for _, d := range all {
		number := func(v *float64) string { return disagreedText(v, d.Unit) }
		kill := "the whole run"
		if d.Kill != nil {
			kill = axis.CountText(int64(*d.Kill) + 1)
		}
		t.add(kill, orDash(d.Node), d.Title(), number(d.Server), number(d.Outside), number(&d.Tolerance))
	}
	if len(all) == 0 {
		t.Empty = "none: what the nodes told agrees with what was seen"
	}
	return t
}

// disagreedText is a value of a disagreement.
func disagreedText(v *float64, unit string) string {
	switch {
	case v == nil:
		return noData
	case unit == "ms":
		return axis.DurationText(*v * 1e6)
	case unit == "ops":
		return counted(int64(*v), "op")
	}
	return axis.CountText(int64(*v))
}
