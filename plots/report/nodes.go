package report

import (
	"cmp"
	"fmt"
	"slices"

	"rejoin/plots"
	"rejoin/plots/axis"
	"rejoin/results"
)

// stretch is a time in which a node was one thing.
type stretch struct {
	FromNs, ToNs int64
	// Is is a role, a state other than normal, or "silent" for no answer.
	Is string
}

const silent = "silent"

// stretchesOf cuts the polls of each node into stretches. blinkNs is the shortest that is kept: a long run with a flapping node must not fill
// the page. Times without an answer are kept however short.
type stretchCollector struct {
	blinkNs int64
	nodes   map[string][]stretch
}

func (c *stretchCollector) add(s results.Status) {
	is := silent
	switch {
	case s.Up && s.State != "" && s.State != "normal":
		is = s.State
	case s.Up:
		is = cmp.Or(s.Role, results.RoleUnknown)
	}
	all := c.nodes[s.Node]
	if n := len(all); n > 0 {
		last := &all[n-1]
		last.ToNs = s.TNs
		if last.Is == is {
			return
		}
		if last.ToNs-last.FromNs < c.blinkNs && last.Is != silent && n > 1 { // too short to be seen: it goes to the one before
			all[n-2].ToNs = s.TNs
			all = all[:n-1]
			if all[n-2].Is == is {
				c.nodes[s.Node] = all
				return
			}
		}
	}
	c.nodes[s.Node] = append(all, stretch{s.TNs, s.TNs, is})
}

// names of the nodes, in order.
func (c *stretchCollector) names() []string {
	var names []string
	for name := range c.nodes {
		names = append(names, name)
	}
	slices.SortFunc(names, plots.CompareNodes)
	return names
}

// boxesMax bounds the boxes of one node.
const boxesMax = 1500

// lanesOf is a row for each node: what it was, when it was down, what it repaired and transferred, and its view changes.
func lanesOf(s *source) []lane {
	var out []lane
	for _, name := range s.nodes.names() {
		l := lane{Name: name}
		for _, st := range s.nodes.nodes[name] {
			if st.Is != silent {
				l.add(s, st.FromNs, st.ToNs, "is-"+roleClass(st.Is), st.Is, "")
			}
		}
		for _, d := range s.figures.Downs {
			if d.Node == name {
				l.addDown(s, d)
			}
		}
		for _, a := range s.activities {
			if a.Node == name {
				l.addActivity(s, a)
			}
		}
		out = append(out, l)
	}
	return out
}

// roleClass keeps what came from a file out of class names.
func roleClass(is string) string {
	if slices.Contains([]string{results.RolePrimary, results.RoleBackup, "view_change", "repairing", "transferring", "wiped", "fenced"}, is) {
		return is
	}
	return "other"
}

// add appends a box; one that lies outside the axis is left out.
func (l *lane) add(s *source, fromNs, toNs int64, class, text, detail string) {
	from, to := max(fromNs, 0), min(toNs, s.figures.EndNs)
	if to < from || len(l.Boxes) >= boxesMax {
		return
	}
	title := fmt.Sprintf("%s %s, %s for %s", l.Name, text, atText(fromNs), axis.DurationText(float64(toNs-fromNs)))
	if detail != "" {
		title += ": " + detail
	}
	l.Boxes = append(l.Boxes, box{From: msOf(from), To: msOf(to), Class: class, Text: text, Title: title})
}

func (l *lane) addDown(s *source, d plots.DownMark) {
	class, text := "is-down", "down"
	if d.Stopped {
		class, text = "is-stopped", "stopped"
	}
	text += " " + axis.DurationText(float64(d.ToNs-d.FromNs))
	if d.Open && d.Stopped {
		text = "stopped to the end"
	} else if d.Open {
		text = "down to the end"
	}
	l.add(s, d.FromNs, d.ToNs, class, text, "")
}

func (l *lane) addActivity(s *source, a results.Activity) {
	to := s.figures.EndNs
	if a.ToNs != nil {
		to = *a.ToNs
	}
	switch a.Kind {
	case results.Repair:
		l.add(s, a.FromNs, to, "does-repair", "repair", activityText(a))
	case results.Transfer:
		l.add(s, a.FromNs, to, "does-transfer", "transfer", activityText(a))
	case results.ViewChange:
		l.add(s, a.FromNs, to, "does-view_change", "view change", activityText(a))
	}
}

// activityText is what moved in an activity.
func activityText(a results.Activity) string {
	text := ""
	if ops := a.Ops(); ops != nil {
		text = axis.CountText(*ops) + " ops"
	}
	if a.Bytes != nil {
		text += ", " + axis.BytesText(*a.Bytes)
	}
	if a.ToNs == nil || a.Cut {
		text += " (did not end)"
	}
	return text
}

// atText is when something was.
func atText(ns int64) string {
	if ns < 0 {
		return "before the load"
	}
	return fmt.Sprintf("at %.3f s", float64(ns)/1e9)
}
