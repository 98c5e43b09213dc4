package report

import (
	"fmt"
	"strings"

	"rejoin/plots/axis"
	"rejoin/results"
)

// recoverySection is the table over all kills, and each kill by itself.
type recoverySection struct {
	Table table
	Stops table // empty without stops
	Kills []killPart
}

// killPart is one kill: what the cluster did without the node, and the node's return, each on an axis of its own, because a return of 100 ms
// would be nothing beside twelve seconds down.
type killPart struct {
	Title  string
	Says   string
	Groups []momentGroup
	Empty  string
}

// momentGroup is a table whose rows have a place on a common axis.
type momentGroup struct {
	Title, Since string
	EndText      string // at the right end of the axis
	Rows         []moment
}

// moment is one point or stretch, told by those who know it.
type moment struct {
	Name            string
	Outside, Server string // times, or "–" for a side that cannot know
	Marks           []momentMark
}

// momentMark is placed in percent of the axis. Width is 0 for a point.
type momentMark struct {
	Left, Width float64
	Class       string // outside or server
	Title       string
}

func recoveryOf(s *source) recoverySection {
	if s.summary == nil {
		return recoverySection{Table: table{Empty: unread("summary.json", s.summaryErr, "summary.json is not there")}}
	}
	out := recoverySection{Table: recoveryTable(*s.summary), Stops: stopsTable(s.summary.Stops)}
	if len(s.summary.Kills) == 0 {
		out.Table = table{Empty: "no process of a node was ended in this run"}
	}
	for _, k := range s.summary.Kills {
		out.Kills = append(out.Kills, killPartOf(k))
	}
	return out
}

func recoveryTable(s results.Summary) table {
	kills := s.Kills
	t := table{ID: "recovery-table", Caption: fmt.Sprintf("What each kill cost. Recovery times are samples by the kill: here n = %d.%s", len(kills), apartText(s)),
		Columns: append(words("node", "role", "was"),
			numbers("when", "down", "first ack after", "longest gap", "caught up after restart", "repaired", "transferred")...)}
	for _, k := range kills {
		t.add(k.Node, k.Role, string(k.How.Word()), killedAt(k), msText(k.DownMs, "to the end"), firstAckText(k), gapText(k), caughtUpText(k),
			movedText(s.Tells(results.UntoldRepairs), k.Repairs, k.RepairOps, k.RepairBytes, k.RepairMs),
			movedText(s.Tells(results.UntoldTransfers), k.Transfers, k.TransferOps, k.TransferBytes, k.TransferMs))
	}
	return t
}

// apartText says how many repairs and transfers of the run stand in no row.
func apartText(s results.Summary) string {
	repairs, transfers := s.Repairs, s.Transfers
	for _, k := range s.Kills {
		repairs, transfers = repairs-k.Repairs, transfers-k.Transfers
	}
	var parts []string
	if repairs > 0 {
		parts = append(parts, counted(repairs, "more repair"))
	}
	if transfers > 0 {
		parts = append(parts, counted(transfers, "more transfer"))
	}
	if len(parts) == 0 {
		return ""
	}
	return " Apart from these returns: " + strings.Join(parts, " and ") + "."
}

// stopsTable is what each SIGSTOP cost.
func stopsTable(stops []results.StopSummary) table {
	t := table{ID: "stops", Caption: "What each stop cost: from SIGSTOP to SIGCONT a process keeps its ports, accepts and never answers.",
		Columns: append(words("node", "role"), numbers("stopped", "for", "first ack after", "longest gap")...)}
	for _, s := range stops {
		as := results.KillSummary{AtMs: s.AtMs, FirstAckMs: s.FirstAckMs, GapWithoutAckMs: s.GapWithoutAckMs, GapAtMs: s.GapAtMs}
		t.add(s.Node, s.Role, killedAt(as), msText(s.StoppedMs, "to the end"), firstAckText(as), gapText(as))
	}
	return t
}

func killedAt(k results.KillSummary) string {
	if k.AtMs < 0 {
		return "before the load"
	}
	return fmt.Sprintf("at %.1f s", k.AtMs/1e3)
}

func firstAckText(k results.KillSummary) string {
	if k.AtMs < 0 {
		return "–"
	}
	return msText(k.FirstAckMs, "never")
}

// gapText names the moment of a gap that has another cause than the kill.
func gapText(k results.KillSummary) string {
	text := axis.DurationText(k.GapWithoutAckMs * 1e6)
	switch {
	case k.GapAtMs == nil:
		return noData
	case !k.GapIsOwn():
		return fmt.Sprintf("%s (later, at %.1f s)", text, *k.GapAtMs/1e3)
	}
	return text
}

func caughtUpText(k results.KillSummary) string {
	if k.DownMs == nil {
		return "was not restarted"
	}
	return msText(k.CaughtUpMs, "never")
}

func movedText(told bool, n, ops, bytes int64, ms *float64) string {
	switch {
	case !told:
		return noData
	case n == 0:
		return "nothing"
	}
	parts := []string{counted(ops, "op"), axis.BytesText(bytes)}
	if ms != nil {
		parts = append(parts, "in "+axis.DurationText(*ms*1e6))
	} else {
		parts = append(parts, "not to the end")
	}
	return strings.Join(parts, ", ")
}

