package results

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Group is the folder of what belongs to several runs, held by the process that fills it: as long as that has not closed it and lives,
// RemoveGroup refuses.
type Group struct {
	Dir  string
	held *os.File
}

// CreateGroup makes <kind>-<utc>-<scenario>/ under root (made if missing): ab, compare, repeat, search or versus. Its name does not begin like a run's,
// so that lists of runs pass it by. The caller closes it when it writes no more into it.
func CreateGroup(root, kind, scenario string, now time.Time) (*Group, error) {
	if !slices.Contains(groupKinds, kind) {
		return nil, fmt.Errorf("create folder of a %s: groups of runs are %v", kind, groupKinds)
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, fmt.Errorf("create folder of a %s: %w", kind, err)
	}
	dir, err := mkdirFresh(root, kind+"-"+now.UTC().Format(utcLayout)+"-"+slug(scenario))
	if err != nil {
		return nil, fmt.Errorf("create folder of a %s: %w", kind, err)
	}
	held, err := holdDirSoon(dir)
	if err != nil {
		return nil, fmt.Errorf("create folder of a %s: %w", kind, err)
	}
	return &Group{Dir: dir, held: held}, nil
}

// HoldGroup takes hold of a folder that CreateGroup made, to go on with it. ErrHeld: another process has it.
func HoldGroup(dir string) (*Group, error) {
	held, err := holdDirSoon(dir)
	if err != nil {
		return nil, fmt.Errorf("go on with %s: %w", dir, err)
	}
	return &Group{Dir: dir, held: held}, nil
}

// Close lets go of the folder; what is in it stays.
func (g *Group) Close() error { return g.held.Close() }

// lookMax is how long GroupHeld may have a directory that it looks at.
const lookMax = 100 * time.Millisecond

// holdDirSoon waits for who only looks.
func holdDirSoon(dir string) (f *os.File, err error) {
	for limit := time.Now().Add(lookMax); ; time.Sleep(time.Millisecond) {
		if f, err = lockDir(dir, syscall.LOCK_EX); !errors.Is(err, ErrHeld) || time.Now().After(limit) {
			return f, err
		}
	}
}

// lockDir locks a directory; the kernel lets go of it when the process ends, however it ends. ErrHeld: another one has it. A file system
// without locks lets everybody have it.
func lockDir(dir string, how int) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		f.Close()
		return nil, ErrHeld
	}
	return f, nil
}

// groupKinds are what CreateGroup makes and Groups finds.
var groupKinds = []string{"ab", "compare", "repeat", "search", "versus"}

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

// GroupEntry is one line of `bench list` about several runs.
type GroupEntry struct {
	Dir       string
	Kind      string
	CreatedAt time.Time
	SizeBytes int64 // of all files, those of the runs inside too
	Held      bool  // the process that made it still fills it
	Err       error // what could not be read of it; the other fields hold what could
}

// ListGroups are the groups under root, newest first.
func ListGroups(root string) ([]GroupEntry, error) {
	dirs, err := Groups(root)
	if err != nil {
		return nil, err
	}
	var entries []GroupEntry
	for _, dir := range dirs {
		kind, rest, _ := strings.Cut(filepath.Base(dir), "-")
		e := GroupEntry{Dir: dir, Kind: kind, Held: GroupHeld(dir)}
		e.CreatedAt, _ = time.Parse(utcLayout, rest[:len(utcLayout)]) // isGroup has seen that it is one
		e.SizeBytes, e.Err = treeBytes(dir)
		entries = append(entries, e)
	}
	slices.SortStableFunc(entries, func(a, b GroupEntry) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return entries, nil
}

// OpenGroup finds a group by a path of its folder or by its name under root.
func OpenGroup(root, ref string) (dir string, ok bool) {
	groups, err := Groups(root)
	meant, _ := os.Stat(ref) // nothing where it is a name
	i := slices.IndexFunc(groups, func(dir string) bool {
		info, err := os.Stat(dir)
		return filepath.Clean(ref) == filepath.Base(dir) || err == nil && meant != nil && os.SameFile(info, meant)
	})
	if err != nil || i < 0 {
		return "", false
	}
	return groups[i], true
}

// isGroup wants the time behind the kind, so that a folder of somebody else's is none.
func isGroup(name string) bool {
	return slices.ContainsFunc(groupKinds, func(kind string) bool {
		rest, ok := strings.CutPrefix(name, kind+"-")
		return ok && beginsWithTime(rest)
	})
}

// GroupHeld says whether the process that made a group still fills it. Two who look do not see one another.
func GroupHeld(dir string) bool {
	f, err := lockDir(dir, syscall.LOCK_SH)
	if err == nil {
		f.Close()
	}
	return errors.Is(err, ErrHeld)
}

// RemoveGroup deletes a folder that Groups lists. The error is ErrHeld while the process that made it still fills it.
func RemoveGroup(dir string) error {
	if !isGroup(filepath.Base(dir)) {
		return fmt.Errorf("remove group of runs: %s is none", dir)
	}
	held, err := holdDirSoon(dir)
	if err != nil {
		return fmt.Errorf("remove group of runs: %w", err)
	}
	defer held.Close()
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove group of runs: %w", err)
	}
	return nil
}
