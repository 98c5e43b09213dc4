package faultfs

import (
	"bytes"
	"io"
	"math/bits"
	"syscall"
)

const (
	pageBytes   = 4096
	sectorBytes = 512
)

type page [pageBytes]byte

var zeroPage page // what a nil page reads as; never written to

// node is a file or a directory. A page is shared between cache and disk while they agree, and is
// never changed while it is shared.
type node struct {
	name     string // its last one
	dir      bool
	size     int64 // as the running system sees it
	diskSize int64
	cache    []*page // nil is a page of zeros
	disk     []*page
	dirty    []uint64 // bit per page: a sync will write it
	handles  int      // that are open, of the generation opened
	opened   int
}

func at(pages []*page, i int) *page {
	if i < len(pages) {
		return pages[i]
	}
	return nil
}

func put(pages []*page, i int, p *page) []*page {
	for len(pages) <= i {
		pages = append(pages, nil)
	}
	pages[i] = p
	return pages
}

func (n *node) markDirty(i int) {
	for len(n.dirty) <= i/64 {
		n.dirty = append(n.dirty, 0)
	}
	n.dirty[i/64] |= 1 << (i % 64)
}

func (n *node) dirtyPages() (count int) {
	for _, w := range n.dirty {
		count += bits.OnesCount64(w)
	}
	return count
}

// eachDirty calls do for every dirty page, rising.
func (n *node) eachDirty(do func(i int)) {
	for w, word := range n.dirty {
		for word != 0 {
			do(w*64 + bits.TrailingZeros64(word))
			word &= word - 1
		}
	}
}

// write puts b into the cache at off and grows the file.
func (n *node) write(b []byte, off int64) {
	n.size = max(n.size, off+int64(len(b)))
	for len(b) > 0 {
		i, in := int(off/pageBytes), int(off%pageBytes)
		m := min(len(b), pageBytes-in)
		n.writePage(i, in, b[:m])
		b, off = b[m:], off+int64(m)
	}
}

func (n *node) writePage(i, in int, b []byte) {
	old := at(n.cache, i)
	n.markDirty(i)
	if old == nil && bytes.Equal(b, zeroPage[:len(b)]) {
		return
	}
	p := old
	if old == nil || old == at(n.disk, i) {
		p = new(page)
		if old != nil {
			*p = *old
		}
	}
	copy(p[in:], b)
	n.cache = put(n.cache, i, p)
}

// truncate changes the size; what lay beyond reads as zeros when the file grows again.
func (n *node) truncate(size int64) {
	if size < n.size {
		first := int(size / pageBytes)
		if in := int(size % pageBytes); in > 0 {
			if at(n.cache, first) != nil {
				n.writePage(first, in, zeroPage[in:])
			}
			first++
		}
		for i := first; i < len(n.cache); i++ {
			if n.cache[i] != nil {
				n.cache[i] = nil
				n.markDirty(i)
			}
		}
	}
	n.size = size
}

func (n *node) readAt(b []byte, off int64) (int, error) {
	if off >= n.size {
		return 0, io.EOF
	}
	want := b[:min(int64(len(b)), n.size-off)]
	for rest := want; len(rest) > 0; {
		p := at(n.cache, int(off/pageBytes))
		if p == nil {
			p = &zeroPage
		}
		m := copy(rest, p[off%pageBytes:])
		rest, off = rest[m:], off+int64(m)
	}
	if len(want) < len(b) {
		return len(want), io.EOF
	}
	return len(want), nil
}

// sync brings the dirty pages and the size to the disk.
func (n *node) sync() {
	n.eachDirty(func(i int) { n.disk = put(n.disk, i, at(n.cache, i)) })
	n.diskSize = n.size
	clear(n.dirty)
}

// file is a handle.
type file struct {
	fs         *FS
	node       *node
	generation int
	closed     bool
}

// handle opens n.
func (f *FS) handle(n *node) *file {
	if n.opened != f.generation {
		n.opened, n.handles = f.generation, 0
	}
	n.handles++
	return &file{fs: f, node: n, generation: f.generation}
}

