package report

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"rejoin/plots/axis"
	"rejoin/results"
)

// headline is what stands first: the verdict in plain words, why, and the figures that people ask for.
type headline struct {
	Verdict string // the word; "none" without a summary
	Class   string // look of the banner
	Sign    string // a mark that tells verdicts apart without colour
	Says    string
	Reasons []string
	// Doubts are warnings: they change no verdict, but a reader should know them.
	Doubts []string
	Facts  []fact
}

// fact is one figure with its name and what it is judged by.
type fact struct{ Name, Value, Note string }

func headlineOf(s *source) headline {
	if s.summary == nil {
		h := headline{Verdict: "none", Class: "invalid", Sign: "?", Says: "There is no verdict: the run is still going on, or it ended before it could judge itself."}
		if !errors.Is(s.summaryErr, fs.ErrNotExist) {
			h.Says = "The verdict is not known: summary.json is there and could not be read."
		}
		if s.run.Error != "" {
			h.Reasons = []string{s.run.Error}
		}
		return h
	}
	h := headline{Verdict: string(s.summary.Verdict), Reasons: s.summary.Reasons}
	h.Class, h.Sign, h.Says = verdictLook(s.summary)
	h.Doubts = append(h.Doubts, s.summary.Warnings...)
	for _, w := range s.run.Found.Warnings() {
		if !slices.Contains(h.Doubts, w) {
			h.Doubts = append(h.Doubts, w)
		}
	}
	h.Facts = factsOf(s)
	return h
}

func verdictLook(s *results.Summary) (class, sign, says string) {
	switch s.Verdict {
	case results.Pass:
		return "pass", "✓", "Every acknowledged batch was found on every replica, once and in order, and every demand of the scenario was met."
	case results.Fail:
		if s.ExitCode == results.ExitLoss {
			return "fail", "✗", "The log broke a promise: what it had acknowledged was lost, duplicated, reordered or changed, or its replicas differ."
		}
		return "fail", "✗", "A demand of the scenario was missed. Nothing that was acknowledged was lost."
	case results.Stuck:
		return "fail", "✗", "A replica did not catch up, or could not be read to its end."
	case results.Invalid:
		return "invalid", "?", "Generator, machine or sample were too weak to tell. The figures below say what was seen; they are no result."
	case results.Interrupted:
		return "invalid", "?", "A person stopped the run. The figures below tell what was measured until then."
	}
	return "invalid", "?", "This bench does not know this verdict."
}

func factsOf(s *source) []fact {
	sum := s.summary
	acked := fact{"acknowledged", axis.CountText(sum.AckedBatches), fmt.Sprintf("of %s offered; %s unknown, %s failed", counted(sum.OfferedBatches, "batch"),
		axis.CountText(sum.UnknownBatches), axis.CountText(sum.FailedBatches))}
	facts := []fact{acked, lostFact(sum)}
	steady := sum.LatencyNs[string(results.Steady)]
	facts = append(facts, fact{"steady latency, p50", nsText(steady.P50), fmt.Sprintf("p99 %s, max %s; of %s", nsText(steady.P99), nsText(steady.Max), counted(steady.Count, "batch"))})
	return append(facts, gapFact(sum), catchupFact(sum), fact{"throughput", axis.NumberText(sum.BatchesPerS) + "/s", "acknowledged batches, without the warm-up"})
}

// lostFact is what the verifier found. Where it did not read all, what it found stands there, and what it did not find is not known.
func lostFact(sum *results.Summary) fact {
	diverged := int64(len(sum.DivergedReplicas))
	if sum.Verified() {
		f := fact{"lost", axis.CountText(sum.LostBatches), fmt.Sprintf("%s duplicated, %s reordered, no replica diverged", axis.CountText(sum.DuplicatedBatches), axis.CountText(sum.ReorderedBatches))}
		if diverged > 0 {
			f.Note = fmt.Sprintf("%s duplicated, %s reordered, %s", axis.CountText(sum.DuplicatedBatches), axis.CountText(sum.ReorderedBatches), divergedText(diverged))
		}
		return f
	}
	var note []string
	if sum.DuplicatedBatches > 0 {
		note = append(note, axis.CountText(sum.DuplicatedBatches)+" duplicated")
	}
	if sum.ReorderedBatches > 0 {
		note = append(note, axis.CountText(sum.ReorderedBatches)+" reordered")
	}
	if diverged > 0 {
		note = append(note, divergedText(diverged))
	}
	if len(sum.Verification) == 0 {
		note = append(note, "not verified")
	} else {
		note = append(note, "not every reading was made")
	}
	return fact{"lost", foundText(sum, sum.LostBatches), strings.Join(note, ", ")}
}

func divergedText(nodes int64) string { return counted(nodes, "node") + " with a diverged replica" }

// foundText is a count of what the verifier looked for. A 0 means that there was none only where it read all that it was to read.
func foundText(s *results.Summary, n int64) string {
	if n == 0 && !s.Verified() {
		return noData
	}
	return axis.CountText(n)
}

// gapFact is the longest silence around any kill or stop.
func gapFact(s *results.Summary) fact {
	f := fact{Name: "longest gap", Value: "–", Note: "no node was killed or stopped during the load"}
	longest := -1.0
	look := func(node, role, was string, gapMs, atMs *float64, own bool) {
		if gapMs == nil || *gapMs <= longest {
			return
		}
		longest = *gapMs
		f.Value = axis.DurationText(*gapMs * 1e6)
		f.Note = fmt.Sprintf("without an acknowledgement, when %s (%s) was %s", node, role, was)
		if !own && atMs != nil {
			f.Note = fmt.Sprintf("without an acknowledgement, at %.1f s, later than that %s was %s", *atMs/1e3, node, was)
		}
	}
	for _, k := range s.Kills {
		look(k.Node, k.Role, string(k.How.Word()), k.Gap(), k.GapAtMs, k.GapIsOwn())
	}
	for _, stop := range s.Stops {
		look(stop.Node, stop.Role, "stopped", stop.Gap(), stop.GapAtMs, stop.GapIsOwn())
	}
	return f
}

// catchupFact is the slowest return.
func catchupFact(s *results.Summary) fact {
	f := fact{Name: "slowest catch-up", Value: "–", Note: "no node was started again"}
	slowest := -1.0
	for _, k := range s.Kills {
		switch {
		case k.DownMs == nil:
		case k.CaughtUpMs == nil:
			return fact{f.Name, "never", fmt.Sprintf("%s did not catch up after its restart", k.Node)}
		case *k.CaughtUpMs > slowest:
			slowest = *k.CaughtUpMs
			f.Value, f.Note = axis.DurationText(*k.CaughtUpMs*1e6), fmt.Sprintf("%s, from its restart after %s down", k.Node, msText(k.DownMs, noData))
		}
	}
	return f
}
