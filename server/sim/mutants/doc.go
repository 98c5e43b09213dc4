// Package mutants holds mistakes that a careful engineer would fear, each as a small change of a
// source file of the server. Go's -overlay builds a program with one of them, so that the product
// itself holds none. Every mutant must be killed: by a test that fails with it, which CI sees to, and
// by the simulator, which make mutants sees to. One that survives shows that the checker or the faults
// of the simulator are too weak.
//
// A mutant is a text file, named after the mistake:
//
//	fear: one sentence, why it is easily made
//	rare: why seeds do not meet it, which is a gap of the simulator; left out where they do
//	test: package and name of a test that must fail
//	--- file
//	-a line as it stands
//	+a line that takes its place
//	 a line that stays
//
// What stands in the file, lines with - and with a space, must be found there exactly once. Several
// changes may follow one another.
package mutants
