package profiles

import (
	"math"
	"strings"
	"testing"
)

// runsOf is a side of some runs in each of which work took so many samples.
func runsOf(t *testing.T, work ...int64) Side {
	sum := int64(0)
	var runs []Side
	for _, n := range work {
		sum += n
		runs = append(runs, side(of(t, CPU, stacks{"main;work": n, "main;rest": 1000}), 10, 10_000))
	}
	s := side(of(t, CPU, stacks{"main;work": sum, "main;rest": 1000 * int64(len(work))}), 10, 10_000*int64(len(work)))
	s.Runs = runs
	return s
}

// TestRunsScatterMoreThanSamples (trap 33): what runs of one build differ by is known only from several of them, and then it is what counts.
func TestRunsScatterMoreThanSamples(t *testing.T) {
	for _, test := range []struct {
		name   string
		a, b   Side
		judged bool
		words  string
	}{
		{"one run a side", runsOf(t, 1000), runsOf(t, 600), false, "no function is called different: two runs of one build differ by more"},
		{"two and three", runsOf(t, 1000, 1010), runsOf(t, 600, 610, 590), false, "known from 3 runs a side on"},
		{"the same thing, which scatters", runsOf(t, 1000, 600, 1100, 700), runsOf(t, 600, 500, 900, 620), true, "no function differs by more than chance"},
		{"another thing", runsOf(t, 1000, 1010, 990, 1020), runsOf(t, 600, 610, 590, 620), true, "differ by more than chance: work"},
		{"at every tick or at few, and never as few as before", runsOf(t, 1, 0, 2, 0, 1, 1, 0), runsOf(t, 139, 67, 108, 10, 165, 22, 19), true, "differ by more than chance: work"},
		{"the same of fewer runs", runsOf(t, 1, 0, 2, 0, 1, 1), runsOf(t, 139, 67, 108, 10, 165, 22), true, "no function differs by more than chance"},
	} {
		d := compared(t, test.a, test.b, "")
		if got := d.BeyondChance(5); d.Judged != test.judged || !strings.Contains(got, test.words) {
			t.Errorf("%s: judged %v, %q", test.name, d.Judged, got)
		}
		if table := d.Table(0); strings.Contains(table, "may be chance too") == test.judged {
			t.Errorf("%s: the table says\n%s", test.name, table)
		}
	}
}

// TestDeviations: of Student's distribution with 4, 10 and 30 degrees of freedom, at the probability of four deviations of the normal one.
func TestDeviations(t *testing.T) {
	for freedom, want := range map[float64]float64{10: 6.42, 30: 4.64, 1e9: 4} {
		if got := deviations(freedom); math.Abs(got-want) > 0.1*want {
			t.Errorf("%v: %.2f, want about %.2f", freedom, got, want)
		}
	}
	if got := deviations(4); got < 12 {
		t.Errorf("4: %.2f is too few", got)
	}
}
