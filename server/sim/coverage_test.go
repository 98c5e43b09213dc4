package sim

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

var coverageFlag = flag.String("sim.coverage", "", "profile of what a campaign has run, in the format of go test -coverprofile; make sim writes one")

// covered are the packages that a campaign must run, and how much of each, in percent of the lines as
// Go counts them.
var covered = []string{"rejoin/server/vsr", "rejoin/server/partition", "rejoin/server/journal"}

const coveredPercent = 85

// real begins the names of what only a node runs: its files. The simulator has its own in their place.
const real = "rejoin/server/journal/osfs"

// TestCampaignCovers judges the profile of a campaign, and names the functions that it never ran.
func TestCampaignCovers(t *testing.T) {
	if *coverageFlag == "" {
		t.Skip("no -sim.coverage")
	}
	f, err := os.Open(*coverageFlag)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, run := map[string]int{}, map[string]int{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var statements, count int
		file, rest, ok := strings.Cut(lines.Text(), ".go:")
		if !ok || strings.HasPrefix(file, real) {
			continue // the line that tells the mode, or what is not simulated
		}
		if _, err := fmt.Sscanf(rest[strings.IndexByte(rest, ' ')+1:], "%d %d", &statements, &count); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		all[path.Dir(file)] += statements
		if count > 0 {
			run[path.Dir(file)] += statements
		}
	}
	for _, pkg := range covered {
		if all[pkg] == 0 {
			t.Errorf("the profile says nothing of %s", pkg)
			continue
		}
		percent := 100 * float64(run[pkg]) / float64(all[pkg])
		fmt.Printf("%s: %.1f %% of the lines were run\n", pkg, percent)
		if percent < coveredPercent {
			t.Errorf("%s: %.1f %% of the lines were run, at least %d %% are asked for: which faults are missing?", pkg, percent, coveredPercent)
		}
	}
	fmt.Printf("never run: %s\n", strings.Join(neverRun(t, *coverageFlag), ", "))
}

// neverRun names the functions of a profile of which no line was run.
func neverRun(t *testing.T, profile string) (names []string) {
	out, err := exec.Command("go", "tool", "cover", "-func="+profile).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[2] != "0.0%" {
			continue
		}
		file, _, _ := strings.Cut(fields[0], ".go:")
		if slices.Contains(covered, path.Dir(file)) && !strings.HasPrefix(file, real) {
			names = append(names, path.Base(file)+".go:"+fields[1])
		}
	}
	return names
}
