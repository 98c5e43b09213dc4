package profiles

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// windowName is <node>-<kind>-<start ns>.pb.gz; the start may lie before the run's.
var windowName = regexp.MustCompile(`^[A-Za-z0-9_]+-[a-z]+-(-?[0-9]+)\.pb\.gz$`)

// nodeName is what may stand in a file name before the first dash.
var nodeName = regexp.MustCompile(`^[A-Za-z0-9_]{1,60}$`)

func windowPath(dir, node string, kind Kind, fromNs int64) string {
	return filepath.Join(dir, fmt.Sprintf("%s-%s-%d.pb.gz", node, kind, fromNs))
}

// stamp turns the bytes of a capture into a profile that knows where and when it was taken.
func stamp(data []byte, node string, kind Kind, goVersion string, w Window) (*Profile, error) {
	p, err := Parse(data)
	if err != nil {
		return nil, err
	}
	narrow, ok := narrower(p.Kind(), kind)
	if !ok {
		return nil, fmt.Errorf("%w: asked for kind %s, got %s", ErrUnlike, kind, p.Kind())
	}
	w.DurationNs = min(p.DurationNs(), w.ToNs-w.FromNs)
	p.pb.SetLabel(LabelNode, []string{node})
	p.pb.SetLabel(LabelRole, []string{w.Role})
	return newProfile(p.pb, Meta{Node: node, Kind: narrow, Go: goVersion, Windows: []Window{w}}), nil
}

// writeWindow makes the file appear whole, and does not sync it: a sync would wait behind the nodes' own on the same disk, and be
// measured. The page cache outlives any process that is killed.
func writeWindow(path string, p *Profile) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".window-*")
	if err != nil {
		return fmt.Errorf("write window: %w", err)
	}
	defer os.Remove(tmp.Name()) // fails harmlessly once the file has its name
	err = p.encode(tmp)
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

// windowFiles lists the windows in a folder by node, kind and start.
func windowFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list windows: %w", err)
	}
	var paths []string
	for _, e := range entries {
		if e.Type().IsRegular() && windowName.MatchString(e.Name()) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	slices.SortFunc(paths, compareWindowPaths)
	return paths, nil
}

// compareWindowPaths sorts 9 before 10: starts are numbers, names are text.
func compareWindowPaths(a, b string) int {
	split := func(path string) (string, string) {
		start := windowName.FindStringSubmatch(filepath.Base(path))[1]
		return strings.TrimSuffix(path, start+".pb.gz"), start
	}
	prefixA, startA := split(a)
	prefixB, startB := split(b)
	return cmp.Or(strings.Compare(prefixA, prefixB), cmp.Compare(len(startA), len(startB)), strings.Compare(startA, startB))
}
