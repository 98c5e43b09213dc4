package results

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// CreateGroup makes <kind>-<utc>-<scenario>/ under root (made if missing) for what belongs to several runs: ab, compare, repeat or search. Its
// name does not begin like a run's, so that lists of runs pass it by.
func CreateGroup(root, kind, scenario string, now time.Time) (dir string, err error) {
	if !slices.Contains(groupKinds, kind) {
		return "", fmt.Errorf("create folder of a %s: groups of runs are %v", kind, groupKinds)
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", fmt.Errorf("create folder of a %s: %w", kind, err)
	}
	dir, err = mkdirFresh(root, kind+"-"+now.UTC().Format(utcLayout)+"-"+slug(scenario))
	if err != nil {
		return "", fmt.Errorf("create folder of a %s: %w", kind, err)
	}
	return dir, nil
}

// groupKinds are what CreateGroup makes and Groups finds.
var groupKinds = []string{"ab", "compare", "repeat", "search"}

// Groups are the folders under root that CreateGroup made, sorted by name.
func Groups(root string) ([]string, error) {
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list groups of runs: %w", err)
	}
	var dirs []string
	for _, e := range entries {
		if e.IsDir() && isGroup(e.Name()) {
			dirs = append(dirs, filepath.Join(root, e.Name()))
		}
	}
	return dirs, nil
}

// isGroup wants the time behind the kind, so that a folder of somebody else's is none.
func isGroup(name string) bool {
	for _, kind := range groupKinds {
		rest, ok := strings.CutPrefix(name, kind+"-")
		if !ok || len(rest) < len(utcLayout) {
			continue
		}
		if _, err := time.Parse(utcLayout, rest[:len(utcLayout)]); err == nil {
			return true
		}
	}
	return false
}

// RemoveGroup deletes a folder that Groups lists.
func RemoveGroup(dir string) error {
	if !isGroup(filepath.Base(dir)) {
		return fmt.Errorf("remove group of runs: %s is none", dir)
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove group of runs: %w", err)
	}
	return nil
}
