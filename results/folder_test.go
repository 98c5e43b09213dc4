package results

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var testNow = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// newRun makes a run folder with a run.json.
func newRun(t *testing.T, root, scenario string, now time.Time) Folder {
	t.Helper()
	f, err := Create(root, "builtin", scenario, now)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.WriteRun(Run{Status: StatusRunning, StartedAt: now}); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFolderNamesAndPaths(t *testing.T) {
	root := filepath.Join(t.TempDir(), "results")
	f := newRun(t, root, "scenarios/My rig.yaml", testNow)
	if got, want := f.Name(), "20260102T030405Z-builtin-My-rig"; got != want {
		t.Errorf("name %q, want %q", got, want)
	}
	for got, want := range map[string]string{
		f.DataDir(2): "data/n2", f.Log(0): "logs/n0.log", f.Latency(): "latency.hlog", f.Events(): "events.ndjson",
		f.Ledger(): "ledger", f.Bench(): "bench.txt", f.Report(): "report.html", f.Plots(): "plots", f.Profiles(): "profiles",
	} {
		if rel, _ := filepath.Rel(f.Dir, got); rel != want {
			t.Errorf("path %s, want %s", rel, want)
		}
	}
}

func TestSlugIsSafe(t *testing.T) {
	for in, want := range map[string]string{
		"../../etc/passwd": "passwd", "": "unnamed", "..": "unnamed", "a b/c d.yml": "c-d", "<script>": "script", strings.Repeat("x", 99): strings.Repeat("x", 60),
	} {
		if got := slug(in); got != want {
			t.Errorf("slug(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestTwoRunsInOneSecond(t *testing.T) {
	root := t.TempDir()
	a, b := newRun(t, root, "quick", testNow), newRun(t, root, "quick", testNow)
	if a.Dir == b.Dir {
		t.Fatalf("both runs got %s", a.Dir)
	}
	if got, err := Open(root, ""); err != nil || got.Name() != b.Name() {
		t.Errorf("latest = %v, %v; want %s", got, err, b.Name())
	}
}

func TestOpen(t *testing.T) {
	root := t.TempDir()
	if _, err := Open(root, "latest"); !errors.Is(err, ErrNoRun) {
		t.Errorf("latest of nothing: %v, want ErrNoRun", err)
	}
	f := newRun(t, root, "quick", testNow)
	for _, ref := range []string{"latest", "", f.Name(), f.Dir} {
		if got, err := Open(root, ref); err != nil || got.Dir != f.Dir {
			t.Errorf("Open(%q) = %v, %v; want %s", ref, got, err, f.Dir)
		}
	}
	if _, err := Open(root, "nosuch"); !errors.Is(err, ErrNoRun) {
		t.Errorf("nosuch: %v, want ErrNoRun", err)
	}
}

func TestListAndRemove(t *testing.T) {
	root := t.TempDir()
	old := newRun(t, root, "quick", testNow)
	young := newRun(t, root, "quick", testNow.Add(time.Hour))
	if err := os.WriteFile(filepath.Join(root, "folder.go"), nil, 0o644); err != nil { // our sources lie beside the runs
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, "published", "quick"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := young.WriteSummary(Summary{Verdict: Pass}); err != nil {
		t.Fatal(err)
	}
	entries, err := List(root)
	if err != nil || len(entries) != 2 {
		t.Fatalf("List = %d entries, %v; want 2", len(entries), err)
	}
	if e := entries[0]; e.Folder.Name() != young.Name() || e.Summary == nil || e.Summary.Verdict != Pass || e.SizeBytes == 0 || e.Err != nil {
		t.Errorf("newest entry is %+v", e)
	}
	if e := entries[1]; e.Summary != nil || e.Run.Status != StatusRunning || e.Err != nil {
		t.Errorf("crashed entry is %+v", e)
	}
	if err := Remove(root, young); err != nil {
		t.Fatal(err)
	}
	if got, err := Open(root, "latest"); err != nil || got.Name() != old.Name() {
		t.Errorf("latest after removal = %v, %v; want %s", got, err, old.Name())
	}
	if err := Remove(root, old); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(root, "latest")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("latest outlives the last run: %v", err)
	}
}

// strange makes a folder of somebody else's with one file and a folder data.
func strange(t *testing.T, root, name, file string) Folder {
	t.Helper()
	f := Folder{Dir: filepath.Join(root, name)}
	for _, dir := range []string{f.Data(), f.DataDir(0)} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(f.Dir, file), []byte(`{"schema_version": 1, "name": "mine"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestRenamed: a copy of a run under a name of its own is not listed or removed, and it is said why.
func TestRenamed(t *testing.T) {
	root := t.TempDir()
	run, err := Create(root, "builtin", "quick", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := run.WriteRun(Run{Asked: Asked{Target: "builtin"}}); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(root, "before-the-change"), os.DirFS(run.Dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, "photos"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := Renamed(root); !slices.Equal(got, []string{"before-the-change"}) {
		t.Errorf("renamed are %v", got)
	}
	copied, err := Open(root, "before-the-change")
	if err != nil {
		t.Fatal(err)
	}
	if err := Remove(root, copied); err == nil || !strings.Contains(err.Error(), "begins with a time, as in 2") {
		t.Errorf("removing it: %v", err)
	}
}

// TestRemoveDataRefusesWhatIsNoRun: a project of another program may well hold a run.json and a folder data.
func TestRemoveDataRefusesWhatIsNoRun(t *testing.T) {
	f := strange(t, t.TempDir(), "mine", "run.json")
	if err := f.RemoveData(); err == nil || !f.HasData() {
		t.Errorf("removed the data of %s: %v", f.Dir, err)
	}
}

// TestCreatedButUnwrittenRunIsRemoved: a run that died before run.json is still a run.
func TestCreatedButUnwrittenRunIsRemoved(t *testing.T) {
	root := t.TempDir()
	f, err := Create(root, "builtin", "quick", testNow)
	if err != nil {
		t.Fatal(err)
	}
	if err := Remove(root, f); err != nil {
		t.Error(err)
	}
}

func TestRemoveRefusesWhatIsNoRun(t *testing.T) {
	root := t.TempDir()
	victim := filepath.Join(root, "published")
	if err := os.Mkdir(victim, 0o755); err != nil {
		t.Fatal(err)
	}
	outside := newRun(t, t.TempDir(), "quick", testNow)
	photos := strange(t, root, "2024-photos", "run.json")
	backup := strange(t, root, "20260102T030405Z-home", "letters.txt")
	for _, f := range []Folder{{Dir: victim}, {Dir: root}, outside, {Dir: ""}, photos, backup} {
		if err := Remove(root, f); err == nil {
			t.Errorf("removed %q", f.Dir)
		}
	}
	if entries, err := List(root); err != nil || len(entries) != 0 {
		t.Errorf("listed as runs, for clean --all: %v, %v", entries, err)
	}
	if _, err := os.Stat(outside.RunFile()); err != nil {
		t.Error(err)
	}
}

func TestWriteFileAtomicKeepsTheOldOnFailure(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.json")
	if err := WriteJSON(path, "old"); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	err := WriteFileAtomic(path, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	var got string
	if err := readJSON(path, &got); err != nil || got != "old" {
		t.Errorf("file holds %q, %v", got, err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestRunRoundTripAndSchema(t *testing.T) {
	f := newRun(t, t.TempDir(), "quick", testNow)
	want := Run{Status: StatusFinished, StartedAt: testNow, StartMonoNs: 7, Asked: Asked{
		Target: "builtin", Guarantee: "durable on 2 of 3", Scenario: json.RawMessage(`{"rate":300}`), Seed: 1<<64 - 1,
		Faults: []AskedFault{{AtNs: 1, Kind: "kill", Node: "primary", DownNs: new(int64(5))}, {Kind: "kill", Node: "n1"}},
	}, Found: Probe(f.Data())}
	if err := f.WriteRun(want); err != nil {
		t.Fatal(err)
	}
	got, err := f.ReadRun()
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != StatusFinished || got.Asked.Seed != want.Asked.Seed || *got.Asked.Faults[0].DownNs != 5 || got.Asked.Faults[1].DownNs != nil || got.Name != f.Name() {
		t.Errorf("read back %+v", got)
	}
	if err := os.WriteFile(f.RunFile(), []byte(`{"schema_version": 99}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := f.ReadRun(); !errors.Is(err, ErrSchema) {
		t.Errorf("schema 99: %v, want ErrSchema", err)
	}
}

// Trap 22: a run on a file system in memory says so.
func TestMemoryFileSystemIsWarnedOf(t *testing.T) {
	const dir = "/dev/shm"
	found := Probe(dir)
	if found.FileSystem != "tmpfs" {
		t.Skipf("%s lies on %q here, not on tmpfs", dir, found.FileSystem)
	}
	if w := strings.Join(found.Warnings(), "; "); !found.Tmpfs || !strings.Contains(w, dir+" is in memory (tmpfs)") {
		t.Errorf("%+v warns %q", found, w)
	}
	if w := strings.Join((&Found{FileSystem: "ext4", Commit: "abc"}).Warnings(), "; "); w != "" {
		t.Errorf("a clean build on a disk warns %q", w)
	}
	all := strings.Join((&Found{Race: true, Dirty: true, Commit: "abc"}).Warnings(), "; ")
	if !strings.Contains(all, "race build") || !strings.Contains(all, "dirty checkout") {
		t.Errorf("a dirty race build warns %q", all)
	}
}

func TestProbeFindsThisMachine(t *testing.T) {
	p := Probe(t.TempDir())
	if p.Cores < 1 || p.Kernel == "" || p.MemoryBytes == nil || *p.MemoryBytes < 1<<20 || p.FileSystem == "" || p.DiskFreeBytes == nil || p.GoVersion == "" {
		t.Errorf("probe found %+v", p)
	}
	if missing := Probe("/nonexistent/dir"); missing.FileSystem != "" || missing.DiskFreeBytes != nil || len(missing.Missing) == 0 {
		t.Errorf("probe of nothing found %+v", missing)
	}
}
