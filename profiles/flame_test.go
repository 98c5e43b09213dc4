package profiles

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/pprof/profile"
)

// drawn is what the page's script gets.
type drawn struct {
	Total  int64
	Type   string
	Unit   string
	Stacks []struct {
		Value   int64
		Sources []int
	}
	Sources []struct {
		FullName string
		Self     int64
	}
}

var viewerCall = regexp.MustCompile(`(?s)stackViewer\((\{.*\}), \[`)

func readPage(t *testing.T, page []byte) drawn {
	t.Helper()
	call := viewerCall.FindSubmatch(page)
	if call == nil {
		t.Fatalf("the page draws nothing:\n%.2000s", page)
	}
	var d drawn
	if err := json.Unmarshal(call[1], &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d drawn) self(name string) int64 {
	var sum int64
	for _, s := range d.Sources {
		if s.FullName == name {
			sum += s.Self
		}
	}
	return sum
}

// references are what a page could fetch.
var references = regexp.MustCompile(`(?i)(src|href)\s*=\s*["']?\s*(https?:)?//|@import|url\(\s*["']?https?:`)

func TestFlameGraphIsOneFile(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	page, err := FlameGraph(of(t, CPU, workload()), "")
	if err != nil {
		t.Fatal(err)
	}
	if found := references.Find(page); found != nil {
		t.Errorf("the page refers to %q", found)
	}
	if n := len(page); n > 200<<10 || !bytes.Contains(page, []byte("<!DOCTYPE html>")) || !bytes.Contains(page, []byte(pageStyle)) || !bytes.Contains(page, []byte(plainNote)) {
		t.Errorf("%d bytes: %.200s", n, page)
	}
	d := readPage(t, page)
	if d.Total != 400*cpuPeriodNs || d.Type != "cpu" || d.self("hash") != 300*cpuPeriodNs {
		t.Errorf("%+v", d)
	}
	if left, err := os.ReadDir(home); err != nil || len(left) != 0 {
		t.Errorf("in the user's folder: %v, %v", left, err)
	}
	if v, set := os.LookupEnv("PPROF_TMPDIR"); set {
		t.Errorf("PPROF_TMPDIR stayed %q", v)
	}
}

func TestFlameGraphNeedsNoHome(t *testing.T) {
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME"} {
		t.Setenv(name, "") // so that it is restored
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := FlameGraph(of(t, CPU, workload()), ""); err != nil {
		t.Error(err)
	}
}

func TestValuesDoNotStickBetweenPages(t *testing.T) {
	for _, value := range []string{"alloc_objects", "inuse_space", "", "alloc_objects"} {
		page, err := FlameGraph(of(t, Heap, workload()), value)
		if err != nil {
			t.Fatal(err)
		}
		want := value
		if value == "" {
			want = "alloc_space"
		}
		if d := readPage(t, page); d.Type != want {
			t.Errorf("asked for %q, drew %q", value, d.Type)
		}
	}
	if page, err := FlameGraph(of(t, CPU, workload()), "samples"); err != nil || readPage(t, page).Total != 400 {
		t.Errorf("after a heap profile: %v", err)
	}
}

func TestPagesDrawnAtOnce(t *testing.T) {
	var wait sync.WaitGroup
	for n := range int64(4) {
		wait.Go(func() {
			p := of(t, CPU, stacks{"main": 100 + n})
			if page, err := FlameGraph(p, "samples"); err != nil || readPage(t, page).Total != 100+n {
				t.Errorf("page %d: %v", n, err)
			}
		})
	}
	wait.Wait()
}

func TestDiffFlameGraph(t *testing.T) {
	slower := workload()
	slower["main;work;hash"] += 100
	base := side(of(t, CPU, workload()), 10, 1000)
	// The new one ran twice as long and did four times the work, with the costs of slower a second.
	changed := side(of(t, CPU, times(slower, 2)), 20, 4000)
	page, err := DiffFlameGraph(base, changed, PerSecond, "samples")
	if err != nil {
		t.Fatal(err)
	}
	if d := readPage(t, page); d.self("hash") != 200 || d.self("idle") != 0 || d.self("work") != 0 {
		t.Errorf("per second: %+v", d.Sources)
	}
	page, err = DiffFlameGraph(base, changed, PerMessage, "samples")
	if err != nil {
		t.Fatal(err)
	}
	if d := readPage(t, page); d.self("hash") != 800-1200 || d.self("idle") != 120-240 {
		t.Errorf("per message: %+v", d.Sources)
	}
	if found := references.Find(page); found != nil || !bytes.Contains(page, []byte(diffNotes[PerMessage])) {
		t.Errorf("the page refers to %q, or does not say what it shows", found)
	}
	if base.Profile.Samples() != 400 || changed.Profile.Samples() != 1000 {
		t.Error("an input was changed")
	}
}

func TestAnUnchangedProgramIsDrawnWithoutDifference(t *testing.T) {
	other := synthetic(CPU, workload())
	other.Mapping[0].BuildID = "b2"
	for i, l := range other.Location {
		l.Address, l.Line[0].Line = 0x500000+uint64(i), 9
	}
	page, err := DiffFlameGraph(side(of(t, CPU, workload()), 1, 1), side(parsed(t, encoded(t, other)), 1, 1), PerSecond, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range readPage(t, page).Sources {
		if s.Self != 0 {
			t.Errorf("%+v", s)
		}
	}
}

func TestHostileNamesStayText(t *testing.T) {
	const name = `</script><script>alert("1")</script>`
	p := of(t, CPU, stacks{"main": 100})
	p.pb.Function[0].Name = name
	p.meta.Node = `<img src=x onerror=alert(1)>`
	page, err := FlameGraph(p, "")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(page, []byte("<script>alert")) || bytes.Contains(page, []byte("<img src=x")) {
		t.Error("a name became part of the page")
	}
	if readPage(t, page).self(name) == 0 {
		t.Error("the name is not shown")
	}
}

func TestFlameGraphsRefuseInWords(t *testing.T) {
	cpu, memory := of(t, CPU, workload()), of(t, Heap, workload())
	negative := of(t, CPU, workload())
	negative.pb.Sample[0].Value[0] = -1
	for name, c := range map[string]struct {
		draw func() ([]byte, error)
		is   error
	}{
		"none":     {func() ([]byte, error) { return FlameGraph(nil, "") }, ErrNoData},
		"empty":    {func() ([]byte, error) { return FlameGraph(of(t, CPU, nil), "") }, ErrNoData},
		"negative": {func() ([]byte, error) { return FlameGraph(negative, "") }, ErrSubtracted},
		"value":    {func() ([]byte, error) { return FlameGraph(cpu, "delay") }, ErrUnlike},
		"level": {func() ([]byte, error) {
			return DiffFlameGraph(side(memory, 1, 1), side(memory, 1, 1), PerSecond, "inuse_space")
		}, ErrUnlike},
		"kinds":    {func() ([]byte, error) { return DiffFlameGraph(side(memory, 1, 1), side(cpu, 1, 1), PerSecond, "") }, ErrUnlike},
		"no time":  {func() ([]byte, error) { return DiffFlameGraph(side(cpu, 0, 1), side(cpu, 1, 1), PerSecond, "") }, ErrDenominator},
		"per what": {func() ([]byte, error) { return DiffFlameGraph(side(cpu, 1, 1), side(cpu, 1, 1), "batch", "") }, ErrDenominator},
	} {
		if page, err := c.draw(); !errors.Is(err, c.is) {
			t.Errorf("%s: %d bytes, %v", name, len(page), err)
		}
	}
}

func TestFlameGraphOfWhatSaysLittle(t *testing.T) {
	pb := synthetic(CPU, stacks{"main;x": 200})
	pb.Mapping, pb.Function = nil, nil
	for _, l := range pb.Location {
		l.Mapping, l.Line = nil, nil
	}
	page, err := FlameGraph(parsed(t, encoded(t, pb)), "samples")
	if err != nil {
		t.Fatal(err)
	}
	if readPage(t, page).self("[unknown function]") != 200 {
		t.Errorf("%+v", readPage(t, page))
	}
	bare := &profile.Profile{SampleType: []*profile.ValueType{{Type: "events", Unit: "count"}}, Sample: []*profile.Sample{{Value: []int64{3}}}}
	if _, err := FlameGraph(parsed(t, encoded(t, bare)), ""); err != nil {
		t.Error(err)
	}
}

func TestDiffCommand(t *testing.T) {
	if got, want := DiffCommand("a/n0.pb.gz", "-b's $HOME"), `go tool pprof -http=: -diff_base a/n0.pb.gz './-b'\''s $HOME'`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := quoted(""); got != "''" {
		t.Error(got)
	}
}

// TestGoToolPprofReadsOurFiles asks the ordinary reader for the numbers that Compare gives.
func TestGoToolPprofReadsOurFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("starts go tool pprof")
	}
	dir := t.TempDir()
	base := side(of(t, CPU, workload()), 10, 1000)
	changed := side(of(t, CPU, times(workload(), 6)), 20, 1000) // three times the cost a second
	scaled, err := base.On(changed, PerSecond)
	if err != nil {
		t.Fatal(err)
	}
	a, b := filepath.Join(dir, "a.pb.gz"), filepath.Join(dir, "b.pb.gz")
	if err := errors.Join(scaled.WriteFile(a), changed.Profile.WriteFile(b)); err != nil {
		t.Fatal(err)
	}
	args := strings.Fields(strings.Replace(DiffCommand(a, b), "-http=:", "-top -sample_index=samples", 1))
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !regexp.MustCompile(`(?m)^\s*1200\s+150\.00%\s+\S+\s+1200\s+150\.00%\s+hash$`).Match(out) {
		t.Errorf("hash is not 6 * 300 - 2 * 300 of 2 * 400:\n%s", out)
	}
}
