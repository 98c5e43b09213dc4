package results

import (
	"io/fs"
	"os"
	"syscall"
)

// OpenRegular opens a file of a run folder for reading. A folder may come from anywhere: a named pipe in it would wait for a writer for
// ever, and a link to a device would never end, so both are refused with ErrNotRegular.
func OpenRegular(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe opens at once
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}
