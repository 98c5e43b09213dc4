// Package results is the record of a run: the names, schemas, readers and writers of every file of a run folder.
//
// Commands meet through the folder and never through memory: `bench run` writes it, `verify`, `report`, `compare` and `dump` read it.
// Nothing here drives load, draws or judges by itself, and nothing of ours is imported.
//
//	results/<utc>-<target>-<scenario>/
//	  run.json        Run        asked and found; written first as "running", renamed over at the end
//	  summary.json    Summary    what came out; nothing measured is null, never 0
//	  latency.hlog    hlog.go    HdrHistogram V2 interval log, one interval a second and phase, tag <kind>.<phase>
//	  events.ndjson   Event      one line an event, all nodes and the harness, one time base (ns since run start)
//	  status.ndjson   Status     one line a poll of a node
//	  rates.ndjson    Rate       one line a second: offered, sent, acknowledged
//	  bench.txt       bench.go   Go benchmark format, for benchstat
//	  ledger          written by package loadgen
//	  profiles/ plots/ logs/ data/nK/ report.html
//
// Times: a field that ends in `t_ns`, `_at_ns` or `_from_ns` counts nanoseconds of the monotonic clock since the run's start;
// `t_mono_ns` is the raw CLOCK_MONOTONIC, which all processes of one host share. Wall time appears only in run.json.
//
// Files are read as hostile input: lines are bounded, a torn last line of a killed writer is tolerated and reported, unknown kinds of
// events pass through, damage in the middle is an error with its line.
package results
