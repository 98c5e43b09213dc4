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
// # Faults
//
// Processes are killed (the page cache survives) or lose power (of what was not synced a random part
// survives, torn at sectors) at any event, between any two effects of one input and before any disk
// operation, also in recovery; they pause; directories are lost. Messages are lost, come twice, late,
// out of order, over a link that went down meanwhile; directions are cut, alone or together; bulk is
// slow. Disks are slow, full, fail a sync and drop its pages, and flip bits in segment files.
//
// # What the fault model leaves out
//
//   - messages to a process that has restarted since they were sent, which a TCP connection cannot
//     bring, and corrupted ones, which the sums of envelope and frame catch on the link;
//   - what package peer and package api do: sockets, handshakes, formatting of a new cluster. A link
//     here says hello and goes up in one step;
//   - clocks: every ticker is exact, all replicas tick at the same rate;
//   - more loss than the log promises to survive: a second replica that forgets (a lost directory, or
//     power with un-synced acknowledgements) before the first has caught up. So "too many lost
//     un-synced writes together" is never met but by a single node;
//   - rot on more than one replica, in the files state, mark and index, of a topic that acknowledges
//     un-synced writes, and in runs with power cuts or lost directories;
//   - read errors, misdirected writes, syncs that lie, disks that become read-only;
//   - several groups in one process.
package sim
