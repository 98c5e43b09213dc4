package results

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Names inside a run folder; the accessors of Folder are the only users.
const (
	runName     = "run.json"
	summaryName = "summary.json"
	latestName  = "latest"
)

// utcLayout begins a folder's name: sortable, begins with a digit (the ignore pattern /results/[0-9]*/ depends on it), no colon.
const utcLayout = "20060102T150405Z"

// sameSecondMax bounds how many runs of one name may begin within a second.
const sameSecondMax = 100

// Folder is one run's directory. The zero value is not usable; Create and Open make one.
type Folder struct {
	// Dir is the path of the folder, as given by the root it was created or found under.
	Dir string
}

// Create makes results/<utc>-<target>-<scenario>/ with its sub-directories under root (made if missing) and points `latest` at it. The
// caller writes run.json next; until then Open refuses the folder.
func Create(root, target, scenario string, now time.Time) (Folder, error) {
	name := now.UTC().Format(utcLayout) + "-" + slug(target) + "-" + slug(scenario)
	if err := os.MkdirAll(root, 0o755); err != nil {
		return Folder{}, fmt.Errorf("create run folder: %w", err)
	}
	dir, err := mkdirFresh(root, name)
	if err != nil {
		return Folder{}, fmt.Errorf("create run folder: %w", err)
	}
	f := Folder{Dir: dir}
	for _, sub := range []string{f.Data(), f.Logs(), f.Plots(), f.Profiles()} {
		if err := os.Mkdir(sub, 0o755); err != nil {
			return Folder{}, fmt.Errorf("create run folder: %w", err)
		}
	}
	if err := pointLatest(root, filepath.Base(dir)); err != nil {
		return Folder{}, fmt.Errorf("create run folder: %w", err)
	}
	return f, nil
}

// mkdirFresh makes a directory that was not there, so that two runs within a second never share one.
func mkdirFresh(root, name string) (string, error) {
	for n := 1; n <= sameSecondMax; n++ {
		dir := filepath.Join(root, name)
		if n > 1 {
			dir = fmt.Sprintf("%s-%d", dir, n)
		}
		err := os.Mkdir(dir, 0o755)
		if err == nil || !errors.Is(err, fs.ErrExist) {
			return dir, err
		}
	}
	return "", fmt.Errorf("%d runs named %s began within one second", sameSecondMax, name)
}

// slug keeps what is safe in a file name; a scenario may be the path of a YAML file.
func slug(s string) string {
	s = strings.TrimSuffix(strings.TrimSuffix(filepath.Base(s), ".yaml"), ".yml")
	out := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '-'
	}, s)
	out = strings.Trim(out, "-")
	if len(out) > 60 {
		out = out[:60]
	}
	if out == "" {
		return "unnamed"
	}
	return out
}

// pointLatest replaces the symlink in one step; a reader sees the old run or the new one.
func pointLatest(root, name string) error {
	tmp := filepath.Join(root, fmt.Sprintf(".%s.tmp-%d", latestName, os.Getpid()))
	_ = os.Remove(tmp)
	if err := os.Symlink(name, tmp); err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Join(root, latestName))
}

// Open finds a run: "latest" or "" is the newest, otherwise the path of a run folder or the name of one under root. `latest` is resolved, so
// that a run started meanwhile does not move a command to another folder.
func Open(root, ref string) (Folder, error) {
	if ref == "" || ref == latestName {
		name, err := os.Readlink(filepath.Join(root, latestName))
		if err != nil {
			return Folder{}, fmt.Errorf("open latest run under %s: %w; start one with bench run", root, ErrNoRun)
		}
		ref = filepath.Join(root, filepath.Base(name))
	}
	for _, dir := range []string{ref, filepath.Join(root, ref)} {
		if st, err := os.Stat(filepath.Join(dir, runName)); err == nil && st.Mode().IsRegular() {
			return Folder{Dir: filepath.Clean(dir)}, nil
		}
	}
	return Folder{}, fmt.Errorf("open run %q under %s: %w; bench list shows what there is", ref, root, ErrNoRun)
}

// Name is the folder's own name, which identifies the run.
func (f Folder) Name() string { return filepath.Base(f.Dir) }

func (f Folder) path(name string) string { return filepath.Join(f.Dir, name) }

// RunFile is run.json; see WriteRun and ReadRun.
func (f Folder) RunFile() string { return f.path(runName) }

// SummaryFile is summary.json.
func (f Folder) SummaryFile() string { return f.path(summaryName) }

// ProofFile is proof.json; see WriteProof and ReadProof.
func (f Folder) ProofFile() string { return f.path("proof.json") }

// Machine is machine.ndjson.
func (f Folder) Machine() string { return f.path("machine.ndjson") }

// Latency is latency.hlog.
func (f Folder) Latency() string { return f.path("latency.hlog") }

// Ledger is what producers sent and got acknowledged; package loadgen owns its format.
func (f Folder) Ledger() string { return f.path("ledger") }

// Events is events.ndjson.
func (f Folder) Events() string { return f.path("events.ndjson") }

// StatusSamples is status.ndjson.
func (f Folder) StatusSamples() string { return f.path("status.ndjson") }

// Rates is rates.ndjson.
func (f Folder) Rates() string { return f.path("rates.ndjson") }

// Bench is bench.txt.
func (f Folder) Bench() string { return f.path("bench.txt") }

// Report is report.html.
func (f Folder) Report() string { return f.path("report.html") }

// Profiles is the directory that package profiles fills.
func (f Folder) Profiles() string { return f.path("profiles") }

// Plots is the directory that package plots fills.
func (f Folder) Plots() string { return f.path("plots") }

// Logs is the directory of the nodes' logs.
func (f Folder) Logs() string { return f.path("logs") }

// Log is the log of node number node.
func (f Folder) Log(node int) string { return filepath.Join(f.Logs(), NodeName(node)+".log") }

// Data is the parent of the nodes' data directories.
func (f Folder) Data() string { return f.path("data") }

// DataDir is the data directory of node number node: data/nK.
func (f Folder) DataDir(node int) string { return filepath.Join(f.Data(), NodeName(node)) }

// NodeName is how node number node is called in every file: n0, n1, …
func NodeName(node int) string { return fmt.Sprintf("n%d", node) }
