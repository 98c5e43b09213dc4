// Package wire draws the bytes that leave a process: the frame (a fixed 128-byte header and a body
// of messages), the envelope around every message between replicas, the events file, and the
// bounded pool of counted buffers that frames live in.
//
// The same frame bytes are the request body of a producer, the payload of a prepare, the record in
// a segment file, the payload of repair and transfer, and what a reader receives.
//
// Everything that decodes is fed by strangers: it checks lengths before it touches or allocates
// anything and returns errors, never panics. wire starts no goroutine and does no IO.
package wire
