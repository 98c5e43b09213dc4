// Package faultfs is a file system in memory that forgets what was not synced. It implements
// journal.FS for tests and for the simulator.
//
// Data is durable per 4 KiB page by Sync, a name by SyncDir of its directory. Crash keeps a random
// part of what is not durable: pages in any order, pages torn at sectors, sizes, names. Kill is a
// SIGKILL: the page cache survives, what was not synced stays so. Faults are scripted: errors, short
// writes, a full or read-only disk, rot, syncs that lie, writes that go astray.
//
// Everything is deterministic: no goroutine, no clock, no iteration over a map in its own order, and
// all randomness from a source that the caller gives. An FS belongs to one goroutine, unless its
// caller locks.
package faultfs
