// Package server is one node of a cluster: it joins the rooms below it (vsr and partition, journal,
// peer, api, events) and owns every loop. It decides nothing about the protocol.
//
// # Goroutines
//
// Run starts them and waits for them. g is one group (one partition of one topic).
//
//	clock        each 10 ms               -> tick, at most one waits  -> inbox of every g
//	loop g       what turns have left     -> partition.Handle         -> peers, disk queue of g, clients
//	flusher g    disk queue of g, a turn  -> Disk.Perform             -> inbox of g
//	preparer g   what was written         -> journal.Prepare          -> the next segment, as far as it is due
//	scrub g      the log, paced           -> damage found             -> inbox of g
//	client plane requests                 -> inbox of g, then waits   -> answers
//	admin plane  requests                 -> status, metrics, events  -> answers
//	damage met   who reads from the log   -> damage found             -> inbox of g, and ends
//	dismisser    told to stop, patience   -> answers "unknown"        -> clients that still wait
//	peer links   messages, frames, chunks -> inbox of g
//	pauses       each second              -> the longest GC pause    -> events
//	events       what was observed        -> events.ndjson, followers
//	log lines    what was logged          -> the logger
//
// A partition has no goroutine of its own. Whoever posts to the inbox of a group while nobody has the
// turn takes it, and lets what is posted happen, for a few inputs; the loop does what is left then. So
// a batch wakes only those who have a socket or a disk to wait for. One has the turn at a time.
//
// The inbox blocks who posts to it while it is full: back-pressure goes to the socket it came from. A
// turn never blocks: what it sends and logs is queued or dropped, what it gives the disk is bounded by the
// pipeline, the ring and the chunks a pull allows.
package server
