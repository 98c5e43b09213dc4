package main

import (
	"fmt"
	"strings"

	"rejoin/results"
)

// proofTexts are the lines about generator and machine under the figures.
func proofTexts(p results.Proof) []string {
	var texts []string
	if s := p.Steal; s != nil {
		texts = append(texts, fmt.Sprintf("machine: %.1f %% of the CPU time stolen by the hypervisor (worst second %.0f %%); cores %.0f %% busy%s",
			100*s.Share, 100*s.WorstSecondShare, 100*s.BusyShare, othersText(s)))
	}
	if text := changesText(p.Canaries); text != "" {
		texts = append(texts, "machine: canaries after by before, p50: "+text)
	}
	if len(p.Checks) > 0 {
		texts = append(texts, checksText(p.Checks))
	}
	return texts
}

// judgementMeanings tell a reader of the line what a judgement does.
var judgementMeanings = []struct {
	judgement results.Judgement
	text      string
}{
	{results.JudgedInvalid, "invalid (beyond its budget, and among the reasons of the verdict)"},
	{results.JudgedDoubtful, "doubtful (beyond its budget: a warning, the verdict stands)"},
	{results.NotJudged, "not judged (no data, or the scenario asks for more than the machine can)"},
}

// checksText counts what is ok, and names the others with what that means.
func checksText(checks []results.Check) string {
	names := map[results.Judgement][]string{}
	for _, c := range checks {
		names[c.Judgement] = append(names[c.Judgement], c.Name)
	}
	parts := []string{fmt.Sprintf("proof: %d of %d checks ok", len(names[results.JudgedOK]), len(checks))}
	for _, m := range judgementMeanings {
		if of := names[m.judgement]; len(of) > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", strings.Join(of, ", "), m.text))
		}
	}
	return strings.Join(parts, "; ")
}

// othersText is how much of that belongs to other programs. Not this run's own part: it may hold stolen time, and exceed what was busy.
func othersText(s *results.StealProof) string {
	switch o := strangers(s); {
	case s.OwnShare == nil:
		return ""
	case o.untold != "":
		return fmt.Sprintf(", %.0f to %.0f %% with other programs", 100*o.least, 100*o.most)
	default:
		return fmt.Sprintf(", %.0f %% with other programs", 100**o.share)
	}
}

// changesText is how each canary changed: "cpu ×1.02, sync ×0.97".
func changesText(all []results.CanaryProof) string {
	var parts []string
	for _, c := range all {
		if c.Change != nil && c.Change.P50 != nil {
			parts = append(parts, fmt.Sprintf("%s ×%.2f", c.Name, *c.Change.P50))
		}
	}
	return strings.Join(parts, ", ")
}
