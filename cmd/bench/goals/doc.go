// Package goals holds the project's goals of speed, and holds measurements against them.
//
// A Row is a figure with its floor (below it is a defect) and its goal. Rows rest on a Series: the same scenario run several times, each time
// with the shape (package limits/shape), or another log, before or after it, in turn, so that these figures are ratios within one minute of one machine. What was
// measured is kept as one file a sample in a folder; what is there already is not measured again, so that an interrupted measurement goes on
// where it ended. This package starts nothing: its caller measures.
package goals
