// Package journal is the log of one partition on one replica: the segment files that are the only
// store, the mark that tells how far they are durable, the state file that holds the replica's vote
// and which lives of the others it knows, and checkpoints of the client table.
//
// A Log is a passive value. It starts no goroutine and reads no clock; it is written against FS, so
// that the simulator runs this very code over a disk that tears, loses, rots and lies. It never
// looks into a body beyond its checksum.
//
// Two sides use it. The write side (Append, Sync, SyncMark, Cut, Fill, Divide, Trim, SaveState, SaveTable,
// NoteCommit, Fence, Unfence, CutKeeping, Close) belongs to one goroutine, the partition's flusher. Prepare may
// run in another at the same time. The read side (Header, Headers, ReadFrame, Span, OpOf,
// Holes, Sound, Start, Written, EarliestOffset) is open to every goroutine and never waits for a write or a sync.
//
// # Files
//
// Under the partition's directory:
//
//	state                 two copies of State in different 4 KiB blocks
//	mark                  two copies of Mark, written in turn
//	start                 two copies of where the log begins, by trims and installs
//	<first op>.seg        20 decimal digits; frames back to back from byte 0; behind the last one zeros, or what the file held before
//	<first op>.idx        the index of a sealed segment
//	table-<op>.tab        a checkpoint of the client table; two are kept, and the log above the older
//	next.seg, next-N.seg  segments ahead of use: zero-filled, or trimmed ones to be written over
//	*.tmp                 half-made files, removed at Open
//
// A frame goes to a new segment when the last one is not empty and has no room for it, so the
// borders are a function of the frames.
//
// A trim keeps the files of segments for ops to come, where it can (recycle.go). So what follows the last frame
// need not be of this log's end. A start takes the next op with the right parent, and nothing else. It cuts the rest
// away where this log may have written some of it (behind.go): an append leaves zeros up to the next page. And who
// copies a segment of a live log by reading it may find later ops there. A hard link is safe: a file with two names
// is not written over.
//
// # What is durable when
//
// A sync covers what was appended before it began. After it the mark is written: the last durable op
// with its checksum; the mark itself is synced by SyncMark, once a second. At or below the mark
// damage is a hole, to be repaired from peers; above it damage is a group torn by a crash, and the
// log ends there. A cut therefore lowers and syncs the mark before it removes a byte. The index of a
// segment is written only after the segment was synced, so a valid index raises the mark.
//
// The mark may stand above the log, over damage that a cut has left on record. So it tells besides how far
// what is held was synced: an Open on the same boot writes what is above that again, for it may be
// pages whose sync has failed. It does so, too, in a hole that was being filled, which the mark names
// before anything is written there.
//
// Damage that readers meet under a running log is a hole as well: an op whose frame is not what was
// written, what follows damage in a segment whose index is unreadable, or all of a file that is gone.
//
// Any error of a write, sync, close, rename or truncate is a *FaultError: the caller fences itself,
// and every later call of the write side returns the same error. The one exception is ErrDiskFull,
// which says that nothing was changed: there was no room, or no descriptor for one more file.
package journal
