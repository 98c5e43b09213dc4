// Package socket reads and writes TCP connections by system calls of which Go's scheduler is not told.
//
// A goroutine that makes a system call in the usual way leaves its processor, in case the call takes long; whether it does is watched by a
// thread of the runtime (sysmon), every 20 µs for a millisecond after each time that one did, and that thread is woken when an idle process
// begins its first call. A call on a socket never blocks. What it does takes as long as copying takes, a few µs up to some tens, and
// then the watch costs more than it guards: it had a third of the CPU time of a load generator.
//
// A goroutine that has nothing to read waits for the netpoller, as with package net; deadlines and Close work as there.
package socket
