package mutants

import (
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	seedsFlag = flag.Int("mutants.seeds", 0, "let the simulator play so many seeds with each mutant, and print a table")
	onlyFlag  = flag.String("mutants.only", "", "only mutants whose name contains this")
)

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
		if !strings.Contains(m.name, *onlyFlag) {
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

// kill is how the simulator found a mutant.
type kill struct {
	property string
	seed     uint64
	tried    uint64 // seeds
	took     time.Duration
}

// TestKilledBySeeds lets the simulator play seeds with each mutant until one fails.
func TestKilledBySeeds(t *testing.T) {
	if *seedsFlag == 0 {
		t.Skip("no -mutants.seeds")
	}
	table := []string{"| mutant | property | seed | seeds tried | seconds |", "|---|---|---|---|---|"}
	for _, m := range mutants(t) {
		if !strings.Contains(m.name, *onlyFlag) {
			continue
		}
		k, err := m.play(t, *seedsFlag)
		row := fmt.Sprintf("| %s | %s | %d | %d | %.1f |", m.name, k.property, k.seed, k.tried, k.took.Seconds())
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
			row = fmt.Sprintf("| %s | survives | | %d | %.1f |", m.name, k.tried, k.took.Seconds())
		}
		fmt.Println(row)
		table = append(table, row)
	}
	fmt.Printf("\n%s\n", strings.Join(table, "\n"))
}

var (
	brokeLine  = regexp.MustCompile(`(?m)^ +sim_test\.go:\d+: (\S+): .*$`)
	seedLine   = regexp.MustCompile(`(?m)^ +seed (\d+), step`)
	playedLine = regexp.MustCompile(`(?m)^ +sim_test\.go:\d+: (\d+) runs, `)
)

// play builds the simulator with the mutant and plays seeds from 1 on.
func (m *mutant) play(t *testing.T, seeds int) (k kill, err error) {
	program := filepath.Join(t.TempDir(), "sim.test")
	build := exec.Command("go", "test", "-c", "-vet=off", "-overlay", m.overlay(t), "-o", program, "./server/sim")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return k, fmt.Errorf("cannot be built: %w\n%s", err, out)
	}
	began := time.Now()
	out, err := exec.Command(program, "-test.v", "-test.parallel=2", "-test.run=^TestSeeds$", fmt.Sprintf("-sim.seeds=%d", seeds)).CombinedOutput()
	k.took = time.Since(began)
	if played := playedLine.FindSubmatch(out); played != nil {
		k.tried, _ = strconv.ParseUint(string(played[1]), 10, 64)
	}
	if err == nil {
		return k, fmt.Errorf("survives %d seeds", seeds)
	}
	broke, seedsAt := brokeLine.FindAllSubmatch(out, -1), seedLine.FindAllSubmatch(out, -1)
	if len(seedsAt) == 0 || len(broke) < len(seedsAt) {
		return k, fmt.Errorf("the simulator failed and named no seed: %w\n%s", err, out)
	}
	var failed []kill
	for i := range seedsAt {
		seed, _ := strconv.ParseUint(string(seedsAt[i][1]), 10, 64)
		failed = append(failed, kill{property: string(broke[i][1]), seed: seed})
	}
	first := slices.MinFunc(failed, func(a, b kill) int { return int(a.seed) - int(b.seed) })
	k.property, k.seed = first.property, first.seed
	return k, nil
}
