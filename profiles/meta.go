package profiles

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rejoin/results"
)

// Window is a stretch of time in which a profile was taken.
type Window struct {
	// FromNs and ToNs lie on the run's time axis: when the capture was asked for, and when it was to end or was ended. The runtime answers up
	// to 100 ms later, and samples nothing meanwhile.
	FromNs, ToNs int64
	// DurationNs is how long the profiler itself ran; at most ToNs - FromNs.
	DurationNs int64
	// AckedBatches and AckedMessages were acknowledged in it; 0 if nobody counted.
	AckedBatches, AckedMessages int64
	// Role is the node's at both ends; RoleMixed if it changed.
	Role string
}

// RoleMixed is the role of a window in which it changed.
const RoleMixed = "mixed"

// Meta is what Rejoin knows about a profile; it is kept in the file's comments, one a line:
//
//	rejoin.node=n0
//	rejoin.kind=cpu
//	rejoin.phase=steady                                  merged profiles only
//	rejoin.go=go1.26.8
//	rejoin.rate=1                                        of mutex, block and mem profiles: the setting that was in force
//	rejoin.window=<from ns>,<to ns>,<duration ns>,<acked batches>,<acked messages>,<role>   one each
//	rejoin.since=true                                    the difference of two snapshots of one process
type Meta struct {
	Node    string
	Kind    Kind
	Phase   results.Phase
	Go      string
	Rate    int64 // 0: not known
	Windows []Window
	Since   bool
}

const metaPrefix = "rejoin."

// comments spells the metadata; foreign comments of the file are kept before them.
func (m Meta) comments(foreign []string) []string {
	all := slices.DeleteFunc(slices.Clone(foreign), func(c string) bool { return strings.HasPrefix(c, metaPrefix) })
	add := func(key, value string) {
		if value != "" {
			all = append(all, metaPrefix+key+"="+value)
		}
	}
	add("node", m.Node)
	add("kind", string(m.Kind))
	add("phase", string(m.Phase))
	add("go", m.Go)
	if m.Rate > 0 {
		add("rate", strconv.FormatInt(m.Rate, 10))
	}
	for _, w := range m.Windows {
		add("window", fmt.Sprintf("%d,%d,%d,%d,%d,%s", w.FromNs, w.ToNs, w.DurationNs, w.AckedBatches, w.AckedMessages, w.Role))
	}
	if m.Since {
		add("since", "true")
	}
	return all
}

// readMeta takes what it understands; a file of another tool has none of it.
func readMeta(comments []string) Meta {
	var m Meta
	for _, c := range comments {
		text, ok := strings.CutPrefix(c, metaPrefix)
		key, value, eq := strings.Cut(text, "=")
		if !ok || !eq {
			continue
		}
		switch key {
		case "node":
			m.Node = value
		case "kind":
			m.Kind = Kind(value)
		case "phase":
			m.Phase = results.Phase(value)
		case "go":
			m.Go = value
		case "rate":
			m.Rate, _ = strconv.ParseInt(value, 10, 64)
		case "window":
			if w, ok := readWindow(value); ok {
				m.Windows = append(m.Windows, w)
			}
		case "since":
			m.Since = value == "true"
		}
	}
	return m
}

func readWindow(text string) (Window, bool) {
	var n [5]int64
	parts := strings.SplitN(text, ",", len(n)+1)
	if len(parts) != len(n)+1 {
		return Window{}, false
	}
	for i := range n {
		var err error
		if n[i], err = strconv.ParseInt(parts[i], 10, 64); err != nil {
			return Window{}, false
		}
	}
	w := Window{FromNs: n[0], ToNs: n[1], DurationNs: n[2], AckedBatches: n[3], AckedMessages: n[4], Role: parts[5]}
	return w, w.ToNs >= w.FromNs && w.DurationNs >= 0 && w.AckedBatches >= 0 && w.AckedMessages >= 0
}

// Acked is what was acknowledged in all windows together.
func (m Meta) Acked() (batches, messages int64) {
	for _, w := range m.Windows {
		batches += w.AckedBatches
		messages += w.AckedMessages
	}
	return batches, messages
}

// Role is the one that all windows have; "" if they differ or there are none.
func (m Meta) Role() string {
	for _, w := range m.Windows {
		if w.Role != m.Windows[0].Role {
			return ""
		}
	}
	if len(m.Windows) == 0 {
		return ""
	}
	return m.Windows[0].Role
}

func sortWindows(all []Window) {
	slices.SortStableFunc(all, func(a, b Window) int { return cmp.Compare(a.FromNs, b.FromNs) })
}
