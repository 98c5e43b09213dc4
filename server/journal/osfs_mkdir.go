package journal

import (
	"errors"
	"io/fs"
	"syscall"
)

// MkdirMissing makes the data directory of a node where it is missing, and what is missing above it, durably. It asks
// nothing of what is there above: the directories of others may not even be readable. The name of the lowest that is
// there is made durable, too: somebody may have made it just before, a start that was killed perhaps.
func MkdirMissing(fsys FS, dir string) error {
	if dir == "." || dir == "" {
		return nil
	}
	there, err := fsys.Open(dir)
	if err == nil {
		return errors.Join(&fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}, there.Close())
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return syncNameAbove(fsys, dir) // a directory, and whether it can be used is seen when it is
	}
	parent := dirOf(dir)
	if err := MkdirMissing(fsys, parent); err != nil {
		return err
	}
	if err := fsys.Mkdir(dir); err != nil {
		return err
	}
	return fsys.SyncDir(parent)
}

// syncNameAbove makes the name of a directory durable that was there. Where its parent is not this user's to read, or lies on
// a file system that cannot be written or knows no sync of a directory, whoever made the name has seen to it.
func syncNameAbove(fsys FS, dir string) error {
	err := fsys.SyncDir(dirOf(dir))
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}
