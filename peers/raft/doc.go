// Program hashicorp-raft measures how many batches a second three nodes of hashicorp/raft with raft-wal acknowledge, so that our log can be held
// against them: `bench goals` runs it next to its own runs.
//
// The nodes are processes of this program on loopback, each with Raft's own TCP transport, raft-wal as its log and stable store, and a state that
// counts and digests what is applied. There is no client plane: producers are goroutines in the leader's process that call Apply in a closed loop,
// which costs less than any client that comes over a network. raft-wal syncs each group of entries before it says that it has stored them, so
// that an acknowledged batch is synced on two of three nodes.
//
// The program checks itself: one node led all the time, and each applied, and still has in its files, exactly what was acknowledged. Otherwise
// it says what differs and ends with exit code 1; 2 is a wrong flag. Its figures go to standard output as JSON (type figures). It makes a folder
// for the nodes' files and removes it at its end.
//
// The log speaks of leader, term and index here, as hashicorp/raft does.
package main
