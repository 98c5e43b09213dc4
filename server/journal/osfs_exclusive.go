package journal

import "golang.org/x/sys/unix"

// Exclusive lets go of the pages that the file has in memory, where they were lent: sendfile queues pages, not copies, and a page that is still in
// a socket's queue, here or at a receiver on this machine, is one that the kernel cannot let go of. When none is left, what is under way to
// readers is not the file's any more, and a write finds new pages.
func (f *osFile) Exclusive(lent bool) bool {
	var of unix.Stat_t
	if err := unix.Fstat(f.fd, &of); err != nil || of.Nlink != 1 { // a link to it may be somebody's copy
		return false
	}
	if !lent {
		return true
	}
	var one [1]byte
	if _, err := f.ReadAt(one[:], 0); err != nil {
		return false
	}
	if n, ok := f.pagesInMemory(); !ok || n == 0 { // on overlayfs those of another file are counted
		return false
	}
	if err := unix.Fadvise(f.fd, 0, 0, unix.FADV_DONTNEED); err != nil {
		return false
	}
	n, ok := f.pagesInMemory()
	return ok && n == 0
}

// pagesInMemory cannot tell before Linux 6.5.
func (f *osFile) pagesInMemory() (pages uint64, ok bool) {
	var of unix.Cachestat_t
	err := unix.Cachestat(uint(f.fd), &unix.CachestatRange{}, &of, 0)
	return of.Cache, err == nil
}
