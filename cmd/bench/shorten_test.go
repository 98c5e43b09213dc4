package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestShorten: what flags make pointless falls away, each with a sentence, and the rest stays.
func TestShorten(t *testing.T) {
	for _, test := range []struct {
		name      string
		scenario  string
		args      runCommand
		faults    int
		want      []string // beginnings of the sentences
		primaries int
		transfers int64
	}{
		{"unchanged", "quick", runCommand{}, 3, nil, 1, 1000},
		{"same length", "rejoin-360", runCommand{Duration: durationFlag{true, 360 * time.Second}}, 3, nil, 1, 1000},
		{"longer", "quick", runCommand{Duration: durationFlag{true, 90 * time.Second}}, 3, nil, 1, 1000},
		{"twice the rate", "quick", runCommand{Rate: rateFlag{true, 60_000}}, 3, nil, 1, 1000},
		{"20 s", "quick", runCommand{Duration: durationFlag{true, 20 * time.Second}}, 1,
			[]string{"fault 2 (kill primary at 18s): it would end at 30s", "fault 3", "killed_primaries_min: 1", "transfer_ops_min: 1000"}, 0, 0},
		{"2 s", "quick", runCommand{Duration: durationFlag{true, 2 * time.Second}}, 0,
			[]string{"the scenario's warm-up; it lasts 200ms", "fault 1", "fault 2", "fault 3", "killed_primaries_min", "killed_backups_min", "repair_ops_min", "transfer_ops_min"}, 0, 0},
		{"memory", "quick", runCommand{Target: targetMemory}, 3,
			[]string{"repair_ops_min: 100: target memory repairs", "transfer_ops_min: 1000: target memory repairs"}, 1, 0},
		{"memory, 10 s", "quick", runCommand{Target: targetMemory, Duration: durationFlag{true, 10 * time.Second}}, 1,
			[]string{"fault 2", "fault 3", "killed_primaries_min: 1: what is left", "repair_ops_min: 100: target memory", "transfer_ops_min: 1000: target memory"}, 0, 0},
		{"slow", "quick", runCommand{Rate: rateFlag{true, 2000}}, 3, []string{"transfer_ops_min: 1000"}, 1, 0},
		{"before the load", "primary-rejoin", runCommand{Duration: durationFlag{true, 20 * time.Second}}, 1,
			[]string{"fault 1 (kill first before the load): it would end at 24s", "fault 3", "fault 4", "killed_primaries_min: 2"}, 0, 0},
	} {
		test.args.Scenario = test.scenario
		s, _, leftOut, err := test.args.asked(&environment{})
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		begins := func(sentence, want string) bool { return strings.HasPrefix(sentence, want) }
		if len(s.Faults) != test.faults || !slices.EqualFunc(leftOut, test.want, begins) {
			t.Errorf("%s: %d faults, left out:\n%s", test.name, len(s.Faults), strings.Join(leftOut, "\n"))
		}
		if s.Demands.KilledPrimariesMin != test.primaries || s.Demands.TransferOpsMin != test.transfers {
			t.Errorf("%s: demands are %+v", test.name, s.Demands)
		}
	}
}

// TestFloorsWithinReach holds the built-in scenarios to floors that the rule for shortened ones takes for reachable.
func TestFloorsWithinReach(t *testing.T) {
	for _, name := range builtinScenarios() {
		s, err := loadScenario(name)
		if err != nil {
			t.Fatal(err)
		}
		if leftOut := s.dropUnreachable(); leftOut != nil {
			t.Errorf("%s: %v", name, leftOut)
		}
	}
}
