// Package server is one node of a cluster: it joins the rooms below it (vsr and partition, journal,
// peer, api, events) and owns every loop. It decides nothing about the protocol.
//
// # Goroutines
//
// Run starts them and waits for them. g is one group (one partition of one topic).
//
//	clock        each 10 ms               -> tick, latest only        -> loop of every g
//	loop g       inbox of g               -> partition.Handle         -> peers, disk queue of g, clients
//	flusher g    disk queue of g          -> Disk.Perform             -> inbox of g
//	preparer g   what was written         -> journal.Prepare          -> the next segment, as far as it is due
//	scrub g      the log, paced           -> damage found             -> inbox of g
//	client plane requests                 -> inbox of g, then waits   -> answers
//	dismisser    told to stop, patience   -> answers "unknown"        -> clients that still wait
//	peer links   messages, frames, chunks -> inbox of g
//	pauses       each second              -> the longest GC pause    -> events
//	events       what was observed        -> events.ndjson, followers
//
// The inbox of a group blocks who posts to it: back-pressure goes to the socket it came from. A loop
// never blocks: what it sends is queued or dropped, what it gives the disk is bounded by the
// pipeline, the ring and the chunks a pull allows.
package server
