// Package scaling says how the log's rate and latency follow from one thing at a time: producers, size of a batch, size of a message, nodes.
//
// Each point of a Dimension is a scenario in a closed loop, of the usual shape but for one number. The package makes the scenarios, and makes
// tables and curves of what came out, with the place where each curve bends and what was full there. It starts nothing.
package scaling
