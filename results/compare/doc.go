// Package compare holds two sets of runs against each other and says what can be told apart, and what cannot.
//
//	Load        a run folder -> Run
//	Compare     two sets of runs -> Comparison, which is comparison.json
//	Repeat      runs of one build -> Repetition, which is repeat.json
//	ParseBound  "steady.p99>+10%" -> Bound
//	WriteText   Comparison, Repetition -> tables for a terminal
//
// # How it judges
//
// A run is one sample of a metric, however many batches it holds; a kill is one sample of a recovery figure. Quantiles come from each run's
// merged histogram (summary.json) and are never averaged: what is compared are medians over runs.
//
// The primary metrics are named before the numbers are seen: by the scenario alone (PrimaryMetrics), and by the bounds that the user
// states. Only they are judged. Each has one deciding test: Wilcoxon's signed rank where runs come in pairs, Mann-Whitney where they do
// not; Holm's correction keeps the chance of one false finding among all of them at Alpha. A finding also has to exceed the noise floor:
// what two runs of the same build differ by. All other metrics are shown with their intervals and are not judged.
//
// With too few runs no difference, however large, could reach Alpha. Then the differences are shown, and the verdict is CannotJudge.
//
// # What a caller must do
//
// Runs of one side stand in the order in which they were made; run i of side A is paired with run i of side B if Options.Paired is set.
// Nothing here reads a clock or draws a random number that a second call would not draw again.
package compare