func killPartOf(k results.KillSummary) killPart {
	part := killPart{Title: fmt.Sprintf("%s (%s), %s %s", k.Node, k.Role, k.How.Word(), killedAt(k)), Says: killSays(k)}
	if k.Recovery == nil {
		part.Empty = "no data: this run was recorded by a build that did not keep the moments of a recovery"
		return part
	}
	part.Groups = groupsOf(k)
	return part
}

// killSays is the kill in a sentence.
func killSays(k results.KillSummary) string {
	var parts []string
	switch {
	case k.AtMs < 0:
	case k.FirstAckMs == nil:
		parts = append(parts, "No batch was acknowledged after it")
	default:
		parts = append(parts, fmt.Sprintf("The next acknowledgement%s came after %s", k.AckedBy(), msText(k.FirstAckMs, noData)))
	}
	switch {
	case k.DownMs == nil:
		parts = append(parts, "the node stayed down")
	case k.CaughtUpMs == nil:
		parts = append(parts, fmt.Sprintf("the node came back after %s and never caught up", msText(k.DownMs, noData)))
	default:
		parts = append(parts, fmt.Sprintf("the node came back after %s and had caught up %s later", msText(k.DownMs, noData), msText(k.CaughtUpMs, noData)))
	}
	return strings.Join(parts, "; ") + "."
}

// returnPoints are the moments that belong to the node's return; the others are the cluster's.
var returnPoints = map[string]bool{"port_open": true, "first_answer": true, "role_known": true, "repair_begin": true, "repair_end": true,
	"transfer_begin": true, "transfer_end": true, "caught_up": true}

func groupsOf(k results.KillSummary) []momentGroup {
	without := momentGroup{Title: "The cluster without it", Since: "since it was " + string(k.How.Word())}
	back := momentGroup{Title: "Its return", Since: "since the restart"}
	var withoutRows, backRows []placing
	restart := 0.0
	if k.DownMs != nil {
		restart = *k.DownMs
	}
	points := map[string]results.RecoveryPoint{}
	for _, p := range k.Recovery.Points() {
		points[p.Name] = p
		if !returnPoints[p.Name] {
			withoutRows = append(withoutRows, pointRow(p, 0))
		} else if kind, end, ok := strings.Cut(p.Name, "_"); ok && (end == "begin" || end == "end") {
			if end == "end" { // both are there now
				backRows = append(backRows, spanRow(kind, points[kind+"_begin"], p, restart))
			}
		} else {
			backRows = append(backRows, pointRow(p, restart))
		}
	}
	without.fill(withoutRows)
	if k.DownMs == nil {
		return []momentGroup{without}
	}
	back.fill(backRows)
	return []momentGroup{without, back}
}

// placing is a moment whose times are known and not placed yet.
type placing struct {
	name            string
	outside, server stretchMs
}

// stretchMs is from one time to another, both nil if nothing is known; to is from for a point, nil if it did not end.
type stretchMs struct{ from, to *float64 }

func since(ms *float64, zero float64) *float64 {
	if ms == nil {
		return nil
	}
	return new(*ms - zero)
}

func pointRow(p results.RecoveryPoint, zero float64) placing {
	o, s := since(p.Outside, zero), since(p.Server, zero)
	return placing{p.Title, stretchMs{o, o}, stretchMs{s, s}}
}

func spanRow(kind string, begin, end results.RecoveryPoint, zero float64) placing {
	return placing{kind, stretchMs{since(begin.Outside, zero), since(end.Outside, zero)}, stretchMs{since(begin.Server, zero), since(end.Server, zero)}}
}

// fill places the rows on an axis that ends a little behind the last of them.
func (g *momentGroup) fill(rows []placing) {
	end := 0.0
	for _, r := range rows {
		for _, at := range []*float64{r.outside.from, r.outside.to, r.server.from, r.server.to} {
			if at != nil && finite(*at) {
				end = max(end, *at)
			}
		}
	}
	end = max(end*1.04, 1)
	g.EndText = axis.DurationText(end * 1e6)
	for _, r := range rows {
		m := moment{Name: r.name, Outside: r.outside.text(), Server: r.server.text()}
		m.mark("outside", r.name+", seen from outside: ", r.outside, end)
		m.mark("server", r.name+", told by the server: ", r.server, end)
		g.Rows = append(g.Rows, m)
	}
}

func (s stretchMs) text() string {
	switch {
	case s.from == nil:
		return "–"
	case s.to == nil:
		return axis.DurationText(*s.from*1e6) + " to the end"
	case *s.to == *s.from:
		return axis.DurationText(*s.from * 1e6)
	}
	return axis.DurationText(*s.from*1e6) + " to " + axis.DurationText(*s.to*1e6)
}

func (m *moment) mark(class, what string, s stretchMs, end float64) {
	if s.from == nil || !finite(*s.from) {
		return
	}
	to := end
	if s.to != nil {
		to = *s.to
	}
	left := 100 * min(max(*s.from/end, 0), 1)
	right := 100 * min(max(to/end, 0), 1)
	m.Marks = append(m.Marks, momentMark{Left: left, Width: max(right-left, 0), Class: class, Title: what + s.text()})
}
