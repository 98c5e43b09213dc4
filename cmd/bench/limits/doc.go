// Package limits measures what a machine can do at most, as far as a replicated log depends on it: appending and syncing a frame, the disk,
// loopback, checksums, a request by HTTP, and the bare commit by two of three (package shape).
//
// Every measurement is checked: what was written is read back and compared, what was sent is counted at the other end. One that fails its
// check is an error and no figure. Processes are the same executable once more; Serve is what they run.
package limits
