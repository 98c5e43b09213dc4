package sim

import (
	"strings"
	"testing"
)

// foundBy is a seed that finds each mistake. When a change of the draws makes it one like any other, the
// search goes on from there.
var foundBy = map[string]uint64{
	"InstallBelowHeardCommit": 249,
	"OfferGateByView":         10,
	"RepairNeverFinal":        5,
	"HollowHead":              2,
	"LeadAfterRestart":        8,
	"KeepTailAboveAdopted":    2,
	"LogViewAtAdoption":       24,
	"DuplicateStartViewCuts":  33,
	"ForgottenEndIsReached":   12,
	"FrameViewIsSender":       138,
}

// searched bounds how many seeds may have to be played.
const searched = 600

// TestSwitchesAreFoundBySeeds: no mistake needs its script to be found, and the seed that finds it
// passes without it.
func TestSwitchesAreFoundBySeeds(t *testing.T) {
	for _, s := range Switches() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			first, ok := foundBy[s.Name]
			if !ok {
				t.Fatalf("%s has no seed in foundBy: bench sim --switch %s finds one", s.Name, s.Name)
			}
			arena := newArena(t)
			for seed := first; seed < first+searched; seed++ {
				_, err := Run(seed, Options{Arena: arena, Switches: []string{s.Name}})
				if err == nil {
					continue
				}
				f, ok := err.(*Failure)
				if !ok {
					t.Fatal(err)
				}
				if seed != first {
					t.Logf("found by seed %d, not %d any more: %s", seed, first, f.Property)
				}
				if _, err := Run(seed, Options{Arena: newArena(t)}); err != nil {
					t.Errorf("seed %d fails without the mistake: %v", seed, err)
				}
				return
			}
			t.Errorf("%d seeds from %d on do not find it", searched, first)
		})
	}
}

func TestUnknownSwitch(t *testing.T) {
	_, err := Run(1, Options{Switches: []string{"HollowHat"}})
	if err == nil || !strings.Contains(err.Error(), "HollowHat") || !strings.Contains(err.Error(), "HollowHead") {
		t.Errorf("an unknown switch gives %v", err)
	}
}

// TestEverySwitchHasAScript: what it leads to is told for each.
func TestEverySwitchHasAScript(t *testing.T) {
	files := scriptFiles(t)
	for _, s := range Switches() {
		if files[s.Name] == "" {
			t.Errorf("%s has no script testdata/%s.txt", s.Name, s.Name)
		}
	}
}
