package main

import (
	"fmt"
	"strings"
	"time"
)

// textLine is a view as one plain line.
func (v *liveView) textLine() string {
	parts := []string{v.stepText()}
	if v.Step == stepLoad {
		parts = append(parts, fmt.Sprintf("%5.0f batches/s", v.BatchesPerS), "p50 "+nsText(v.P50Ns), "p99 "+nsText(v.P99Ns),
			fmt.Sprintf("waiting %d", v.WaitingBatches))
		if v.ReadBatches > 0 {
			parts = append(parts, fmt.Sprintf("read p50 %s p99 %s", nsText(v.ReadP50Ns), nsText(v.ReadP99Ns)))
		}
	}
	for _, n := range v.Nodes {
		parts = append(parts, n.short(v.LagFloorOps))
	}
	if v.WaitingFor != "" {
		parts = append(parts, v.WaitingFor)
	}
	if len(v.Faults) > 0 {
		parts = append(parts, "| "+strings.Join(v.Faults, ", "))
	}
	return strings.Join(parts, "  ")
}

func (v *liveView) stepText() string {
	switch {
	case v.TotalS == 0:
		return v.Step
	case v.Step == stepLoad:
		return loadText(seconds(v.ElapsedS), seconds(v.TotalS))
	}
	return fmt.Sprintf("%s: %.0f/%.0fs", v.Step, v.ElapsedS, v.TotalS)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// lags says whether a node is behind by more than the news that is always under way.
func (n liveNode) lags(floor int64) bool { return n.LagOps != nil && *n.LagOps > floor }

// short is a node within a line: n1 backup -120, n2 transferring 43%.
func (n liveNode) short(lagFloor int64) string {
	if !n.Up {
		return n.Node + " down"
	}
	text := n.Node + " " + n.Role
	if n.lags(lagFloor) {
		text += fmt.Sprintf(" -%d", *n.LagOps)
	}
	switch {
	case n.Transfer != nil:
		text += fmt.Sprintf(" (%s %.0f%%)", n.Transfer.Kind, n.Transfer.Percent)
	case n.State != "normal" && n.State != "":
		text += fmt.Sprintf(" (%s)", n.State)
	}
	return text
}

// barCells is the width of the bar in a block.
const barCells = 30

// textBlock is a view as lines for a terminal, one idea a line.
func (v *liveView) textBlock() []string {
	head := v.stepText()
	if v.TotalS > 0 {
		share := min(max(v.ElapsedS/v.TotalS, 0), 1)
		full := int(share * barCells)
		head += fmt.Sprintf("  [%s%s] %3.0f %%", strings.Repeat("#", full), strings.Repeat(".", barCells-full), 100*share)
	}
	lines := []string{head}
	if v.Step == stepLoad {
		lines = append(lines, fmt.Sprintf("  %6.0f batches/s   p50 %s   p99 %s   waiting %d   acknowledged %d of %d",
			v.BatchesPerS, nsText(v.P50Ns), nsText(v.P99Ns), v.WaitingBatches, v.AckedBatches, v.DueBatches))
	}
	if v.ReadBatches > 0 {
		lines = append(lines, fmt.Sprintf("  consumers: read %d batches   p50 %s   p99 %s from due", v.ReadBatches, nsText(v.ReadP50Ns), nsText(v.ReadP99Ns)))
	}
	for _, n := range v.Nodes {
		lines = append(lines, "  "+n.row(v.LagFloorOps))
	}
	if v.WaitingFor != "" {
		lines = append(lines, "  waiting: "+v.WaitingFor)
	}
	if v.Step == stepLoad {
		now := "none"
		if len(v.Faults) > 0 {
			now = strings.Join(v.Faults, ", ")
		}
		lines = append(lines, "  fault now: "+now, "  next: "+v.Next.text())
	}
	return lines
}

func (n *liveNext) text() string {
	if n == nil {
		return "no fault"
	}
	return fmt.Sprintf("%s in %.0f s", n.What, n.InS)
}

// row is a node in a line of its own.
func (n liveNode) row(lagFloor int64) string {
	if !n.Up {
		return n.Node + "  down"
	}
	role := n.Role
	if role == "" {
		role = "no role"
	}
	parts := []string{fmt.Sprintf("%s  %-7s", n.Node, role)}
	if n.State != "normal" && n.State != "" && n.Transfer == nil {
		parts = append(parts, n.State)
	}
	if t := n.Transfer; t != nil {
		text := fmt.Sprintf("%s %3.0f %% of %d ops, %.0f ops/s", t.Kind, t.Percent, t.TotalOps, t.OpsPerS)
		if t.BytesPerS > 0 {
			text += fmt.Sprintf(", %.1f MiB/s", t.BytesPerS/(1<<20))
		}
		parts = append(parts, text)
	}
	if n.lags(lagFloor) {
		parts = append(parts, counted(*n.LagOps, "op")+" behind")
	}
	return strings.TrimRight(strings.Join(parts, "  "), " ")
}
