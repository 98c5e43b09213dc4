package faultfs

import (
	"bytes"
	"fmt"
	"io/fs"
)

// Rot flips bits of a byte, in the cache and on the disk.
func (f *FS) Rot(name string, off int64, mask byte) {
	n := f.mustFile(name)
	if off < 0 || off >= n.size {
		panic(fmt.Sprintf("faultfs: rot at byte %d of %s, which has %d", off, name, n.size))
	}
	i, in := int(off/pageBytes), off%pageBytes
	shared := at(n.cache, i) == at(n.disk, i)
	n.cache = put(n.cache, i, flipped(at(n.cache, i), in, mask))
	if shared {
		n.disk = put(n.disk, i, at(n.cache, i))
		return
	}
	n.disk = put(n.disk, i, flipped(at(n.disk, i), in, mask))
}

func flipped(p *page, in int64, mask byte) *page {
	if p == nil {
		p = &zeroPage
	}
	c := *p
	c[in] ^= mask
	return &c
}

// Overwrite puts bytes into a file, in the cache and on the disk, as an astray write of long ago. What else has
// been written there is as durable as before.
func (f *FS) Overwrite(name string, off int64, b []byte) {
	n := f.mustFile(name)
	end := off + int64(len(b))
	n.size, n.diskSize = max(n.size, end), max(n.diskSize, end)
	for len(b) > 0 {
		i, in := int(off/pageBytes), int(off%pageBytes)
		m := min(len(b), pageBytes-in)
		shared := at(n.cache, i) == at(n.disk, i)
		n.cache = put(n.cache, i, patched(at(n.cache, i), in, b[:m]))
		if shared {
			n.disk = put(n.disk, i, at(n.cache, i))
		} else {
			n.disk = put(n.disk, i, patched(at(n.disk, i), in, b[:m]))
		}
		b, off = b[m:], off+int64(m)
	}
}

func patched(p *page, in int, b []byte) *page {
	if p == nil {
		p = &zeroPage
	}
	c := *p
	copy(c[in:], b)
	return &c
}

// Resize truncates or grows a file, in the cache and on the disk.
func (f *FS) Resize(name string, size int64) {
	n := f.mustFile(name)
	n.truncate(size)
	n.sync()
	n.cut()
}

// Delete removes a name, in the cache and on the disk.
func (f *FS) Delete(name string) {
	delete(f.names, clean(name))
	delete(f.durable, clean(name))
}

// ReadFile returns the content of a file as the running system sees it.
func (f *FS) ReadFile(name string) ([]byte, error) {
	n := f.names[clean(name)]
	if n == nil || n.dir {
		return nil, pathError("read", name, fs.ErrNotExist)
	}
	b := make([]byte, n.size)
	if n.size > 0 {
		if _, err := n.readAt(b, 0); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (f *FS) mustFile(name string) *node {
	n := f.names[clean(name)]
	if n == nil || n.dir {
		panic("faultfs: there is no file " + name)
	}
	return n
}

// OnDisk tells whether a power cut leaves a range of a file as the running system reads it now.
func (f *FS) OnDisk(name string, off, size int64) bool {
	name = clean(name)
	n := f.names[name]
	if n == nil || f.durable[name] != n || off+size > n.diskSize {
		return false
	}
	for end := off + size; off < end; {
		i, in := int(off/pageBytes), off%pageBytes
		m := min(end-off, pageBytes-in)
		cache, disk := at(n.cache, i), at(n.disk, i)
		if cache != disk && !sameBytes(cache, disk, in, m) {
			return false
		}
		off += m
	}
	return true
}

func sameBytes(a, b *page, off, n int64) bool {
	if a == nil {
		a = &zeroPage
	}
	if b == nil {
		b = &zeroPage
	}
	return bytes.Equal(a[off:off+n], b[off:off+n])
}
