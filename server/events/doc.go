// Package events records what a node observed of itself: one line of JSON an event (wire.Event) in a
// file that survives SIGKILL, and the same lines to whoever follows.
//
// Emit never blocks and never fails: what finds the queue full is counted, and a "dropped" line says
// how many as soon as there is room. One goroutine, in Run, writes; each line is one write(2) at the
// end of the file, so that what was written is in the kernel's hands when the process dies. Nothing
// here is synced: events explain a run, no promise rests on them.
package events
