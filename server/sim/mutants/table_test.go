package mutants

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// table is what has been played with each mutant, of one build of the simulator.
type table struct {
	sources string
	rows    map[string]kill // by mutant
}

// openTable reads the file of -mutants.table. What another build has played is of no use.
func openTable(t *testing.T) *table {
	x := &table{sources: sources(t), rows: map[string]kill{}}
	if *tableFlag == "" {
		return x
	}
	b, err := os.ReadFile(*tableFlag)
	if errors.Is(err, fs.ErrNotExist) {
		return x
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := x.parse(string(b)); err != nil {
		t.Fatalf("%s: %v", *tableFlag, err)
	}
	return x
}

// put keeps how far the simulator has come with a mutant.
func (x *table) put(t *testing.T, name string, k kill) {
	x.rows[name] = k
	if *tableFlag == "" {
		return
	}
	temp := *tableFlag + ".tmp"
	if err := errors.Join(os.WriteFile(temp, []byte(x.String()), 0o600), os.Rename(temp, *tableFlag)); err != nil {
		t.Fatal(err)
	}
}

const tableHead = "| mutant | promise | seed | seeds tried | seconds |\n|---|---|---|---|---|\n"

func (x *table) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "sources %s\n\n%s", x.sources, tableHead)
	for _, name := range slices.Sorted(maps.Keys(x.rows)) {
		k := x.rows[name]
		fmt.Fprintln(&b, k.row(name))
	}
	return b.String()
}

func (k *kill) row(name string) string {
	switch {
	case k.property != "":
		return fmt.Sprintf("| %s | %s | %d | %d | %.1f |", name, k.property, k.seed, k.tried, k.took.Seconds())
	case k.ended():
		return fmt.Sprintf("| %s | survives | | %d | %.1f |", name, k.tried, k.took.Seconds())
	}
	return fmt.Sprintf("| %s | not yet | | %d | %.1f |", name, k.tried, k.took.Seconds())
}

// parse reads what String has written; rows of other sources count as none.
func (x *table) parse(text string) error {
	head, rows, ok := strings.Cut(text, "\n\n"+tableHead)
	if !ok {
		return errors.New("this is no table of mutants")
	}
	if head != "sources "+x.sources {
		return nil
	}
	for _, line := range strings.Split(strings.TrimSuffix(rows, "\n"), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 7 {
			return fmt.Errorf("%q is no row", line)
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		var k kill
		var errs [3]error
		k.tried, errs[0] = strconv.ParseUint(cells[4], 10, 64)
		seconds, err := strconv.ParseFloat(cells[5], 64)
		k.took, errs[1] = time.Duration(seconds*float64(time.Second)), err
		if cells[3] != "" {
			k.property = cells[2]
			k.seed, errs[2] = strconv.ParseUint(cells[3], 10, 64)
		}
		if err := errors.Join(errs[:]...); err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
		x.rows[cells[1]] = k
	}
	return nil
}

// decides tells whether what a mutant meets depends on a file, by its path under server: the simulator is a test program of package sim, which is
// built with the tests of that package, and those beside this one start and read it.
func decides(name string) bool {
	dir, base := path.Split(name)
	switch dir {
	case "sim/mutants/":
		return path.Ext(base) == ".go" || path.Ext(base) == ".txt"
	case "sim/":
		return path.Ext(base) == ".go"
	}
	return path.Ext(base) == ".go" && !strings.HasSuffix(base, "_test.go")
}

// sources sums up what the simulator is built from, and the mutants.
func sources(t *testing.T) string {
	sum, server := sha256.New(), filepath.Join(root, "server")
	err := fs.WalkDir(os.DirFS(server), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !decides(name) {
			return err
		}
		b, err := os.ReadFile(filepath.Join(server, name))
		fmt.Fprintf(sum, "%s %d\n%s", name, len(b), b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:8])
}

// TestSourcesAreWhatDecides: a table is of no use any more when a file has changed that the simulator is built from.
func TestSourcesAreWhatDecides(t *testing.T) {
	for name, want := range map[string]bool{
		"vsr/replica.go": true, "vsr/replica_test.go": false, "partition/boot.go": true, "sim/play.go": true, "sim/sim_test.go": true, "sim/check/pulls_test.go": false,
		"sim/mutants/seeds_test.go": true, "sim/mutants/counted.txt": true, "sim/testdata/seeds.txt": false, "vsr/testdata/view.txt": false,
	} {
		if got := decides(name); got != want {
			t.Errorf("%s decides: %v, want %v", name, got, want)
		}
	}
	for _, name := range []string{"sim/sim_test.go", "sim/mutants/seeds_test.go"} { // which hold what plays
		if _, err := os.Stat(filepath.Join(root, "server", name)); err != nil {
			t.Error(err)
		}
	}
}

// TestTableGoesOn: what one run has played the next one knows, of the same build alone.
func TestTableGoesOn(t *testing.T) {
	x := &table{sources: "a", rows: map[string]kill{"found": {property: "S4", seed: 7, tried: 8, took: 1500 * time.Millisecond}, "begun": {tried: 400, took: time.Minute}}}
	y := &table{sources: "a", rows: map[string]kill{}}
	if err := y.parse(x.String()); err != nil || !maps.Equal(x.rows, y.rows) {
		t.Errorf("%v comes back as %v: %v", x.rows, y.rows, err)
	}
	other := &table{sources: "b", rows: map[string]kill{}}
	if err := other.parse(x.String()); err != nil || len(other.rows) != 0 {
		t.Errorf("another build knows %v: %v", other.rows, err)
	}
	for _, text := range []string{"", "sources a\n\n" + tableHead + "| x |\n", "sources a\n\n" + tableHead + "| x | not yet | | many | 1 |\n"} {
		if err := y.parse(text); err == nil {
			t.Errorf("%q is taken for a table", text)
		}
	}
}
