package plots

import (
	"slices"
	"testing"

	"gonum.org/v1/plot/vg"

	"rejoin/results"
)

func TestOnlySilenceIsShaded(t *testing.T) {
	at := func(ns int64) *int64 { return &ns }
	timeline := &results.Timeline{LoadStopNs: at(60 * sec)}
	for _, c := range []struct {
		name string
		kill results.Kill
		want SpanMark
		ok   bool
	}{
		{"primary", results.Kill{Role: results.RolePrimary, AtNs: sec, FirstAckNs: at(sec + 5*ms)}, SpanMark{SpanOutage, sec, sec + 5*ms}, true},
		{"backup down for long", results.Kill{Role: results.RoleBackup, AtNs: sec, FirstAckNs: at(sec + 5*ms), RestartNs: at(30 * sec)}, SpanMark{}, false},
		{"backup without which nothing goes on", results.Kill{Role: results.RoleBackup, AtNs: sec, FirstAckNs: at(3 * sec)}, SpanMark{SpanOutage, sec, 3 * sec}, true},
		{"never again", results.Kill{Role: results.RolePrimary, AtNs: 50 * sec}, SpanMark{SpanOutage, 50 * sec, 60 * sec}, true},
		{"primary that answered until it was gone", results.Kill{Role: results.RolePrimary, How: results.Restarted, AtNs: sec, SilentFromNs: at(sec + 100*ms), FirstAckNs: at(sec + 700*ms)},
			SpanMark{SpanOutage, sec + 100*ms, sec + 700*ms}, true},
		{"before the load", results.Kill{Role: results.RolePrimary, AtNs: -sec, FirstAckNs: at(2 * ms)}, SpanMark{}, false},
		{"before the load, which could not begin", results.Kill{Role: results.RolePrimary, AtNs: -sec, FirstAckNs: at(sec)}, SpanMark{SpanOutage, 0, sec}, true},
	} {
		got, ok := fault{c.kill.Role, c.kill.AtNs, c.kill.SilentFromNs, c.kill.FirstAckNs}.silence(timeline, 70*sec)
		if ok != c.ok || ok && got != c.want {
			t.Errorf("%s: %+v %v, want %+v %v", c.name, got, ok, c.want, c.ok)
		}
	}
}

// TestStopOfThePrimaryIsShaded: a stalled primary is an outage as much as a dead one.
func TestStopOfThePrimaryIsShaded(t *testing.T) {
	at := func(ns int64) *int64 { return &ns }
	timeline := &results.Timeline{LoadStopNs: at(60 * sec), Stops: []results.Stop{
		{Node: "n1", Role: results.RolePrimary, AtNs: 14 * sec, ResumeNs: at(16 * sec), FirstAckNs: at(15*sec + 500*ms)},
		{Node: "n2", Role: results.RoleBackup, AtNs: 20 * sec, ResumeNs: at(22 * sec), FirstAckNs: at(20*sec + 3*ms)}}}
	if got, want := spansOf(timeline, nil, 70*sec), []SpanMark{{SpanOutage, 14 * sec, 15*sec + 500*ms}}; !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestDowns(t *testing.T) {
	at := func(ns int64) *int64 { return &ns }
	timeline := &results.Timeline{
		Kills: []results.Kill{{Node: "n2", AtNs: -sec}, {Node: "n0", AtNs: 9 * sec, RestartNs: at(12 * sec)}, {Node: "n1", AtNs: -5 * sec, RestartNs: at(-2 * sec)}},
		Stops: []results.Stop{{Node: "n0", AtNs: 7 * sec}, {Node: "n1", AtNs: 90 * sec}, {Node: "n1", AtNs: 3 * sec, ResumeNs: at(4 * sec)}},
	}
	got := downsOf(timeline, 60*sec)
	var texts []string
	for _, d := range got {
		texts = append(texts, d.Node+" "+d.text())
	}
	want := []string{"n2 down all the time", "n1 stopped 1 s", "n0 stopped 2 s", "n0 down 3 s"}
	if !slices.Equal(texts, want) {
		t.Errorf("bars %q, want %q", texts, want)
	}
}

func TestLegendLeavesNoEntryAlone(t *testing.T) {
	w := func(widths ...vg.Length) []vg.Length { return widths }
	for _, c := range []struct {
		widths []vg.Length
		want   []int
	}{
		{nil, nil}, {w(50), []int{0}}, {w(50, 50), []int{0, 0}},
		{w(60, 60, 60, 60, 60), []int{0, 0, 0, 1, 1}}, // four fit, the fifth would be alone
		{w(500, 10), []int{0, 1}},
	} {
		if got := legendRows(c.widths, 4*60+3*legendGap); !slices.Equal(got, c.want) {
			t.Errorf("rows of %v: %v, want %v", c.widths, got, c.want)
		}
	}
}
