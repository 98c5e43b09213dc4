package main

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestBuiltinScenarios(t *testing.T) {
	names := builtinScenarios()
	if len(names) != 5 {
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

// TestQuickIsTheReference holds quick.yaml to its promise that every field stands in it.
func TestQuickIsTheReference(t *testing.T) {
	text, err := scenarioFiles.ReadFile("scenarios/quick.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []reflect.Type{reflect.TypeFor[Scenario](), reflect.TypeFor[Fault](), reflect.TypeFor[Demands]()} {
		for field := range kind.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
			if !strings.Contains(string(text), name+":") {
				t.Errorf("%s is not explained", name)
			}
		}
	}
	if !strings.Contains(string(text), "late_p99_max: "+lateP99Default.String()) {
		t.Errorf("the default of late_p99_max, %v, is not told", lateP99Default)
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
		back, err := parseScenario(raw)
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, raw)
		}
		if !reflect.DeepEqual(s, back) {
			t.Errorf("%s:\n%+v\n%+v\n%s", name, s, back, raw)
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

func TestScenarioRefuses(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", "empty"},
		{"producers: twelve", "[1:12]"},
		{"produces: 12", "unknown field"},
		{"warmup: 2m", "leaves nothing"},
		{"duration: soon", "no duration"},
		{"nodes: 2", "1, 3 or 5"},
		{"faults: [{at: 1s, kill: n7, restart_after: 1s}]", "there are n0 to n2"},
		{"faults: [{at: 1s, kill: n1}]", "say restart_after"},
		{"faults: [{at: 1s, kill: n1, cont_after: 1s}]", "restart_after goes with kill"},
		{"faults: [{at: 1s, restart_after: 1s}]", "either kill"},
		{"faults: [{at: 90s, kill: n1, restart_after: 1s}]", "behind the load"},
		{"faults: [{at: 9s, kill: first, restart_after: 1s}]", "needs first_address"},
		{"demands: {acked_share_min: 99.9}", "no share"},
	} {
		if _, err := parseScenario([]byte(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: error is %v, want %q in it", test.text, err, test.want)
		}
	}
	if _, err := loadScenario("quack"); err == nil || !strings.Contains(err.Error(), "built in are") {
		t.Errorf("unknown name: %v", err)
	}
}
