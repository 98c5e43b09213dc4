// Package sim runs a whole cluster on one goroutine from one seed: the code of server/vsr,
// server/partition and server/journal as it is, over a clock, a network, disks, processes and
// clients that exist only here. The same seed gives the same run, step by step.
//
// A world is a queue of events in virtual time. Every choice (a delay, a loss, a crash, what a
// client sends) is drawn from a stream of its own, made from the seed and the stream's name, so that
// one more draw in one place does not shift the others. What a run is like at all (how many
// replicas, which faults, how slow the disk) is drawn first.
//
// A run has four phases: load with faults; then everything heals, with the load still on in half of
// the runs; then the load ends and the cluster must come to rest within a stated number of ticks;
// then every replica's log is read from its files and compared.
//
// A checker holds the promises of the log against what it sees from outside: what is handed to the
// disk, what leaves on the network, what is told to clients, what recovery finds. It knows nothing
// of the inside of the state machine but its exported Status.
//
// # What the fault model leaves out
//
// Messages to a process that has restarted since they were sent (a TCP connection cannot do that),
// corrupted messages (an envelope's sum and a frame's sums are checked by the link), clocks that run
// at different speeds by more than a tenth, and misdirected writes.
package sim
