package profiles

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

func side(p *Profile, seconds, messages int64) Side {
	return Side{Profile: p, DurationNs: seconds * second, AckedMessages: messages}
}

func compared(t *testing.T, a, b Side, value string) *Diff {
	t.Helper()
	d, err := Compare(a, b, value)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func function(t *testing.T, d *Diff, name string) FunctionCosts {
	t.Helper()
	for _, f := range d.Functions {
		if f.Function == name {
			return f
		}
	}
	t.Fatalf("no function %s in %+v", name, d.Functions)
	return FunctionCosts{}
}

// workload is 400 samples: hash calls itself, main has 10 of its own.
func workload() stacks {
	return stacks{"main": 10, "main;work;hash": 200, "main;work;hash;hash": 100, "main;work": 30, "main;idle": 60}
}

func times(s stacks, n int64) stacks {
	out := stacks{}
	for k, v := range s {
		out[k] = v * n
	}
	return out
}

func TestAAgainstAIsZero(t *testing.T) {
	a := side(of(t, CPU, workload()), 7, 123)
	d := compared(t, a, a, "")
	for _, f := range append(d.Functions, FunctionCosts{Function: "all", Flat: d.Total, Cum: d.Total}) {
		for _, c := range []Change{f.Flat.PerSecond, f.Flat.PerMessage, f.Cum.PerSecond, f.Cum.PerMessage} {
			if p, ok := c.Percent(); c.Difference() != 0 || p != 0 || !ok {
				t.Errorf("%s: %+v", f.Function, c)
			}
		}
	}
	if text := d.Table(0); strings.Contains(text, "NaN") || strings.Contains(text, "Inf") || strings.Contains(text, "+0") || strings.Contains(text, "new") {
		t.Error(text)
	}
}

func TestTwiceAAgainstAIsPlus100(t *testing.T) {
	a, b := of(t, CPU, workload()), of(t, CPU, times(workload(), 2))
	d := compared(t, side(a, 10, 1000), side(b, 10, 1000), "cpu")
	if len(d.Functions) != 4 {
		t.Fatalf("%+v", d.Functions)
	}
	for _, f := range d.Functions {
		for _, c := range []Change{f.Flat.PerSecond, f.Flat.PerMessage, f.Cum.PerSecond, f.Cum.PerMessage} {
			if p, ok := c.Percent(); !ok || p != 100 || c.Difference() <= 0 {
				t.Errorf("%s: %+v", f.Function, c)
			}
		}
	}
	back := compared(t, side(b, 10, 1000), side(a, 10, 1000), "cpu")
	if p, _ := back.Total.PerSecond.Percent(); p != -50 || back.Total.PerSecond.Difference() >= 0 {
		t.Errorf("the other way round: %+v", back.Total)
	}
}

func TestTwiceTheWorkInTwiceTheTimeIsNoDifference(t *testing.T) {
	a, b := of(t, CPU, workload()), of(t, CPU, times(workload(), 6))
	d := compared(t, side(a, 10, 1000), side(b, 60, 6000), "")
	if d.Total.PerSecond.Difference() != 0 || d.Total.PerMessage.Difference() != 0 {
		t.Errorf("%+v", d.Total)
	}
	// In the same time, twice the work costs more a second and the same a message.
	d = compared(t, side(a, 10, 1000), side(of(t, CPU, times(workload(), 2)), 10, 2000), "")
	if p, _ := d.Total.PerSecond.Percent(); p != 100 || d.Total.PerMessage.Difference() != 0 {
		t.Errorf("%+v", d.Total)
	}
}

func TestCostsByHand(t *testing.T) {
	slower := workload()
	slower["main;work;hash"] += 100
	slower["main;fresh"] = 40
	delete(slower, "main;idle")
	d := compared(t, side(of(t, CPU, workload()), 10, 1000), side(of(t, CPU, slower), 10, 2000), "")
	hash := function(t, d, "hash")
	// Flat: 300 and 400 samples of 10 ms: 0.3 and 0.4 s a second; 3 ms and 2 ms a message.
	if hash.Flat.PerSecond != (Change{3e8, 4e8}) || hash.Flat.PerMessage != (Change{3e6, 2e6}) || hash.Samples != (Change{300, 400}) {
		t.Errorf("hash %+v", hash)
	}
	if hash.Cum != hash.Flat { // it calls only itself, and counts once
		t.Errorf("hash cum %+v", hash.Cum)
	}
	if work := function(t, d, "work"); work.Cum.PerSecond != (Change{3.3e8, 4.3e8}) || work.Flat.PerSecond != (Change{3e7, 3e7}) {
		t.Errorf("work %+v", work)
	}
	if main := function(t, d, "main"); main.Cum.PerSecond != d.Total.PerSecond || d.Samples != (Change{400, 480}) {
		t.Errorf("main %+v, total %+v", main, d.Total)
	}
	if p, ok := function(t, d, "fresh").Flat.PerSecond.Percent(); ok {
		t.Errorf("a new function grew by %v %%", p)
	}
	if p, ok := function(t, d, "idle").Flat.PerSecond.Percent(); !ok || p != -100 {
		t.Errorf("a function that is gone: %v, %v", p, ok)
	}
	if d.Functions[0].Function != "hash" {
		t.Errorf("first is %s", d.Functions[0].Function)
	}
	text := d.Table(2)
	for _, want := range []string{"change is B - A: + means that B costs more", "per acknowledged message (nanoseconds/msg)", "per second (ms/s)", "+33.3 %", "-33.3 %", " 400    +100 "} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
	if strings.Count(text, "\n") != 1+2*(2+1+1+2) {
		t.Errorf("rows:\n%s", text)
	}
}

func TestFunctionsAreMatchedByName(t *testing.T) {
	other := synthetic(CPU, workload())
	other.Mapping[0].File, other.Mapping[0].BuildID, other.Mapping[0].Start = "elsewhere/bench", "b2", 0x10000
	for i, l := range other.Location {
		l.Address = 0x10000 + uint64(i)*4096
		l.Line[0].Line = 77
	}
	for _, f := range other.Function {
		f.Filename = "another/folder.go"
	}
	d := compared(t, side(of(t, CPU, workload()), 1, 1), side(parsed(t, encoded(t, other)), 1, 1), "")
	if len(d.Functions) != 4 || d.Total.PerSecond.Difference() != 0 {
		t.Errorf("%+v", d.Functions)
	}
	for _, f := range d.Functions {
		if f.Flat.PerSecond.Difference() != 0 || f.Cum.PerSecond.Difference() != 0 {
			t.Errorf("%+v", f)
		}
	}
}

func TestInlinedAndNamelessFunctionsCount(t *testing.T) {
	pb := synthetic(CPU, stacks{"outer": 200, "bare": 100})
	inner := &profile.Function{ID: 9, Name: "inner"}
	pb.Function = append(pb.Function, inner)
	for _, l := range pb.Location {
		switch l.Line[0].Function.Name {
		case "outer":
			l.Line = []profile.Line{{Function: inner}, l.Line[0]}
		case "bare":
			l.Line = nil
		}
	}
	s := side(parsed(t, encoded(t, pb)), 1, 1)
	d := compared(t, s, s, "samples")
	if f := function(t, d, "inner"); f.Flat.PerSecond.Base != 200 || f.Cum.PerSecond.Base != 200 {
		t.Errorf("inner %+v", f)
	}
	if f := function(t, d, "outer"); f.Flat.PerSecond.Base != 0 || f.Cum.PerSecond.Base != 200 {
		t.Errorf("outer %+v", f)
	}
	if f := function(t, d, "[unknown function in bench]"); f.Flat.PerSecond.Base != 100 {
		t.Errorf("nameless %+v", f)
	}
}

func TestCompareRefusesInWords(t *testing.T) {
	cpu := of(t, CPU, workload())
	negative := of(t, CPU, workload())
	negative.pb.Sample[0].Value[1] = -4
	marked := of(t, CPU, workload())
	marked.pb.Sample[3].Label = map[string][]string{"pprof::base": {"true"}}
	period := of(t, CPU, workload())
	period.pb.Period = 1
	for name, c := range map[string]struct {
		a, b  Side
		value string
		is    error
		words string
	}{
		"no profile":  {side(cpu, 1, 1), Side{}, "", ErrNoData, "B: no data"},
		"empty":       {side(of(t, CPU, nil), 1, 1), side(cpu, 1, 1), "", ErrNoData, "A: no data: it has no samples"},
		"kinds":       {side(cpu, 1, 1), side(of(t, Heap, workload()), 1, 1), "", ErrUnlike, "kind cpu, the other of kind heap"},
		"periods":     {side(cpu, 1, 1), side(period, 1, 1), "", ErrUnlike, "sampling period"},
		"negative":    {side(cpu, 1, 1), side(negative, 1, 1), "", ErrSubtracted, "already a difference"},
		"marked":      {side(marked, 1, 1), side(cpu, 1, 1), "", ErrSubtracted, "A: "},
		"no duration": {side(cpu, 0, 1), side(cpu, 1, 1), "", ErrDenominator, "A: the denominator is missing: it does not say how long"},
		"no work":     {side(cpu, 1, 1), side(cpu, 1, 0), "", ErrDenominator, "B: the denominator is missing: it does not say how many messages"},
		"value":       {side(cpu, 1, 1), side(cpu, 1, 1), "inuse_space", ErrUnlike, `no value "inuse_space"; it has [samples cpu]`},
	} {
		d, err := Compare(c.a, c.b, c.value)
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: got %v, %v; want %q", name, d, err, c.words)
		}
	}
}

func TestNotes(t *testing.T) {
	few := of(t, CPU, stacks{"main": 99})
	few.meta.Go, few.meta.Phase = "go1.26.8", "steady"
	many := of(t, CPU, workload())
	many.meta.Go = "go1.25.1"
	d := compared(t, side(many, 1, 1), side(few, 1, 1), "")
	text := d.Table(1)
	for _, want := range []string{"note: B has only 99 samples", "note: A was built by go1.25.1, B by go1.26.8", `note: A is of phase "", B of phase "steady"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1: "+1", 1234567: "+1234567", -0.012345: "-0.01235", 12.3456: "+12.35", math.Copysign(0, -1): "0"} {
		if got := signed(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
	if got := oneLine("a\nb\x1b[31m"); got != "a?b?[31m" {
		t.Errorf("%q", got)
	}
}
