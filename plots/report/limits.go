package report

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"rejoin/plots/axis"
	"rejoin/results"
)

// costSection is what a batch cost, and how far that is from what the machine can do.
type costSection struct {
	Says   string
	Roles  table
	Shares table
}

func costOf(s *source) costSection {
	out := costSection{Roles: rolesTable(s.summary), Shares: table{ID: "limits", Caption: "Figures of the run beside what this machine could do at most, measured before and after it.",
		Columns: append(append(words("figure", "limit"), numbers("run", "limit before", "after", "run / limit")...), column{Text: "best possible"})}}
	limits, err := results.ReadLimits(s.folder.Limits())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		out.Shares.Empty = "no data: the run did not measure the machine; bench run --limits does"
		return out
	case err != nil:
		s.note("limits.json", err)
		out.Shares.Empty = noData
		return out
	case s.summary == nil:
		out.Shares.Empty = noData
		return out
	}
	for _, share := range results.LimitShares(limits, s.run, *s.summary) {
		best := "at least 1"
		if share.MoreIsBetter {
			best = "at most 1"
		}
		out.Shares.add(share.Figure, share.Limit, shareText(&share.Value, share.Unit), shareText(share.Before, share.Unit), shareText(share.After, share.Unit),
			axis.NumberText(share.Ratio), best)
	}
	if len(out.Shares.Rows) == 0 {
		out.Shares.Empty = noData
	}
	out.Says = "The shape is the least that a log of three nodes must do for a batch: one POST, one write and sync for all that is pending, the same at two backups, " +
		"the answer when two of three have synced. No views, no recovery: a limit, not a log."
	return out
}

func shareText(v *float64, unit string) string {
	switch {
	case v == nil:
		return noData
	case unit == "ns", unit == "ns/batch":
		return axis.DurationText(*v)
	case unit == "bytes/s":
		return axis.NumberText(*v/1e6) + " MB/s"
	}
	return axis.NumberText(*v) + " " + unit
}

// rolesTable is what a batch cost in each role.
func rolesTable(s *results.Summary) table {
	t := table{ID: "roles", Caption: "What a batch cost. Of nodes in the measured phase, by their own counters and the kernel's; of the harness over the whole load: the CPU time " +
		"of its process, in which generator, polls and the pulling of profiles are one.",
		Columns: append(words("role"), numbers("processes", "CPU time", "batches a sync", "reads and writes", "allocations", "bytes allocated", "bytes copied")...)}
	if s == nil || len(s.Cost.Roles) == 0 {
		t.Empty = noData
		return t
	}
	if roles := s.Cost.Uncounted; len(roles) > 0 {
		t.Caption += fmt.Sprintf(" Not in the table: %s, because %s.", strings.Join(roles, " and "), results.WhyNoRoleCost)
	}
	number := func(v *float64) string {
		if v == nil {
			return noData
		}
		return axis.NumberText(*v)
	}
	const notApplicable = "does not apply"
	for _, c := range s.Cost.Roles {
		if c.Role == results.RoleGenerator {
			t.add("harness", axis.CountText(int64(c.Nodes)), shareText(c.CPUNsPerBatch, "ns"), notApplicable, notApplicable, notApplicable, notApplicable, notApplicable)
			continue
		}
		t.add(c.Role, axis.CountText(int64(c.Nodes)), shareText(c.CPUNsPerBatch, "ns"), number(c.BatchesPerSync), number(c.CallsPerBatch), number(c.AllocationsPerBatch),
			number(c.AllocatedBytesPerBatch), number(c.CopiedBytesPerBatch))
	}
	return t
}
