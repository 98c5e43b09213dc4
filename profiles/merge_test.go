package profiles

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

func TestMergeAdds(t *testing.T) {
	a, b := of(t, CPU, stacks{"main;x": 10, "main;y": 1}), of(t, CPU, stacks{"main;x": 5, "main;z": 7})
	a.meta = Meta{Node: "n0", Kind: CPU, Go: "go1.26.8", Windows: []Window{{FromNs: 5, ToNs: 9, DurationNs: 3, Role: "backup"}}}
	b.meta = Meta{Node: "n0", Kind: CPU, Go: "go1.26.8", Windows: []Window{{FromNs: 1, ToNs: 4, DurationNs: 2, Role: "primary"}}}
	got, err := Merge(a, b)
	if err != nil {
		t.Fatal(err)
	}
	m := got.Meta()
	if got.Samples() != 23 || len(got.pb.Sample) != 3 || m.Node != "n0" || m.Go != "go1.26.8" || len(m.Windows) != 2 || m.Windows[0].FromNs != 1 {
		t.Errorf("%d samples in %d stacks, %+v", got.Samples(), len(got.pb.Sample), m)
	}
	if a.Samples() != 11 || len(a.Meta().Windows) != 1 {
		t.Error("an input was changed")
	}
	b.meta.Node = "n1"
	if got, err := Merge(a, b); err != nil || got.Meta().Node != "" {
		t.Errorf("two nodes: %+v, %v", got.Meta(), err)
	}
}

func TestMergeTakesWhatSaysLess(t *testing.T) {
	normal := synthetic(CPU, stacks{"main;x": 10})
	empty := synthetic(CPU, nil)
	silent := synthetic(CPU, stacks{"main;x": 1})
	silent.PeriodType, silent.Period = nil, 0
	bare := synthetic(CPU, stacks{"main;x": 2})
	bare.Mapping = nil
	for _, l := range bare.Location {
		l.Mapping = nil
	}
	addresses := synthetic(CPU, stacks{"main;x": 4})
	addresses.Function = nil
	for _, l := range addresses.Location {
		l.Line = nil
	}
	for name, other := range map[string]*profile.Profile{"empty": empty, "no period": silent, "no mapping": bare, "no functions": addresses} {
		a, b := parsed(t, encoded(t, normal)), parsed(t, encoded(t, other))
		for _, order := range [][]*Profile{{a, b}, {b, a}, {b, b}} {
			got, err := Merge(order...)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if want := order[0].Samples() + order[1].Samples(); got.Samples() != want {
				t.Errorf("%s: %d samples, want %d", name, got.Samples(), want)
			}
			if name == "no period" && order[0] != order[1] && got.pb.Period != cpuPeriodNs {
				t.Errorf("the period was lost: %d", got.pb.Period)
			}
		}
	}
}

func TestMergeRefusesWhatDoesNotFit(t *testing.T) {
	cpu := of(t, CPU, stacks{"main": 1})
	change := func(edit func(*Profile)) *Profile {
		p := of(t, CPU, stacks{"main": 1})
		edit(p)
		return p
	}
	wait := func(meta Meta) *Profile {
		p := of(t, Contention, stacks{"main": 1})
		p.meta = meta
		return p
	}
	for name, c := range map[string]struct {
		all   []*Profile
		is    error
		words string
	}{
		"none":       {nil, ErrNoData, "none"},
		"heap":       {[]*Profile{cpu, of(t, Heap, stacks{"main": 1})}, ErrUnlike, "one is of kind cpu, the other of kind heap"},
		"period":     {[]*Profile{cpu, cpu, change(func(p *Profile) { p.pb.Period = 1 })}, ErrUnlike, "numbers 1 and 3: "},
		"by":         {[]*Profile{cpu, change(func(p *Profile) { p.pb.PeriodType = &profile.ValueType{Type: "wall", Unit: "nanoseconds"} })}, ErrUnlike, "by wall"},
		"unit":       {[]*Profile{cpu, change(func(p *Profile) { p.pb.SampleType[1].Unit = "seconds" })}, ErrUnlike, "cpu in seconds"},
		"negative":   {[]*Profile{cpu, change(func(p *Profile) { p.pb.Sample[0].Value[1] = -1 })}, ErrSubtracted, "number 2"},
		"base":       {[]*Profile{change(func(p *Profile) { p.pb.SetLabel("pprof::base", []string{"true"}) })}, ErrSubtracted, "number 1"},
		"mutex":      {[]*Profile{wait(Meta{Kind: Mutex}), wait(Meta{Kind: Block})}, ErrUnlike, "of kind mutex, the other of kind block"},
		"rate":       {[]*Profile{wait(Meta{Kind: Mutex, Rate: 1}), wait(Meta{Kind: Mutex, Rate: 5})}, ErrUnlike, "at rate 1, the other at rate 5"},
		"go":         {[]*Profile{wait(Meta{Kind: Mutex, Go: "go1.25.1"}), wait(Meta{Kind: Mutex, Go: "go1.26.8"})}, ErrUnlike, "from go1.25.1, the other from go1.26.8"},
		"same twice": {[]*Profile{wait(Meta{Kind: Mutex, Node: "n0"}), wait(Meta{Kind: Mutex, Node: "n0"})}, ErrUnlike, "since the process began"},
	} {
		if got, err := Merge(c.all...); !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: got %v, %v; want %q", name, got, err, c.words)
		}
	}
	if _, err := Merge(wait(Meta{Kind: Mutex, Node: "n0", Go: "go1.26.1"}), wait(Meta{Kind: Contention, Node: "n1", Go: "go1.26.8"})); err != nil {
		t.Errorf("two nodes of one release: %v", err)
	}
}

// FuzzParseAndUse: whatever is accepted can be merged, cut, compared and written without a panic.
func FuzzParseAndUse(f *testing.F) {
	f.Add([]byte{})
	for _, k := range []Kind{CPU, Heap, Goroutine} {
		pb := synthetic(k, stacks{"main;a;b": 3, "main": 1})
		pb.SetLabel(LabelRole, []string{"primary"})
		f.Add(encoded(f, pb))
		var plain strings.Builder
		if err := pb.WriteUncompressed(&plain); err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(plain.String()))
	}
	normal := of(f, CPU, stacks{"main": 200})
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse(data)
		if err != nil {
			return
		}
		p.OfRole("primary")
		_, _ = Merge(p, normal)
		_, _ = Merge(p, p)
		_, _ = Since(p, p)
		for _, value := range append(p.Values(), "") {
			if d, err := Compare(side(p, 1, 1), side(p, 1, 1), value); err == nil {
				_ = d.Table(3)
			}
		}
		if again, err := Parse(encoded(t, p.pb)); err != nil && !errors.Is(err, ErrTooLarge) {
			t.Errorf("what was written is not readable: %v, %v", again, err)
		}
	})
}
