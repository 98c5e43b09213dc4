package profiles

import (
	"errors"
	"strings"
	"testing"

	"rejoin/results"
)

// merged makes a profile of n0 in the steady phase, with so many samples as primary and as backup, a window of a second each.
func merged(t *testing.T, primary, backup, messages int64) *Profile {
	t.Helper()
	var windows []*Profile
	for i, role := range []string{results.RolePrimary, results.RoleBackup, RoleMixed} {
		pb := synthetic(CPU, stacks{"main;work": []int64{primary, backup, 1000}[i]})
		pb.DurationNanos = second
		p, err := stamp(encoded(t, pb), "n0", CPU, "go1.26.8", Window{FromNs: int64(i) * second, ToNs: int64(i+1) * second, Role: role, AckedMessages: messages})
		if err != nil {
			t.Fatal(err)
		}
		p.meta.Phase = results.Steady
		windows = append(windows, p)
	}
	sum, err := Merge(windows...)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func partsOf(t *testing.T, all ...*Profile) map[Part]Side {
	t.Helper()
	parts, err := Parts(all)
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

// Trap 32, by role: twice the work at twice the cost is no difference for a message, and the time in which a node changed its role belongs to
// neither role.
func TestPartsAreComparedByRoleAndWork(t *testing.T) {
	a := partsOf(t, merged(t, 200, 100, 3000))
	b := partsOf(t, merged(t, 400, 300, 6000))
	pairs, skipped, err := Pairs(a, b)
	if err != nil || len(pairs) != 2 || len(skipped) != 0 {
		t.Fatalf("%+v, %v, %v", pairs, skipped, err)
	}
	for i, want := range []struct {
		role           string
		message, twice float64
	}{{results.RolePrimary, 0, 2}, {results.RoleBackup, 0.5, 3}} {
		if pairs[i].Role != want.role || pairs[i].Phase != results.Steady || pairs[i].Kind != CPU {
			t.Errorf("part %v", pairs[i].Part)
		}
		d := compared(t, pairs[i].Base, pairs[i].Changed, "")
		if got := d.Total.PerMessage.Difference() / d.Total.PerMessage.Base; got < want.message-1e-9 || got > want.message+1e-9 {
			t.Errorf("%s: %v more for a message, want %v", want.role, got, want.message)
		}
		if d.Total.PerSecond.New != want.twice*d.Total.PerSecond.Base {
			t.Errorf("%s: %v in a second", want.role, d.Total.PerSecond)
		}
	}
}

// A part of several nodes or runs costs what one of them costs on average.
func TestPartsAverageOverNodes(t *testing.T) {
	one, three := partsOf(t, merged(t, 200, 100, 3000)), partsOf(t, merged(t, 200, 100, 3000), merged(t, 200, 100, 3000), merged(t, 200, 100, 3000))
	pairs, _, err := Pairs(one, three)
	if err != nil {
		t.Fatal(err)
	}
	d := compared(t, pairs[0].Base, pairs[0].Changed, "")
	if d.Total.PerMessage.Difference() != 0 || d.Total.PerSecond.Difference() != 0 || d.Samples != (Change{200, 600}) || !d.Functions[0].Chance {
		t.Errorf("%+v", d)
	}
}

func TestPairsRefuseInWords(t *testing.T) {
	whole := partsOf(t, merged(t, 200, 150, 3000))
	few := partsOf(t, merged(t, 20, 15, 3000))
	heap := partsOf(t, of(t, Heap, workload()))
	for name, c := range map[string]struct {
		a, b  map[Part]Side
		is    error
		words string
	}{
		"empty": {whole, nil, ErrNoData, "one side is empty"},
		"few":   {whole, few, ErrNoData, "200 samples in A, 20 in B, at least 100 are needed"},
		"kinds": {whole, heap, ErrUnlike, "A has [cpu, steady, primary cpu, steady, backup], and B has [heap]"},
	} {
		if pairs, _, err := Pairs(c.a, c.b); !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.words) || len(pairs) != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	half := partsOf(t, merged(t, 200, 15, 3000))
	pairs, skipped, err := Pairs(whole, half)
	if err != nil || len(pairs) != 1 || len(skipped) != 1 || !strings.Contains(skipped[0], "backup: no data") {
		t.Errorf("%v, %v, %v", pairs, skipped, err)
	}
}

// A function whose samples differ by no more than chance is marked, one that really costs more is not.
func TestChance(t *testing.T) {
	mk := func(work, other int64) Side {
		s := side(of(t, CPU, stacks{"main;work": work, "main;other": other}), 10, 10_000)
		for range RunsMin { // each a third of it
			s.Runs = append(s.Runs, side(of(t, CPU, stacks{"main;work": work / RunsMin, "main;other": other / RunsMin}), 10/RunsMin, 10_000/RunsMin))
		}
		return s
	}
	d := compared(t, mk(1000, 400), mk(1250, 415), "")
	if d.Functions[0].Function != "work" || d.Functions[0].Chance || d.Functions[1].Function != "other" || !d.Functions[1].Chance {
		t.Errorf("%+v", d.Functions)
	}
	if text := d.BeyondChance(5); text != "differ by more than chance: work +250000 nanoseconds/msg (+25.0 %)" {
		t.Error(text)
	}
	if text := compared(t, mk(1000, 400), mk(1030, 390), "").BeyondChance(5); text != "no function differs by more than chance" {
		t.Error(text)
	}
	if text := d.Table(0); !strings.Contains(text, "  work\n") || !strings.Contains(text, " ~other\n") {
		t.Error(text)
	}
}
