// Package partition is one replica of one group together with its bytes: it hands inputs to the
// state machine of package vsr and performs the effects that come back, on small interfaces. The
// real node and the simulator differ only in who implements these.
//
// A Partition belongs to one goroutine, which calls Handle for each input. Disk work leaves in
// order through Outside.Work and is done by Perform, on whatever goroutine the owner likes, one
// batch of jobs at a time; its completions are inputs again.
//
// Bytes: a frame lent with an input is retained by whoever keeps it, under an owner's name, and
// released once: parked until it is stamped (OwnerPartition), in the ring of recent ops (OwnerRing),
// ahead of the head (OwnerBeyond), on its way to the disk (OwnerJournal). Nothing here copies a body.
//
// The package starts no goroutine, reads no clock, holds no lock and does not log.
package partition
