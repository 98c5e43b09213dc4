package journal

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// WriteZeros writes whole pages past the page cache, where the file system can: nothing is copied and no memory is taken.
func (f *osFile) WriteZeros(off, bytes int64) error {
	if off%pageBytes == 0 && bytes%pageBytes == 0 {
		n, err := f.writeZerosDirect(off, bytes)
		if err != nil || n == bytes {
			return err
		}
		off, bytes = off+n, bytes-n
	}
	for at := off; at < off+bytes; {
		n := min(off+bytes-at, zeroBytes)
		if err := f.Writev([][]byte{zeros[:n]}, at); err != nil {
			return err
		}
		at += n
	}
	return nil
}

// writeZerosDirect tells how far it came: not at all where the file system knows no direct writes.
func (f *osFile) writeZerosDirect(off, bytes int64) (int64, error) {
	direct, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", f.fd), unix.O_WRONLY|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, nil
	}
	defer unix.Close(direct) // what was written is told by the writes, and by Sync
	for done := int64(0); done < bytes; {
		n, err := unix.Pwrite(direct, zeros[:min(bytes-done, zeroBytes)], off+done)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EINVAL: // it wants other units
			return done, nil
		case err != nil:
			return done, &os.PathError{Op: "pwrite", Path: f.Name(), Err: err}
		case n == 0 || n%pageBytes != 0:
			return done, nil
		}
		done += int64(n)
	}
	return bytes, nil
}
