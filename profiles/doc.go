// Package profiles takes pprof profiles, merges, compares and draws them. It is the only importer of github.com/pkg/profile,
// github.com/google/pprof and runtime/pprof.
//
//	Start         one profile of this process, from now to Stop, in one file: for the harness and for nodes that end cleanly
//	Collector     windows of CPU time pulled from nodes that may be killed; each is on disk before the next begins
//	OwnWindows    the same windows of this process
//	MergeWindows  windows -> one profile per source, kind and phase
//	Since         two snapshots of one process -> what happened between them
//	Compare       two profiles -> cost per second and per acknowledged message, by function
//	FlameGraph, DiffFlameGraph, DiffCommand   the same for the eye, and for `go tool pprof`
//
// # Files
//
// All are ordinary gzipped pprof files. What Rejoin knows about a merged one stands in its comments (`go tool pprof -comments`, see Meta),
// what it knows about a window in its name.
//
//	windows/n0-cpu-12000000000-14000000000-primary.pb.gz   a window of n0 from 12 to 14 s after the start of the run, as it came
//	n0-cpu-steady.pb.gz                                     all windows of n0 that belong to phase steady
//
// Samples carry the labels node, role and phase, so that one file answers by `-tagfocus`.
//
// # What it never does
//
// It hooks no signal and ends no process. It leaves no empty file behind as if it were a profile: what did not work is an error or is
// counted as lost. It matches functions by name and never by address. It computes no percentage of a total that it did not state, and
// subtracts no memory in use. Files are read as hostile input.
//
// # Process-wide state
//
// The runtime has one CPU profile a process, pkg/profile one session, and pprof's driver keeps settings in globals. Start and the flame
// graphs mirror this with one variable each.
//
// # Goroutines
//
// Collector.Run starts one a node, and one for each window under way, and waits for them. Nothing else starts any.
package profiles
