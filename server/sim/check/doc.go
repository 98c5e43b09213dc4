// Package check holds the promises of the replicated log that are about progress (P1 to P7) against
// what an observer sees of a cluster: messages, events, and the Status that every replica shows. It
// knows nothing of how the state machine comes to what it does, nor of what a simulation has planted
// in it.
//
// Two words of the promises are defined here. Replicas are connected when their processes run and
// messages pass between them both ways; a replica counts as connected when it is with a quorum, itself
// included. A quorum is caught up when so many connected replicas have neither forgotten nor fenced
// anything, know of no hole, and hold the group's commit, which is the highest op that anybody has
// committed.
//
// The promises of progress hold after faults have stopped; Judge says when that is.
package check
