package main

import (
	"reflect"
	"testing"
	"time"
)

func TestBuiltinScenarios(t *testing.T) {
	names := builtinScenarios()
	if len(names) != 6 {
		t.Errorf("built in are %v", names)
	}
	for _, name := range names {
		s, err := loadScenario(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if s.Name != name || s.About == "" {
			t.Errorf("%s: name %q, about %q", name, s.Name, s.About)
		}
	}
}

func TestScenarioSurvivesRunJSON(t *testing.T) {
	for _, name := range builtinScenarios() {
		s, err := loadScenario(name)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := s.toJSON()
		if err != nil {
			t.Fatal(err)
		}
		back, err := parseScenario("run.json", raw)
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, raw)
		}
		if !reflect.DeepEqual(s, back) {
			t.Errorf("%s:\n%+v\n%+v\n%s", name, s, back, raw)
		}
		code, printed := bench(t, "run", name, "--print")
		if back, err = parseScenario("printed", []byte(printed)); code != 0 || err != nil || !reflect.DeepEqual(s, back) {
			t.Errorf("%s: --print ends with %d and reads back as (%v)\n%+v\n%s", name, code, err, back, printed)
		}
	}
}

// TestReferenceSchedule holds rejoin-360 to the public report that it repeats.
func TestReferenceSchedule(t *testing.T) {
	s, err := loadScenario("rejoin-360")
	if err != nil {
		t.Fatal(err)
	}
	if s.Producers != 12 || s.BatchMessages != 100 || s.MessagesPerS != 30_000 || time.Duration(s.Duration) != 360*time.Second {
		t.Errorf("load is %+v", s)
	}
	for i, want := range []struct {
		node string
		at   time.Duration
	}{{"n0", 80 * time.Second}, {"n1", 200 * time.Second}, {"n2", 320 * time.Second}} {
		f := s.Faults[i]
		if f.Kill != want.node || f.At.After != want.at || f.RestartAfter.After != 40*time.Second {
			t.Errorf("fault %d is %+v", i, f)
		}
	}
}
