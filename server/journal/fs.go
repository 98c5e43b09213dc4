package journal

import "io"

// FS is the file system under a replica's data directory. Paths are slash-separated and relative to
// it. The real one is OS; the simulator's tears, loses, rots and lies. A change of a name (Create,
// Rename, Remove, Mkdir) is durable only after SyncDir of the directory that holds it.
type FS interface {
	Open(name string) (File, error)   // read and write; an error that Is fs.ErrNotExist when it is missing
	Create(name string) (File, error) // read and write; an error that Is fs.ErrExist when it is there
	Rename(from, to string) error
	Remove(name string) error
	Mkdir(name string) error // no error when it exists
	List(dir string) ([]string, error)
	SyncDir(dir string) error
	FreeBytes() (uint64, error)
}

// File is an open file. Writev appends nothing by itself: it writes bufs back to back at off.
type File interface {
	io.ReaderAt
	Writev(bufs [][]byte, off int64) error // all or an error; after an error anything may be on disk
	Truncate(size int64) error
	Size() (int64, error)
	Sync() error // fdatasync; after an error nothing is known of the un-synced writes

	// WriteZeros is Writev of so many zeros that nobody will look at soon: they need not stay in memory, and may go to the disk at once.
	// They are durable with the next Sync, not before.
	WriteZeros(off, bytes int64) error

	// StartWriting lets what was written to a range begin its way to the disk, and does not wait for it:
	// a later Sync has less to do. Nothing is durable by it, and no failure is told by it.
	StartWriting(off, bytes int64)

	// Exclusive tells whether nobody would see what is written over the file from now on: it has no other name, and, where its bytes were
	// lent to readers by reference (sendfile), none of its pages is on its way to one any more. False where that cannot be told.
	Exclusive(lent bool) bool

	Close() error
}
