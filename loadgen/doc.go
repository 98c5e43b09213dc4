// Package loadgen drives a replicated log with an open-loop load and proves afterwards, from every
// replica, what the log did with it.
//
// # A run
//
//	Timetable  says when each batch of each producer is due; fixed at start, never reset
//	Payload    fills the messages of a batch; each message says who sent it and checks itself
//	producer   waits for the due time, tries the batch over the roster until it has an outcome
//	Ledger     one compact file per producer: due, sent, completed, tries, outcome, offset
//	consumer   tails a replica beside the load and notes how long each batch took to be read
//	Measure    reads the ledgers and makes histograms by phase and rates by second
//	Verify     reads every replica to its end and holds it against the ledgers
//
// A caller gives [Run] a [Target], which is all that this package knows about the system under test,
// and then hands the ledgers that Run wrote to Measure and Verify. Times are nanoseconds of the
// monotonic clock since Options.Base.
//
// # What it never does
//
// It never skips, forgives or moves a due batch: a stall of the target shows up as waiting time from
// the due time (no coordinated omission). It never retries behind the ledger's back: adapters make
// one try per call. It never books a timeout as a failure, and it never calls a log proven that it
// could not read to its end. It imports no adapter and no part of the server.
//
// # Goroutines
//
// Run starts one goroutine a producer and one a consumer, and waits for all of them; a producer's state, its histograms
// included, belongs to that goroutine. Observers read Live, which is made of atomics.
package loadgen
