// Package child runs parts of a measurement in processes of their own and talks to them over their standard streams.
//
// A part is the same executable once more, told its role and its settings as JSON on the command line. It answers commands, one JSON object
// a line each way, and ends when its standard input ends: no part outlives the one that asked for it. Both ends are here: Start and Ask for
// the parent, Serve for the child.
package child
