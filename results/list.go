package results

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Entry is one line of `bench list`.
type Entry struct {
	Folder  Folder
	Run     Run
	Summary *Summary // nil: none was written, the run goes on or crashed
	// SizeBytes is the sum of all files in the folder.
	SizeBytes int64
	// Err says what could not be read; the other fields hold what could.
	Err error
}

// List returns the runs under root, newest first. A folder that cannot be read is listed with its error instead of hiding the others.
func List(root string) ([]Entry, error) {
	dirs, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	var entries []Entry
	for _, d := range dirs {
		if f := (Folder{Dir: filepath.Join(root, d.Name())}); d.IsDir() && looksLikeRun(d.Name()) && f.holdsRun() {
			entries = append(entries, readEntry(f))
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(b.Folder.Name(), a.Folder.Name()) })
	return entries, nil
}

// Renamed lists the folders under root that hold a run and are not in List, because their names do not begin with a time.
func Renamed(root string) (names []string) {
	dirs, _ := os.ReadDir(root) // who lists runs has met the error
	for _, d := range dirs {
		if !d.IsDir() || looksLikeRun(d.Name()) {
			continue
		}
		if run, err := (Folder{Dir: filepath.Join(root, d.Name())}).ReadRun(); err == nil && run.Asked.Target != "" {
			names = append(names, d.Name())
		}
	}
	return names
}

// utcLayoutExample is how a name may begin.
const utcLayoutExample = "20260102T150405Z"

// looksLikeRun tells a run folder's name, which Create begins with the time, from our own sources, from published/ and from folders of
// somebody else's, such as 2024-photos.
func looksLikeRun(name string) bool {
	return beginsWithTime(name) && len(name) > len(utcLayout)+1 && name[len(utcLayout)] == '-'
}

// beginsWithTime says whether a name begins as those do that Create and CreateGroup give.
func beginsWithTime(name string) bool {
	if len(name) < len(utcLayout) {
		return false
	}
	_, err := time.Parse(utcLayout, name[:len(utcLayout)])
	return err == nil
}

// holdsRun says that the folder holds run.json, however damaged, or nothing but what Create makes before that is written.
func (f Folder) holdsRun() bool {
	if info, err := os.Lstat(f.RunFile()); err == nil && info.Mode().IsRegular() {
		return true
	}
	entries, err := os.ReadDir(f.Dir)
	made := []string{f.Data(), f.Logs(), f.Plots(), f.Profiles()}
	return err == nil && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !e.IsDir() || !slices.Contains(made, f.path(e.Name())) })
}

func readEntry(f Folder) Entry {
	e := Entry{Folder: f}
	var runErr, sumErr, sizeErr error
	e.Run, runErr = f.ReadRun()
	s, sumErr := f.ReadSummary()
	if sumErr == nil {
		e.Summary = &s
	} else if errors.Is(sumErr, fs.ErrNotExist) {
		sumErr = nil
	}
	e.SizeBytes, sizeErr = treeBytes(f.Dir)
	e.Err = errors.Join(runErr, sumErr, sizeErr)
	return e
}

// treeBytes sums file sizes; files that vanish meanwhile (a run goes on) are no error.
func treeBytes(dir string) (int64, error) {
	var sum int64
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				sum += info.Size()
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return sum, err
}

// Remove deletes a run folder directly under root and repairs `latest`. It refuses anything that does not look like a run of ours, so
// that a slip of the hand removes no sources.
func Remove(root string, f Folder) error {
	name := f.Name()
	dir := filepath.Join(root, name)
	if !looksLikeRun(name) || filepath.Clean(f.Dir) != filepath.Clean(dir) || !f.holdsRun() {
		return fmt.Errorf("remove run: %s is not a run folder under %s: the name of one begins with a time, as in %s-builtin-quick, and it holds run.json; remove a copy under another name by hand", f.Dir, root, utcLayoutExample)
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove run: %w", err)
	}
	if name, err := os.Readlink(filepath.Join(root, latestName)); err != nil || filepath.Base(name) != f.Name() {
		return nil
	}
	return repairLatest(root)
}

// repairLatest points `latest` at the newest run left, or removes it.
func repairLatest(root string) error {
	dirs, err := os.ReadDir(root) // sorted by name, and names begin with the time
	if err != nil {
		return fmt.Errorf("remove run: %w", err)
	}
	for _, d := range slices.Backward(dirs) {
		if d.IsDir() && looksLikeRun(d.Name()) {
			return pointLatest(root, d.Name())
		}
	}
	if err := os.Remove(filepath.Join(root, latestName)); err != nil {
		return fmt.Errorf("remove run: %w", err)
	}
	return nil
}

// RemoveData deletes the nodes' data directories and keeps the rest of the record; done after a pass unless --keep. A folder that Create has
// not named must hold a whole run.json of ours: other programs have a run.json and a folder data, too.
func (f Folder) RemoveData() error {
	if run, err := f.ReadRun(); !looksLikeRun(f.Name()) && (err != nil || run.Asked.Target == "") {
		return fmt.Errorf("remove node data: %s is not a run folder", f.Dir)
	}
	if err := os.RemoveAll(f.Data()); err != nil {
		return fmt.Errorf("remove node data: %w", err)
	}
	return nil
}

// HasData says whether the nodes' data directories are still there.
func (f Folder) HasData() bool {
	entries, err := os.ReadDir(f.Data())
	return err == nil && len(entries) > 0
}
