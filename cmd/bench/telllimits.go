package main

import (
	"fmt"
	"strings"

	"rejoin/results"
)

// costTexts say what a batch cost in each role.
func costTexts(s results.Summary) (texts []string) {
	texts = append(texts, fmt.Sprintf("acknowledged %.0f batches/s, %.0f messages/s, %.1f MB/s in the measured phase", s.BatchesPerS,
		messagesPerS(s), s.BatchesPerS*float64(s.FrameBytes)/1e6))
	for _, c := range s.Cost.Roles {
		var parts []string
		add := func(v *float64, scale float64, format string) {
			if v != nil {
				parts = append(parts, fmt.Sprintf(format, *v/scale))
			}
		}
		add(c.CPUNsPerBatch, 1e3, "%.0f µs CPU")
		add(c.BatchesPerSync, 1, "%.1f batches a sync")
		add(c.CallsPerBatch, 1, "%.1f reads and writes")
		add(c.AllocationsPerBatch, 1, "%.1f allocations")
		add(c.AllocatedBytesPerBatch, 1, "%.0f bytes allocated")
		add(c.CopiedBytesPerBatch, 1, "%.0f copied")
		if c.Role == results.RoleGenerator {
			texts = append(texts, "a batch in the harness     "+strings.Join(parts, ", ")+" (the whole process: generator, polls, profiles)")
			continue
		}
		texts = append(texts, fmt.Sprintf("a batch at the %-11s %s", c.Role, strings.Join(parts, ", ")))
	}
	if roles := s.Cost.Uncounted; len(roles) > 0 {
		texts = append(texts, fmt.Sprintf("a batch at the %s: no data: %s", strings.Join(roles, ", "), results.WhyNoRoleCost))
	}
	return texts
}

// messagesPerS are acknowledged in the measured phase.
func messagesPerS(s results.Summary) float64 {
	if s.MeasuredNs <= 0 {
		return 0
	}
	return float64(s.Cost.AckedMessages) / (float64(s.MeasuredNs) / 1e9)
}
