// Command bench is the whole product in one binary: it runs scenarios against a replicated log, is itself a node of our log (`bench node`),
// verifies, reports, and prints what is in a file.
//
// Commands meet in a run's folder (package results) and never in memory. This is the only package that sees both the server and the load
// generator; targets.go is the only importer of every adapter.
//
//	main.go       the command line and exit codes
//	run.go        one run from end to end: session.go its parts, faults.go the schedule, judge.go the verdict
//	cluster.go    the node processes: start, kill, pause, restart; process.go and spawner.go below it
//	poller.go     what the nodes say of themselves, 50 times a second
//
// Goroutines: one thread that starts processes (spawner), one for each process's end, one poller a node, one for each fault, one that
// prints progress; `run` waits for all of them.
package main