// IsOpen tells whether a file has a handle: who has one goes on to read it when its name is gone.
func (f *FS) IsOpen(name string) bool {
	n := f.names[clean(name)]
	return n != nil && n.opened == f.generation && n.handles > 0
}

func (h *file) usable() error {
	switch {
	case h.generation != h.fs.generation:
		return ErrStale
	case h.closed:
		return syscall.EBADF
	}
	return nil
}

// ReadAt reads from the page cache.
func (h *file) ReadAt(b []byte, off int64) (int, error) {
	if err := h.usable(); err != nil {
		return 0, pathError("read", h.node.name, err)
	}
	if err := h.fs.readRange(h.node.name, off, int64(len(b))); err != nil {
		return 0, pathError("read", h.node.name, err)
	}
	return h.node.readAt(b, off)
}

// Writev writes into the page cache.
func (h *file) Writev(bufs [][]byte, off int64) error {
	if err := h.usable(); err != nil {
		return pathError("write", h.node.name, err)
	}
	if h.fs.OnWritev != nil {
		h.fs.OnWritev(h.node.name, bufs, off)
	}
	fault, err := h.fs.changeFault(VerbWrite, h.node.name)
	left := int64(1) << 62
	if fault != nil {
		off += fault.AstrayBytes
		if fault.Err != nil {
			left = int64(fault.ShortBytes)
		}
	} else if err != nil {
		return pathError("write", h.node.name, err)
	}
	for _, b := range bufs {
		b = b[:min(int64(len(b)), left)]
		if full := h.write(b, off); full != nil {
			return pathError("write", h.node.name, full)
		}
		off, left = off+int64(len(b)), left-int64(len(b))
	}
	if err != nil {
		return pathError("write", h.node.name, err)
	}
	return nil
}

// write writes b as far as the disk has room.
func (h *file) write(b []byte, off int64) error {
	grow := max(0, off+int64(len(b))-h.node.size)
	if f := h.fs; f.CapacityBytes > 0 && grow > 0 {
		if free := max(0, f.CapacityBytes-f.used()); grow > free {
			h.node.write(b[:max(0, min(int64(len(b)), h.node.size-off+free))], off)
			return syscall.ENOSPC
		}
	}
	if len(b) > 0 {
		h.node.write(b, off)
	}
	return nil
}

// Truncate changes the size; it is durable with the next Sync.
func (h *file) Truncate(size int64) error {
	if err := h.usable(); err != nil {
		return pathError("truncate", h.node.name, err)
	}
	if err := h.fs.change(VerbTruncate, h.node.name); err != nil {
		return pathError("truncate", h.node.name, err)
	}
	h.node.truncate(size)
	return nil
}

// Size returns the size as the running system sees it.
func (h *file) Size() (int64, error) {
	if err := h.usable(); err != nil {
		return 0, pathError("stat", h.node.name, err)
	}
	return h.node.size, nil
}

// StartWriting does nothing: when an un-synced write reaches the disk is the faults' to say.
func (h *file) StartWriting(int64, int64) {}

// WriteZeros is a Writev like any other: when it reaches the disk is the faults' to say.
func (h *file) WriteZeros(off, bytes int64) error {
	return h.Writev([][]byte{make([]byte, bytes)}, off)
}

// Exclusive tells whether what was lent has been read.
func (h *file) Exclusive(lent bool) bool { return !lent || !h.fs.StillLent }

// Sync makes the data durable, unless a fault says otherwise.
func (h *file) Sync() error {
	if err := h.usable(); err != nil {
		return pathError("sync", h.node.name, err)
	}
	fault, err := h.fs.changeFault(VerbSync, h.node.name)
	if fault != nil && (fault.Lie || fault.DropDirty) {
		clear(h.node.dirty) // clean in the cache, not on the disk
	}
	if err != nil {
		return pathError("sync", h.node.name, err)
	}
	if fault == nil || !fault.Lie {
		h.node.sync()
	}
	return nil
}

// Close closes the handle.
func (h *file) Close() error {
	if err := h.usable(); err != nil {
		return pathError("close", h.node.name, err)
	}
	h.closed = true
	h.node.handles--
	if err := h.fs.read(VerbClose, h.node.name); err != nil {
		return pathError("close", h.node.name, err)
	}
	return nil
}
