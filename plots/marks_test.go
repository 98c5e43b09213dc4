package plots

import (
	"strings"
	"testing"

	"rejoin/results"
)

// TestMarksTellHowANodeWasEnded: a SIGTERM is neither called nor drawn a SIGKILL.
func TestMarksTellHowANodeWasEnded(t *testing.T) {
	for _, test := range []struct {
		how  results.HowEnded
		text string
	}{{results.Killed, "n0 killed (backup)"}, {results.Restarted, "n0 restarted (backup)"}, {results.Wiped, "n0 wiped (backup)"}} {
		if got := (KillMark{Node: "n0", Role: "backup", How: test.how}).text(); got != test.text {
			t.Errorf("%q, want %q", got, test.text)
		}
	}
	var texts []string
	for _, e := range (&marks{kills: []KillMark{{How: results.Restarted}, {How: results.Wiped}}}).legend() {
		texts = append(texts, e.text)
	}
	if got := strings.Join(texts, ", "); got != "SIGKILL, SIGTERM" {
		t.Errorf("legend %q", got)
	}
	texts = nil
	for _, e := range (&marks{kills: []KillMark{{How: results.Restarted}}}).legend() {
		texts = append(texts, e.text)
	}
	if got := strings.Join(texts, ", "); got != "SIGTERM" {
		t.Errorf("legend of a restart alone: %q", got)
	}
	if termStyle().Color == killStyle().Color {
		t.Error("both are drawn alike")
	}
	if notes := killNotes(Recovery{How: results.Restarted, AtNs: 5e9, DownNs: 2e8}); notes[0] != "restarted at 5 s" {
		t.Errorf("%q", notes)
	}
}

// TestDownLegendHasTheColoursOfTheBars: each kind of bar stands in the legend in the looks of the nodes that have one, each look once.
func TestDownLegendHasTheColoursOfTheBars(t *testing.T) {
	m := &marks{downs: []DownMark{{Node: "n2"}, {Node: "n0"}, {Node: "n5"}, {Node: "n1", Stopped: true}, {Node: "n0"}}}
	for stopped, want := range map[bool][]string{false: {"n0", "n2"}, true: {"n1"}} { // n5 looks as n0 does
		looks := m.downLooks(stopped)
		for i, node := range want {
			if len(looks) != len(want) || looks[i].color != lookOf(node).color {
				t.Fatalf("stopped %v: looks %v, want those of %v", stopped, looks, want)
			}
		}
	}
	if entries := m.downLegend(); len(entries) != 2 {
		t.Errorf("%d entries", len(entries))
	}
}
