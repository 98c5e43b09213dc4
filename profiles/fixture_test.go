package profiles

import (
	"bytes"
	"hash/fnv"
	"maps"
	"slices"
	"testing"

	"github.com/google/pprof/profile"
)

// stacks are flat values by stack; a stack is written root first, as "main;work;hash".
type stacks map[string]int64

// binaryBytes is the length of the synthetic binary.
const binaryBytes = 0x400000

// cpuPeriodNs is the runtime's: 100 samples a second.
const cpuPeriodNs = 10_000_000

// synthetic makes a profile of a kind in which each stack was seen so often; every value of the file grows with the first.
func synthetic(k Kind, seen stacks) *profile.Profile {
	p := &profile.Profile{PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: cpuPeriodNs}
	for _, name := range valuesOf(k) {
		unit := map[string]string{"cpu": "nanoseconds", "time": "nanoseconds", "delay": "nanoseconds", "alloc_space": "bytes", "inuse_space": "bytes"}[name]
		if unit == "" {
			unit = "count"
		}
		p.SampleType = append(p.SampleType, &profile.ValueType{Type: name, Unit: unit})
	}
	m := &profile.Mapping{ID: 1, Start: 0x400000, Limit: 0x800000, File: "bench", BuildID: "b1", HasFunctions: true}
	p.Mapping = []*profile.Mapping{m}
	locations := map[string]*profile.Location{}
	at := func(name string) *profile.Location {
		if l := locations[name]; l != nil {
			return l
		}
		f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name}
		hash := fnv.New32a() // a function has one address, whatever else a profile holds
		_, _ = hash.Write([]byte(name))
		l := &profile.Location{ID: f.ID, Mapping: m, Address: m.Start + uint64(hash.Sum32()%binaryBytes), Line: []profile.Line{{Function: f, Line: 1}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		locations[name] = l
		return l
	}
	for _, stack := range slices.Sorted(maps.Keys(seen)) {
		s := &profile.Sample{}
		for _, name := range bytes.Split([]byte(stack), []byte(";")) {
			s.Location = append([]*profile.Location{at(string(name))}, s.Location...)
		}
		for _, t := range p.SampleType {
			v := seen[stack]
			if t.Unit == "nanoseconds" {
				v *= cpuPeriodNs
			}
			s.Value = append(s.Value, v)
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

// of is synthetic as this package hands it out.
func of(t testing.TB, k Kind, seen stacks) *Profile {
	t.Helper()
	return parsed(t, encoded(t, synthetic(k, seen)))
}

func encoded(t testing.TB, pb *profile.Profile) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := pb.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func parsed(t testing.TB, data []byte) *Profile {
	t.Helper()
	p, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
