package mutants

import (
	"flag"
	"os/exec"
	"strings"
	"testing"
)

var onlyFlag = flag.String("mutants.only", "", "only mutants whose names contain one of these, with commas between")

// wanted tells whether -mutants.only names a mutant.
func (m *mutant) wanted() bool {
	for _, part := range strings.Split(*onlyFlag, ",") {
		if strings.Contains(m.name, part) {
			return true
		}
	}
	return false
}

// TestEachFitsItsSource: whoever changes a line that a mutant changes must change the mutant, too.
func TestEachFitsItsSource(t *testing.T) {
	for _, m := range mutants(t) {
		if _, err := m.apply(); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}

// TestBadMutants: what is no mutant is refused with its reason.
func TestBadMutants(t *testing.T) {
	const head = "fear: f\ntest: server/vsr TestX\n"
	for text, want := range map[string]string{
		"":                                   "line 1",
		"fear: f\n--- server/vsr/doc.go\n-x": "a mutant says",
		head:                                 "a mutant says",
		"fear: f\nrare: \ntest: a b":         "line 2",
		head + "--- server/vsr/doc.go\nx":    "begins with neither",
		head + "--- server/vsr/none.go\n-x":  "no such file",
		head + "--- server/vsr/doc.go\n-no such line\n+x":          "0 times",
		head + "--- server/vsr/log.go\n-}\n+x":                     "times, not once",
		head + "--- server/vsr/log.go\n-package vsr\n+package vsr": "changes nothing",
	} {
		m, err := parse("planted", text)
		if err == nil {
			_, err = m.apply()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}

// TestKilledByTests lets each mutant's test run with it.
func TestKilledByTests(t *testing.T) {
	if testing.Short() || *seedsFlag > 0 {
		t.Skip("-short, or -mutants.seeds")
	}
	for _, m := range mutants(t) {
		if !m.wanted() {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			c := exec.Command("go", "test", "-overlay", m.overlay(t), "-vet=off", "-count=1", "-run", "^"+m.test+"$", "./"+m.pkg)
			c.Dir = root
			out, err := c.CombinedOutput()
			switch {
			case strings.Contains(string(out), "[build failed]"), strings.Contains(string(out), "[setup failed]"):
				t.Errorf("cannot be built:\n%s", out)
			case err == nil:
				t.Errorf("survives %s of %s:\n%s", m.test, m.pkg, out)
			case !strings.Contains(string(out), m.test):
				t.Errorf("something else failed than %s: %v\n%s", m.test, err, out)
			}
		})
	}
}
