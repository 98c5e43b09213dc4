// Package vsr is the replication protocol of one group (one partition): Viewstamped Replication
// Revisited with pre-vote, durable views, adoption by checksum, repair and transfer.
//
// It is a pure state machine. A caller hands Step one Input and performs the Effects that come
// back, in order. The package moves numbers, its caller moves bytes: headers pass through here,
// bodies never do. It holds no clock (time is counted in ticks that the caller delivers), no IO, no
// goroutine, no randomness and iterates over no map, so that the same inputs give the same
// effects, byte for byte.
//
// A programmer's error, which includes a caller that breaks the order of disk completions, panics
// with the broken invariant; what a peer sends is never trusted and never panics.
package vsr
