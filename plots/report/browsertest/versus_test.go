//go:build browser

package browsertest

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rejoin/plots/report"
	"rejoin/plots/report/sample"
	"rejoin/results/compare"
)

// systems makes two runs of each of two systems, names a third that was not run, and writes their page.
func systems(t *testing.T) (compare.Versus, string) {
	t.Helper()
	dir := t.TempDir()
	v, err := sample.Systems(dir, "", [3]string{"builtin", "kafka:flush", "nats:always"}, "there is no nats-server at bin/peers/nats-server: run make peers")
	if err != nil {
		t.Fatal(err)
	}
	if err := report.WriteVersus(dir, report.VersusPage{Versus: v, Arguments: []string{"versus", "quick"}}); err != nil {
		t.Fatal(err)
	}
	return v, filepath.Join(dir, report.VersusFile)
}

// promised are the rows that a comparison of systems is read for, by a part of their label.
var promised = []string{"offered", "acknowledged", "steady", "outage", "catch-up", "gap", "current", "lost", "duplicated", "CPU", "disk", "emory"}

func TestSystems(t *testing.T) {
	b := Browser(t)
	v, file := systems(t)
	for _, s := range append(slices.Clone(Screens), Screen{"phone-390-light", 390, 844, false}, Screen{"phone-390-dark", 390, 844, true}) {
		tb := open(t, b, file, s)
		if wide := Eval[int64](t, tb, "document.documentElement.scrollWidth"); wide > s.Width {
			t.Errorf("%s: the page is %d px wide on a screen of %d", s.Name, wide, s.Width)
		}
		tb.Quiet(t)
		tb.Shoot(t, "systems-"+s.Name)
	}
	tb := open(t, b, file, Screens[0])
	rows := cells(t, tb, "systems")
	for i, c := range v.Contenders {
		if head := rows[0][i+1]; !strings.Contains(head, c.Target) || !strings.Contains(head, c.Promise()) {
			t.Errorf("column %d is headed %q, want %s and its promise %q", i+1, head, c.Target, c.Promise())
		}
	}
	for _, part := range promised {
		if !slices.ContainsFunc(rows, func(row []string) bool { return strings.Contains(row[0], part) }) {
			t.Errorf("no row is about %q", part)
		}
	}
}
