package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rejoin/plots/axis"
	"rejoin/results"
)

// eventsMax bounds the table; the file has them all.
const eventsMax = 1500

// quietKinds are left out of the table first: they come by the hundred and are drawn or summed elsewhere.
var quietKinds = []results.Kind{results.KindRepairProgress, results.KindTransferProgress, results.KindGC}

// eventsTable is what happened, in order of time.
func eventsTable(s *source) table {
	t := table{ID: "events", Caption: "What happened, told by the harness and by the nodes.", Columns: append(numbers("time"), words("node", "what", "told by")...)}
	if len(s.events) == 0 {
		t.Empty = "no data: events.ndjson is missing or empty"
		return t
	}
	sorted := slices.Clone(s.events)
	slices.SortStableFunc(sorted, func(a, b results.Event) int { return cmp.Compare(a.TNs, b.TNs) })
	left := 0
	for _, e := range sorted {
		if slices.Contains(quietKinds, e.Kind) || len(t.Rows) == eventsMax {
			left++
			continue
		}
		t.Rows = append(t.Rows, row{Cells: []string{fmt.Sprintf("%.3f s", float64(e.TNs)/1e9), orDash(nodeOf(e)), eventText(e), e.Source}, AtMs: new(msOf(e.TNs))})
	}
	if left > 0 {
		t.Caption += fmt.Sprintf(" %s are not shown here: progress of repairs and transfers, garbage collections, and what is beyond %s rows. events.ndjson has them.",
			counted(int64(left), "event"), axis.CountText(eventsMax))
	}
	return t
}

func nodeOf(e results.Event) string {
	if e.Of() == results.SourceHarness {
		return ""
	}
	return e.Of()
}

// eventTexts say the usual kinds for a person; others show by their name.
var eventTexts = map[results.Kind]string{
	results.KindRunStart: "run begins", results.KindWarmupEnd: "warm-up ends", results.KindLoadStart: "load begins", results.KindLoadStop: "load ends",
	results.KindQuietEnd: "quiet phase ends", results.KindKill: "killed", results.KindExit: "exit seen", results.KindRestart: "started again",
	results.KindPortOpen: "port open", results.KindFirstAnswer: "first answer", results.KindRoleKnown: "role known", results.KindFirstAck: "first acknowledgement after it was killed", results.KindWipe: "data directory removed",
	results.KindCaughtUp: "caught up", results.KindPause: "stopped (SIGSTOP)", results.KindResume: "continued (SIGCONT)", results.KindVerifyBegin: "verification begins",
	results.KindVerifyEnd: "verification ends", results.KindRunEnd: "run ends", results.KindViewChangeBegin: "view change begins", results.KindViewChangeEnd: "view change ends",
	results.KindRepairBegin: "repair begins", results.KindRepairEnd: "repair ends", results.KindTransferBegin: "transfer begins", results.KindTransferEnd: "transfer ends",
	results.KindRecovery: "read its log back", results.KindFenced: "fenced itself off", results.KindWiped: "found its directory empty", results.KindDropped: "lost events: its queue was full",
}

func eventText(e results.Event) string {
	text := eventTexts[e.Kind]
	if text == "" {
		text = string(e.Kind)
	}
	signal := e.Signal
	switch {
	case e.Kind == results.KindKill && e.Signal == results.Restarted.Signal():
		text, signal = "asked to end (SIGTERM)", ""
	case e.Kind == results.KindKill && e.Signal == results.Killed.Signal():
		text, signal = "killed (SIGKILL)", ""
	case e.Kind == results.KindFirstAck && e.Signal == results.Restarted.Signal():
		text, signal = "first acknowledgement after it was asked to end", ""
	case e.Kind == results.KindFirstAck && e.Signal == results.SignalStop:
		text, signal = "first acknowledgement after it was stopped", ""
	case e.Kind == results.KindFirstAck, e.Kind == results.KindPause, e.Kind == results.KindResume: // said already
		signal = ""
	}
	var facts []string
	add := func(format string, args ...any) { facts = append(facts, fmt.Sprintf(format, args...)) }
	if e.Role != "" {
		add("%s", e.Role)
	}
	if e.View != nil {
		add("view %d", *e.View)
	}
	if e.OpFrom != nil && e.OpTo != nil {
		add("ops %s to %s", axis.CountText(*e.OpFrom), axis.CountText(*e.OpTo))
	}
	if e.Bytes != nil {
		add("%s", axis.BytesText(*e.Bytes))
	}
	if e.DurationNs != nil {
		add("%s", axis.DurationText(float64(*e.DurationNs)))
	}
	if e.Peer != "" {
		add("with %s", e.Peer)
	}
	for _, s := range []string{signal, e.Reason, e.Detail} {
		if s != "" {
			add("%s", s)
		}
	}
	if len(facts) > 0 {
		text += ": " + strings.Join(facts, ", ")
	}
	return text
}
