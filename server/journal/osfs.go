package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// iovMax is the most slices that one pwritev takes (IOV_MAX of Linux).
const iovMax = 1024

// OS is the file system of the machine below root.
func OS(root string) FS { return osFS{root} }

type osFS struct{ root string }

func (o osFS) path(name string) string { return filepath.Join(o.root, filepath.FromSlash(name)) }

func (o osFS) Open(name string) (File, error)   { return o.open(name, os.O_RDWR) }
func (o osFS) Create(name string) (File, error) { return o.open(name, os.O_RDWR|os.O_CREATE|os.O_EXCL) }

func (o osFS) open(name string, flag int) (File, error) {
	f, err := os.OpenFile(o.path(name), flag, 0o644)
	if err != nil {
		return nil, err
	}
	return &osFile{File: f, fd: int(f.Fd())}, nil
}

func (o osFS) Rename(from, to string) error { return os.Rename(o.path(from), o.path(to)) }
func (o osFS) Remove(name string) error     { return os.Remove(o.path(name)) }

func (o osFS) Mkdir(name string) error {
	err := os.Mkdir(o.path(name), 0o755)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

func (o osFS) List(dir string) ([]string, error) {
	entries, err := os.ReadDir(o.path(dir))
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

func (o osFS) SyncDir(dir string) error {
	d, err := os.Open(o.path(dir))
	if err != nil {
		return err
	}
	err = d.Sync()
	if e := d.Close(); err == nil {
		err = e
	}
	return err
}

func (o osFS) FreeBytes() (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(o.root, &s); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: o.root, Err: err}
	}
	return s.Bavail * uint64(s.Bsize), nil
}

// osFile keeps the descriptor beside the file: os.File.Fd on each write would be one more call.
type osFile struct {
	*os.File
	fd int
}

func (f *osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f *osFile) Sync() error {
	for {
		err := unix.Fdatasync(f.fd)
		if err == nil {
			return nil
		}
		if err != unix.EINTR {
			return &os.PathError{Op: "fdatasync", Path: f.Name(), Err: err}
		}
	}
}

// StartWriting tells nothing: a file system that knows no such advice writes at the next Sync.
func (f *osFile) StartWriting(off, bytes int64) {
	_ = unix.SyncFileRange(f.fd, off, bytes, unix.SYNC_FILE_RANGE_WRITE)
}

// Writev writes bufs back to back at off: at most iovMax of them in a call, and again from where a
// short write ended.
func (f *osFile) Writev(bufs [][]byte, off int64) error {
	for len(bufs) > 0 {
		n, err := unix.Pwritev(f.fd, bufs[:min(len(bufs), iovMax)], off)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return &os.PathError{Op: "pwritev", Path: f.Name(), Err: err}
		}
		if n == 0 && len(bufs[0]) > 0 {
			return &os.PathError{Op: "pwritev", Path: f.Name(), Err: errors.New("nothing was written")}
		}
		off += int64(n)
		for len(bufs) > 0 && n >= len(bufs[0]) {
			n -= len(bufs[0])
			bufs = bufs[1:]
		}
		if n == 0 {
			continue
		}
		rest := bufs[0][n:]
		if err := f.writeAll(rest, off); err != nil {
			return err
		}
		off += int64(len(rest))
		bufs = bufs[1:]
	}
	return nil
}

// writeAll finishes the slice in which a short write ended, so that the caller's slices stay as they
// are.
func (f *osFile) writeAll(b []byte, off int64) error {
	_, err := f.WriteAt(b, off)
	return err
}

// OSFile returns the *os.File under f, for sendfile. Its file position is shared by all its users:
// OwnFile gives one of its own.
func OSFile(f File) (*os.File, bool) {
	o, ok := f.(*osFile)
	if !ok {
		return nil, false
	}
	return o.File, true
}

// OwnFile opens the file under f once more, also when its name is gone, at a position of its own:
// what sendfile through io.Copy needs. The caller closes it.
func OwnFile(f File, offset int64) (*os.File, error) {
	o, ok := f.(*osFile)
	if !ok {
		return nil, errors.New("journal: not a file of the operating system")
	}
	own, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", o.fd))
	if err != nil {
		return nil, err
	}
	if _, err := own.Seek(offset, 0); err != nil {
		own.Close()
		return nil, err
	}
	return own, nil
}
