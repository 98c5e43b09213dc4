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
// A checker holds the promises of safety against what it sees from outside: what is handed to the
// disk, what leaves on the network, what is told to clients, what recovery finds. It knows nothing
// of the inside of the state machine but its exported Status. Package check holds the promises of
// progress in the same way, once the faults have stopped.
//
// # Faults
//
// Processes are killed (the page cache survives) or lose power (of what was not synced a random part
// survives, torn at sectors) at any event, between any two effects of one input and before any disk
// operation, also in recovery; they pause; directories are lost, of two replicas in five at once; some
// stay dead for good. Who serves a pull dies at a given part of it, who installs a chain before one of
// the operations of its disk. Some strikes are aimed: a backup is another life between its acknowledgement and
// the count, power fails right after a cut, an op is damaged between its write and its sync, a process falls
// between a mark that is synced and the cut that waits behind it, or while the files go of a log whose place a
// chain takes. A primary that is replaced and does not know it is asked for the latest, meets a replica that has
// just lost all it knew, has a disk that takes no more ops, is heard late. A replica loses its directory right after
// it has voted, and goes on with the primary that it had voted to replace. What a life said last comes when the next
// one is known.
//
// Messages are lost, come twice, late, out of order, over a link that went down meanwhile; directions
// are cut, alone or together, or hold everything back for a while; queues of links overflow; bulk is
// slow; a wiped node hears no beats.
//
// Disks are slow, stall, are full, refuse every change, fail one operation, fail a sync and drop its pages.
// Bits of an op flip, its write is lost or lands in the place of another, a whole file of ops is gone, on any
// replica: how much of that a cluster must survive is written down in storage.go. So do the small files beside
// the ops rot, as far as another copy tells the same. Now and then the op that a primary has just committed with
// one backup is damaged there, and the primary dies before the others get it. Reckless runs go beyond it; where
// it is proven then that a quorum or an op is lost, being unavailable is right, and counted.
//
// # What the fault model leaves out
//
//   - messages to a process that has restarted since they were sent, which a TCP connection cannot
//     bring, and corrupted ones, which the sums of envelope and frame catch on the link;
//   - what package peer and package api do: sockets, handshakes, formatting of a new cluster. A link
//     here says hello and goes up in one step;
//   - clocks: every ticker is exact, all replicas tick at the same rate;
//   - more loss of memory than the log promises to survive: more replicas that forget (a lost directory,
//     or power with un-synced acknowledgements) than a quorum leaves out. So "too many lost un-synced
//     writes together" is never met but by a single node;
//   - an op that rots in a file whose index has rotted under a process that runs: what is left to tell where ops stand is
//     damaged once on a disk, and no op of it besides. A file of ops goes under a process only before it has been opened;
//   - damage of both copies of a state, of the mark and of ops of one log; of ops in a topic that acknowledges
//     un-synced writes; and of ops above what the mark told when it was last synced, of a replica that loses power
//     before they are repaired, durably;
//   - of an op that stands, on one replica, behind damage in a file without an index, another copy than a
//     quorum leaves out: at its next start such a replica cannot tell where that op is. The same behind damage above
//     the last checkpoint of the client table: at its next start such a replica ends its log there, and has what
//     was behind only on record;
//   - read errors of ops that pass, and syncs that lie about what was not damaged;
//   - several groups in one process.
package sim
