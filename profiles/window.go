package profiles

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
)

// windowsDir holds the windows within the folder of profiles.
const windowsDir = "windows"

// windowName is <source>-<kind>-<from ns>-<to ns>-<role>.pb.gz: all that the bytes do not say, so that a capture is written as it came and
// read only when nothing is measured any more. Times may lie before the run's. Names are compiled when the first is looked at: the start of bench
// would wait for it.
var windowName = onceCompiled(`^([A-Za-z0-9_]{1,60})-([a-z]{1,20})-(-?[0-9]{1,18})-(-?[0-9]{1,18})-([a-z]{1,20})\.pb\.gz$`)

// nodeName is what may stand in a file name before the first dash.
var nodeName = onceCompiled(`^[A-Za-z0-9_]{1,60}$`)

// roleName is what may stand in a file name before the ending.
var roleName = onceCompiled(`^[a-z]{1,20}$`)

func onceCompiled(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// windowFile is a capture on disk, unread.
type windowFile struct {
	path   string
	source string
	kind   Kind
	window Window // without duration and work
}

func windowPath(dir, source string, kind Kind, w Window) string {
	role := w.Role
	if !roleName().MatchString(role) {
		role = "unknown"
	}
	return filepath.Join(dir, windowsDir, fmt.Sprintf("%s-%s-%d-%d-%s.pb.gz", source, kind, w.FromNs, w.ToNs, role))
}

// read parses a capture and gives it what its name says.
func (f windowFile) read(goVersion string) (*Profile, error) {
	data, err := readBounded(f.path)
	if err != nil {
		return nil, err
	}
	return stamp(data, f.source, f.kind, goVersion, f.window)
}

// stamp turns the bytes of a capture into a profile that knows where and when it was taken.
func stamp(data []byte, source string, kind Kind, goVersion string, w Window) (*Profile, error) {
	p, err := Parse(data)
	if err != nil {
		return nil, err
	}
	narrow, ok := narrower(p.Kind(), kind)
	if !ok {
		return nil, fmt.Errorf("%w: asked for kind %s, got %s", ErrUnlike, kind, p.Kind())
	}
	w.DurationNs = min(p.DurationNs(), w.ToNs-w.FromNs)
	p.pb.DurationNanos = w.DurationNs
	p.pb.SetLabel(LabelNode, []string{source})
	p.pb.SetLabel(LabelRole, []string{w.Role})
	return newProfile(p.pb, Meta{Node: source, Kind: narrow, Go: goVersion, Windows: []Window{w}}), nil
}

// writeWindow makes the file appear whole, and does not sync it: a sync would wait behind the nodes' own on the same disk, and be
// measured. The page cache outlives any process that is killed.
func writeWindow(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".window-*")
	if err != nil {
		return fmt.Errorf("write window: %w", err)
	}
	defer os.Remove(tmp.Name()) // fails harmlessly once the file has its name
	_, err = tmp.Write(data)
	if cerr := tmp.Chmod(0o644); err == nil {
		err = cerr
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write window %s: %w", path, err)
	}
	return nil
}

// makeWindowsDir makes the folder of windows in a folder of profiles that is there.
func makeWindowsDir(dir string) error {
	if err := os.Mkdir(filepath.Join(dir, windowsDir), 0o755); err != nil && !os.IsExist(err) {
		return fmt.Errorf("make the folder of profile windows: %w", err)
	}
	return nil
}

// windowFiles lists the windows of a folder of profiles by source, kind and start. Names of other files are passed over.
func windowFiles(dir string) ([]windowFile, error) {
	entries, err := os.ReadDir(filepath.Join(dir, windowsDir))
	if err != nil {
		return nil, fmt.Errorf("list windows: %w", err)
	}
	var files []windowFile
	for _, e := range entries {
		parts := windowName().FindStringSubmatch(e.Name())
		if parts == nil || !e.Type().IsRegular() {
			continue
		}
		from, fromErr := strconv.ParseInt(parts[3], 10, 64)
		to, toErr := strconv.ParseInt(parts[4], 10, 64)
		if fromErr != nil || toErr != nil || to < from {
			continue
		}
		files = append(files, windowFile{path: filepath.Join(dir, windowsDir, e.Name()), source: parts[1], kind: Kind(parts[2]),
			window: Window{FromNs: from, ToNs: to, Role: parts[5]}})
	}
	slices.SortFunc(files, func(a, b windowFile) int {
		return cmp.Or(cmp.Compare(a.source, b.source), cmp.Compare(a.kind, b.kind), cmp.Compare(a.window.FromNs, b.window.FromNs))
	})
	return files, nil
}
