package faultfs

import (
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"syscall"

	"rejoin/server/journal"
)

// FS is the file system. New makes one.
type FS struct {
	// CapacityBytes bounds the sum of the sizes of all files; 0 is no bound. Where nothing is left, no new name fits either.
	CapacityBytes int64
	// ReadOnly refuses every change with EROFS.
	ReadOnly bool
	// StillLent lets what was lent to readers be on its way to them for ever: no file of which something was is Exclusive.
	StillLent bool
	// OnWritev, when set, sees every write before it is done.
	OnWritev func(name string, bufs [][]byte, off int64)
	// OnOp, when set, is told each counted operation before it is done.
	OnOp func(index int, verb Verb, name string)

	names   map[string]*node // as the running system sees them
	durable map[string]*node // as they are on the disk
	pending []dirOp          // changes of names that no SyncDir has covered, in order

	faults     []*Fault
	ops        int
	stopBefore int
	generation int // handles of an older one are dead
}

// dirOp is one change of a name. A rename is one change, also between two directories.
type dirOp struct {
	from, to string // from is empty for create, to for remove
	node     *node
}

// New returns an empty file system.
func New() *FS {
	return &FS{names: map[string]*node{}, durable: map[string]*node{}, stopBefore: math.MaxInt}
}

var _ journal.FS = (*FS)(nil)

func clean(name string) string { return path.Clean(name) }

func isRoot(name string) bool { return name == "." || name == "/" }

func pathError(op, name string, err error) error { return &fs.PathError{Op: op, Path: name, Err: err} }

// parentExists tells whether a name can be made.
func (f *FS) parentExists(name string) bool {
	dir := path.Dir(name)
	if isRoot(dir) {
		return true
	}
	n := f.names[dir]
	return n != nil && n.dir
}

// Open opens a file that is there.
func (f *FS) Open(name string) (journal.File, error) {
	name = clean(name)
	if err := f.read(VerbOpen, name); err != nil {
		return nil, pathError("open", name, err)
	}
	n := f.names[name]
	if n == nil {
		return nil, pathError("open", name, fs.ErrNotExist)
	}
	if n.dir {
		return nil, pathError("open", name, syscall.EISDIR)
	}
	return f.handle(n), nil
}

// Create makes a file that is not there.
func (f *FS) Create(name string) (journal.File, error) {
	name = clean(name)
	if err := f.change(VerbCreate, name); err != nil {
		return nil, pathError("create", name, err)
	}
	if f.names[name] != nil {
		return nil, pathError("create", name, fs.ErrExist)
	}
	if !f.parentExists(name) {
		return nil, pathError("create", name, fs.ErrNotExist)
	}
	if f.isFull() {
		return nil, pathError("create", name, syscall.ENOSPC)
	}
	n := &node{name: name}
	f.apply(dirOp{to: name, node: n})
	return f.handle(n), nil
}

// Mkdir makes a directory; it is no error when it is there.
func (f *FS) Mkdir(name string) error {
	name = clean(name)
	if isRoot(name) || f.names[name] != nil && f.names[name].dir {
		return nil
	}
	if err := f.change(VerbMkdir, name); err != nil {
		return pathError("mkdir", name, err)
	}
	if !f.parentExists(name) {
		return pathError("mkdir", name, fs.ErrNotExist)
	}
	if f.isFull() {
		return pathError("mkdir", name, syscall.ENOSPC)
	}
	f.apply(dirOp{to: name, node: &node{dir: true}})
	return nil
}

// Rename moves a file or a directory and replaces a file that has the name.
func (f *FS) Rename(from, to string) error {
	from, to = clean(from), clean(to)
	if err := f.change(VerbRename, from); err != nil {
		return pathError("rename", from, err)
	}
	n := f.names[from]
	if n == nil || !f.parentExists(to) {
		return pathError("rename", from, fs.ErrNotExist)
	}
	if old := f.names[to]; old != nil && (old.dir || n.dir) {
		return pathError("rename", to, fs.ErrExist)
	}
	n.name = to
	f.apply(dirOp{from: from, to: to, node: n})
	return nil
}

