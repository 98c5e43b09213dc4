package mutants

import (
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"
)

var (
	seedsFlag = flag.Uint64("mutants.seeds", 0, "let the simulator play so many seeds with each mutant, and print a table")
	forFlag   = flag.Duration("mutants.for", 0, "end after about so long; the next run with the same -mutants.table goes on from there. 0: play all")
	tableFlag = flag.String("mutants.table", "", "file that keeps what has been played of this build of the simulator, and the table")
)

// chunkSeeds is what is played between two looks at the clock. So few are never called vacuous.
const chunkSeeds = 200

// TestKilledBySeeds lets the simulator play seeds with each mutant until one fails.
func TestKilledBySeeds(t *testing.T) {
	if *seedsFlag == 0 {
		t.Skip("no -mutants.seeds")
	}
	began, table := time.Now(), openTable(t)
	over := func() bool { return *forFlag > 0 && time.Since(began) >= *forFlag }
	left := 0
	for _, m := range mutants(t) {
		k := table.rows[m.name]
		if !m.wanted() || k.ended() {
			continue
		}
		if over() {
			left++
			continue
		}
		program := m.build(t)
		for !k.ended() && !over() {
			if err := k.play(program); err != nil {
				t.Fatalf("%s: %v", m.name, err)
			}
			table.put(t, m.name, k)
		}
		if !k.ended() {
			left++
		}
		fmt.Println(k.row(m.name))
	}
	fmt.Printf("\n%s\n", table)
	if left > 0 {
		t.Skipf("%d mutants are still to be played: run this again", left)
	}
	for _, m := range mutants(t) {
		switch k := table.rows[m.name]; {
		case !m.wanted():
		case k.property != "" && m.rare != "":
			t.Errorf("%s is found by seed %d now: it is not rare any more", m.name, k.seed)
		case k.property == "" && m.rare == "":
			t.Errorf("%s survives %d seeds", m.name, k.tried)
		case k.property == "":
			t.Logf("%s survives %d seeds, and is killed by its test alone: %s", m.name, k.tried, m.rare)
		}
	}
}

// kill is how far the simulator has come with a mutant.
type kill struct {
	property string // that broke; "": none has
	seed     uint64
	tried    uint64 // seeds, from 1 on
	took     time.Duration
}

func (k *kill) ended() bool { return k.property != "" || k.tried >= *seedsFlag }

var (
	brokeLine  = regexp.MustCompile(`(?m)^ +sim_test\.go:\d+: (\S+): .*$`)
	seedLine   = regexp.MustCompile(`(?m)^ +seed (\d+), step`)
	playedLine = regexp.MustCompile(`(?m)^ +sim_test\.go:\d+: (\d+) runs, `)
)

// build makes the simulator with the mutant.
func (m *mutant) build(t *testing.T) (program string) {
	program = filepath.Join(t.TempDir(), m.name)
	build := exec.Command("go", "test", "-c", "-vet=off", "-overlay", m.overlay(t), "-o", program, "./server/sim")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s cannot be built: %v\n%s", m.name, err, out)
	}
	return program
}

// play plays the next seeds.
func (k *kill) play(program string) error {
	n, began := min(chunkSeeds, *seedsFlag-k.tried), time.Now()
	out, err := exec.Command(program, "-test.v", "-test.parallel=2", "-test.run=^TestSeeds$",
		fmt.Sprintf("-sim.first=%d", k.tried+1), fmt.Sprintf("-sim.seeds=%d", n)).CombinedOutput()
	k.took += time.Since(began)
	played := playedLine.FindSubmatch(out)
	if played != nil {
		tried, _ := strconv.ParseUint(string(played[1]), 10, 64)
		k.tried += tried
	}
	switch {
	case err == nil && played == nil: // the same seeds would be played for ever
		return fmt.Errorf("the simulator does not tell how many seeds it has played:\n%s", out)
	case err == nil:
		return nil
	}
	broke, seedsAt := brokeLine.FindAllSubmatch(out, -1), seedLine.FindAllSubmatch(out, -1)
	if len(seedsAt) == 0 || len(broke) < len(seedsAt) {
		return fmt.Errorf("the simulator failed and named no seed: %w\n%s", err, out)
	}
	var failed []kill
	for i := range seedsAt {
		seed, _ := strconv.ParseUint(string(seedsAt[i][1]), 10, 64)
		failed = append(failed, kill{property: string(broke[i][1]), seed: seed})
	}
	first := slices.MinFunc(failed, func(a, b kill) int { return int(a.seed) - int(b.seed) })
	k.property, k.seed = first.property, first.seed
	return nil
}
