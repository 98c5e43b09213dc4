package sim

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var (
	sameFlag   = flag.Int("sim.same", 20, "number of seeds whose traces are compared between processes")
	hashesFlag = flag.String("sim.hashes", "", "file to write the hash of the trace of each seed of -sim.of to: what a fresh process of TestFreshProcesses does")
	ofFlag     = flag.String("sim.of", "", "seeds, separated by commas")
)

// seedHash is what a run must be the same in, wherever it is played.
type seedHash struct{ seed, hash uint64 }

// TestFreshProcesses holds that a run depends on its seed alone: not on the process, on what ran before
// in the same memory, on the number of threads or on when garbage is collected. Each seed compared has
// a view change and a transfer, for a quiet run proves little.
func TestFreshProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("-short")
	}
	here := telling(t, *sameFlag)
	seeds := make([]string, len(here))
	for i, h := range here {
		seeds[i] = fmt.Sprint(h.seed)
	}
	for _, env := range surroundings {
		there := hashesFrom(t, env, strings.Join(seeds, ","))
		if len(there) != len(here) {
			t.Fatalf("%v: %d seeds were played, not %d", env, len(there), len(here))
		}
		for i, got := range there {
			if got != here[i] {
				t.Fatalf("seed %d: trace hash %016x, and %016x with %v\n%s", here[i].seed, here[i].hash, got.hash, env, firstDifference(t, here[i].seed))
			}
		}
	}
}

// surroundings are two that have nothing in common. The limit lets a process without garbage
// collection fit beside others.
var surroundings = [][]string{{"GOMAXPROCS=1", "GOGC=off", "GOMEMLIMIT=1GiB"}, {"GOMAXPROCS=16", "GOGC=1"}}

// telling plays seeds until so many had a view change and a transfer.
func telling(t *testing.T, count int) (all []seedHash) {
	arena := newArena(t)
	for seed := uint64(1); len(all) < count; seed++ {
		report, err := Run(seed, Options{Arena: arena})
		if err != nil {
			t.Fatal(err)
		}
		if report.Coverage.ViewChanges > 0 && report.Coverage.Transfers > 0 {
			all = append(all, seedHash{seed, report.TraceHash})
		}
	}
	return all
}

// hashesFrom lets a fresh process play seeds.
func hashesFrom(t *testing.T, env []string, seeds string) (all []seedHash) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "hashes")
	c := again(env, "^TestPlaySeeds$", "-sim.hashes="+out, "-sim.of="+seeds)
	if said, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", env, err, said)
	}
	f, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var h seedHash
		if _, err := fmt.Sscanf(lines.Text(), "%d %x", &h.seed, &h.hash); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		all = append(all, h)
	}
	return all
}

// again is this test binary in another process.
func again(env []string, run string, args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], append([]string{"-test.run=" + run, "-test.count=1"}, args...)...)
	c.Env = append(os.Environ(), env...)
	return c
}

// firstDifference plays a seed with its trace in both surroundings, and shows where they part.
func firstDifference(t *testing.T, seed uint64) string {
	var lines [2]*bufio.Scanner
	for i, env := range surroundings {
		c := again(env, "^TestOne$", fmt.Sprintf("-sim.seed=%d", seed))
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_, _ = io.Copy(io.Discard, out) // what follows the difference
			_ = c.Wait()                    // a run that fails differently fails here
		}()
		lines[i] = bufio.NewScanner(out)
	}
	for n, before := 1, ""; ; n++ {
		first, second := lines[0].Scan(), lines[1].Scan()
		a, b := lines[0].Text(), lines[1].Text()
		switch {
		case !first && !second:
			return "two further processes printed the same trace: it differs now and then"
		case a != b:
			return fmt.Sprintf("the traces part at line %d\n  after %s\n  %s\n  %s", n, before, a, b)
		}
		before = a
	}
}

// TestPlaySeeds is the other process of TestFreshProcesses.
func TestPlaySeeds(t *testing.T) {
	if *hashesFlag == "" {
		t.Skip("no -sim.hashes")
	}
	var out strings.Builder
	arena := newArena(t)
	for _, text := range strings.Split(*ofFlag, ",") {
		var seed uint64
		if _, err := fmt.Sscan(text, &seed); err != nil {
			t.Fatal(err)
		}
		report, err := Run(seed, Options{Arena: arena})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%d %016x\n", seed, report.TraceHash)
	}
	if err := os.WriteFile(*hashesFlag, []byte(out.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}