// Remove takes a name away. Open handles go on.
func (f *FS) Remove(name string) error {
	name = clean(name)
	n := f.names[name]
	if n == nil {
		return pathError("remove", name, fs.ErrNotExist)
	}
	if err := f.change(VerbRemove, name); err != nil {
		return pathError("remove", name, err)
	}
	if n.dir && len(below(f.names, name)) > 0 {
		return pathError("remove", name, syscall.ENOTEMPTY)
	}
	f.apply(dirOp{from: name, node: n})
	return nil
}

// List returns the names in a directory, sorted.
func (f *FS) List(dir string) ([]string, error) {
	dir = clean(dir)
	if err := f.read(VerbRead, dir); err != nil {
		return nil, pathError("list", dir, err)
	}
	if n := f.names[dir]; !isRoot(dir) && (n == nil || !n.dir) {
		return nil, pathError("list", dir, fs.ErrNotExist)
	}
	var names []string
	for _, name := range sortedNames(f.names) {
		if path.Dir(name) == dir || isRoot(dir) && !strings.Contains(name, "/") {
			names = append(names, path.Base(name))
		}
	}
	return names, nil
}

// SyncDir makes the names in dir durable.
func (f *FS) SyncDir(dir string) error {
	dir = clean(dir)
	fault, err := f.changeFault(VerbSyncDir, dir)
	if err != nil {
		return pathError("sync", dir, err)
	}
	if fault != nil && fault.Lie {
		return nil
	}
	kept := f.pending[:0]
	for _, op := range f.pending {
		if op.from != "" && path.Dir(op.from) == dir || op.to != "" && path.Dir(op.to) == dir {
			op.apply(f.durable)
			continue
		}
		kept = append(kept, op)
	}
	f.pending = kept
	return nil
}

// FreeBytes returns what is left of the capacity.
func (f *FS) FreeBytes() (uint64, error) {
	if f.CapacityBytes == 0 {
		return 1 << 50, nil
	}
	return uint64(max(0, f.CapacityBytes-f.used())), nil
}

func (f *FS) isFull() bool { return f.CapacityBytes > 0 && f.used() >= f.CapacityBytes }

// Ops counts the operations that change something, failed ones included.
func (f *FS) Ops() int { return f.ops }

// apply changes a name for the running system and remembers that it is not durable.
func (f *FS) apply(op dirOp) {
	op.apply(f.names)
	f.pending = append(f.pending, op)
}

func (op dirOp) apply(names map[string]*node) {
	if op.from != "" && names[op.from] == op.node {
		delete(names, op.from)
	}
	if op.to == "" {
		return
	}
	names[op.to] = op.node
	if !op.node.dir || op.from == "" {
		return
	}
	for _, name := range below(names, op.from) {
		names[op.to+strings.TrimPrefix(name, op.from)] = names[name]
		delete(names, name)
	}
}

// below returns the sorted names under a directory.
func below(names map[string]*node, dir string) []string {
	return slices.DeleteFunc(sortedNames(names), func(name string) bool { return !strings.HasPrefix(name, dir+"/") })
}

func sortedNames(names map[string]*node) []string { return slices.Sorted(maps.Keys(names)) }

// used sums the sizes of the files that have a name. It is asked only of a disk with a capacity.
func (f *FS) used() (bytes int64) {
	for _, name := range sortedNames(f.names) {
		bytes += f.names[name].size
	}
	return bytes
}

func (f *FS) String() string {
	var b strings.Builder
	for _, name := range sortedNames(f.names) {
		n := f.names[name]
		fmt.Fprintf(&b, "%s %d bytes, %d pages dirty, name durable %v\n", name, n.size, n.dirtyPages(), f.durable[name] == n)
	}
	return b.String()
}
