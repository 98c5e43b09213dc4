package limits

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

const blockBytes = 1 << 20

// tempFile makes a file without a name in dir, filled with so many zero bytes, as segments are, and synced.
func tempFile(dir string, bytes int64) (*os.File, error) {
	f, err := os.CreateTemp(dir, ".bench-limits-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil { // the descriptor keeps it
		return nil, errors.Join(err, f.Close())
	}
	zeros := make([]byte, blockBytes)
	for at := int64(0); at < bytes; at += blockBytes {
		if _, err := f.WriteAt(zeros[:min(blockBytes, bytes-at)], at); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	if err := f.Sync(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// forget drops a synced file from the page cache, so that it is read from the device.
func forget(f *os.File) error {
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		return fmt.Errorf("drop the page cache: %w", err)
	}
	return nil
}
