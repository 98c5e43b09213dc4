package profiles

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

// heap makes a snapshot in which each stack has allocated and holds so many bytes, one object each.
func heap(t *testing.T, node string, at int64, allocated, inUse stacks) *Profile {
	t.Helper()
	pb := synthetic(Heap, allocated)
	pb.PeriodType, pb.Period = &profile.ValueType{Type: "space", Unit: "bytes"}, 512<<10
	for _, s := range pb.Sample {
		stack := frames(s)[0]
		s.Value = []int64{1, allocated[stack], 1, inUse[stack]}
	}
	p, err := stamp(encoded(t, pb), node, Heap, "go1.26.8", Window{FromNs: at, ToNs: at + 1, Role: "backup"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func valueOf(p *Profile, function, value string) int64 {
	i, err := p.valueIndex(value)
	if err != nil {
		panic(err)
	}
	costs, _ := functionCosts(p.pb, i)
	return costs[function].flat
}

func TestMemoryInUseIsNotSubtracted(t *testing.T) {
	before := heap(t, "n0", 10, stacks{"ring": 100, "gone": 50}, stacks{"ring": 100, "gone": 50})
	after := heap(t, "n0", 30, stacks{"ring": 170, "gone": 50, "late": 8}, stacks{"ring": 60, "late": 8})
	got, err := Since(before, after)
	if err != nil {
		t.Fatal(err)
	}
	for function, want := range map[string][2]int64{"ring": {70, 60}, "gone": {0, 0}, "late": {8, 8}} {
		if a, u := valueOf(got, function, "alloc_space"), valueOf(got, function, "inuse_space"); a != want[0] || u != want[1] {
			t.Errorf("%s: allocated %d, in use %d; want %v", function, a, u, want)
		}
	}
	m := got.Meta()
	if !m.Since || m.Node != "n0" || got.DurationNs() != 20 || len(m.Windows) != 1 || m.Windows[0] != (Window{FromNs: 10, ToNs: 31, DurationNs: 20, Role: "backup"}) {
		t.Errorf("%+v, %d ns", m, got.DurationNs())
	}
	if valueOf(before, "ring", "alloc_space") != 100 || valueOf(after, "ring", "alloc_space") != 170 {
		t.Error("an input was changed")
	}
	d := compared(t, side(got, 1, 10), side(got, 2, 20), "inuse_space")
	if !d.Held || d.Total.Now != (Change{68, 68}) || d.Total.PerSecond != (Change{}) || d.Functions[0].Function != "ring" {
		t.Errorf("%+v", d)
	}
	if text := d.Table(0); strings.Contains(text, "%") || !strings.Contains(text, "a level is not subtracted") {
		t.Error(text)
	}
	if d := compared(t, side(got, 1, 10), side(got, 1, 10), ""); d.Value != "alloc_space" || d.Held || d.Total.PerMessage != (Change{7.8, 7.8}) {
		t.Errorf("%+v", d)
	}
}

func TestARoleThatChangedBetweenSnapshots(t *testing.T) {
	before, after := heap(t, "n0", 1, stacks{"ring": 100}, nil), heap(t, "n0", 2, stacks{"ring": 120}, nil)
	after.pb.SetLabel(LabelRole, []string{"primary"})
	after.meta.Windows[0].Role = "primary"
	got, err := Since(before, after)
	if err != nil {
		t.Fatal(err)
	}
	if valueOf(got, "ring", "alloc_space") != 20 || got.Meta().Windows[0].Role != RoleMixed || got.OfRole(RoleMixed).empty() {
		t.Errorf("%+v", got.Meta())
	}
}

func TestSinceRefusesInWords(t *testing.T) {
	first := heap(t, "n0", 1, stacks{"ring": 100}, nil)
	second := heap(t, "n0", 2, stacks{"ring": 120}, nil)
	delta, err := Since(first, second)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		before, after *Profile
		is            error
		words         string
	}{
		"other way":  {second, first, ErrUnlike, "a counter fell"},
		"nodes":      {first, heap(t, "n1", 2, stacks{"ring": 200}, nil), ErrUnlike, "one is of n0, the other of n1"},
		"twice":      {first, delta, ErrSubtracted, "already a difference"},
		"cpu":        {of(t, CPU, workload()), of(t, CPU, workload()), ErrUnlike, "does not count since"},
		"goroutines": {of(t, Goroutine, workload()), of(t, Goroutine, workload()), ErrUnlike, "does not count since"},
		"kinds":      {first, of(t, CPU, workload()), ErrUnlike, "kind heap"},
	} {
		if got, err := Since(c.before, c.after); !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: got %v, %v; want %q", name, got, err, c.words)
		}
	}
	if _, err := Compare(side(first, 1, 1), side(delta, 1, 1), ""); !errors.Is(err, ErrUnlike) {
		t.Errorf("a snapshot against a difference: %v", err)
	}
}
