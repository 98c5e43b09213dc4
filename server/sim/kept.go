package sim

import "slices"

// kept are seeds that once failed, with what they found. A run changes when a draw is added before
// the one that mattered: then its seed is one like any other, and what it found is held by the tests
// of package vsr, by scripts and by the campaign.
var kept = []uint64{
	4,             // P5: committed ops had passed the end of an adopted log
	28,            // S7: a pull that did not connect dropped vouched-for ops
	39,            // boot: damage below the last checkpoint of the client table
	116,           // a full disk held back a vote
	124,           // S4: a wiped replica took a primary's head for a commit
	158,           // boot: a cut below damage ended lower than it was asked to
	165,           // P1: a single node waited for others to forgive it its un-synced writes
	241,           // P1: a vote whose ops were all damaged named none of them
	277,           // boot: damage was met only while headers were replayed
	326,           // S4: wiped was forgotten by a crash before the first state save
	10394,         // S1: the mark named a commit that the log did not hold yet
	20254,         // a full disk while a chain was being staged
	30465,         // boot: a hole that joins another was taken for an old one
	30638,         // boot: the op of the checkpoint was damaged
	201,           // S8: a reader was given what a queued cut was about to drop, as committed
	105249,        // S9: a deposed primary called a session evicted that it had not heard of
	62478,         // P5: an op of the adopted log was damaged, and of an older log_view elsewhere
	5458,          // P2: a primary could not give what was damaged there, and nobody else was asked
	43,            // P2: a backup whose disk was behind asked each beat for prepares that it then threw away
	198,           // P3: a trim that was queued before a transfer began took what it was about to send
	247,           // P3: a chain was offered whose first segments were just being trimmed
	83768,         // P2: a hole was asked for again while the disk was slow to write what had come for it
	49150,         // disk: a frame larger than a segment found no room behind others of its group, and the node fenced itself
	1017,          // P2: prepares were asked each beat of a primary that had restarted wiped
	7000104685,    // panic: a cut right behind a lost file of ops ended lower than it was asked to
	7000000487,    // S9: of two commits in one step the first was taken for the moment of a checkpoint of the second
	7000040574,    // S7: power failed while what mended damage was not synced yet, which the world must not do
	7000012989,    // P2: two copies of an op were lost, one with damage before it in a file without an index, which the world must not do
	9964013140,    // P1: one of three had damage before two ops that it appended, and another lost an op of the same number, which the world must not do
	1795994201134, // P2: what is damaged wherever it was is asked for until somebody has it
	441,           // latest: a replica that had lost its directory confirmed a primary that it had helped to replace
	1795994003185, // S7: a cut trusted a mark that was written and not synced
	7000183311,    // P5: an op was lost, and a primary whose backups could not go on without it raised view after view
	9000001262,    // P3: a disk that was slow to take a chain was held against who sent it
	9200000480,    // P3: a primary-to-be that lagged itself was asked, and asked again, for the little that it had more
	7000162967,    // retention: what a cut was about to drop made up for what was trimmed
	9700011028,    // P5: a disk that was slow told of a staged chain that was given up, and the next one waited for ever
	9700011597,    // P1: the same with the load on
	9500016446,    // S4: of five, a vote given before its replica lost its directory counted, for who knew of that had restarted
	9400002948,    // S4: a primary met damage while its log_view was being saved, and led without the op
	9500003451,    // S4: the same with a write that the disk had lost
	9600007825,    // P2: a leftover of an older view was taken for ops that nobody could name
	9600015729,    // P2: what all had trimmed was fetched beside a chain that was on its way to a slow disk
	9800034719,    // S4: a log that was only shorter than others of its view was taken to rule out what these had committed
	9800010067,    // P2: a burst of fetches crowded out the pull without which none of them was of use
	9800002517,    // boot: a name that a killed process had made was used, and gone with a power cut
	9800025493,    // P2: a sync that was slow under faults went on for a second after them, which the world must not do
	1796032541750, // P6: who adopted the log of a later view did not tell of it, and the primary-to-be of an older one waited
	9930007463,    // S7, by a mistake of the checker: killed while a committed chain took the place of an op that had been vouched for in an older view
	9940012689,    // P3, by a mistake of the checker: each transfer brought what its server had undamaged, and the servers had much that was damaged
	9970000946,    // P3: a replica whose link carries no more than the load did not say that it cannot keep up, for each round was a transfer of its own
	9961010828,    // P3: the same with a link that carried a little more
	9964030264,    // P2, by a mistake of the checker: only a replica that the asker did not hear yet held what was asked for
	9500015076,    // P2: all had trimmed what was asked for, and an op of their chains was damaged wherever it was
	9960030100,    // P5, by a mistake of the checker: in a reckless run two of three had lost an op of one number, and none that could be asked ran when the faults stopped
	1796038024859, // P2: who had just refused was asked once more beside the disk that was told to begin behind the hole
	1796046915401, // P5: a start that could not read the checkpoint gave up good copies behind a lost file of ops
	9970103486,    // P4: over each hole that was closed it was forgotten that the own suffix does not belong
	9970106756,    // S7: a node that had stopped itself was told that its machine had restarted, which is not so
	9990007745,    // S7, by a mistake of the checker: a replica that died for good had lost a file of ops
	9982000497,    // P3: a gap that had grown over two rounds was not told of before a third
	1796068206773, // P5, by a mistake of the checker: in a reckless run the start that was under way when the faults stopped cut off the last copy of an op
	9995007377,    // S7, by a mistake of the checker: who says that it does not hold the op that was committed there had vouched for another one
	1796082412688, // P1: one of three had damage where another had trimmed, and that one lost its log as a whole, which the world must not do
	9996011304,    // P2: a small ring had let go of ops that a full disk had yet to write, and a new primary asked for them for ever
}

// Kept returns the seeds that every campaign plays again.
func Kept() []uint64 { return slices.Clone(kept) }
