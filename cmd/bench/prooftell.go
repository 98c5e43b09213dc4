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
	counts := map[results.Judgement]int{}
	var names []string
	for _, c := range p.Checks {
		counts[c.Judgement]++
		if c.Judgement != results.JudgedOK {
			names = append(names, fmt.Sprintf("%s %s", c.Name, strings.ReplaceAll(string(c.Judgement), "_", " ")))
		}
	}
	if len(p.Checks) > 0 {
		text := fmt.Sprintf("proof: %d of %d checks ok", counts[results.JudgedOK], len(p.Checks))
		if len(names) > 0 {
			text += "; " + strings.Join(names, ", ")
		}
		texts = append(texts, text)
	}
	return texts
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
