package server

import (
	"fmt"
	"syscall"

	"rejoin/server/journal"
)

const (
	// filesOfReader is what a client may have open: its connection, the segment that it reads, and that once more at a position of its own.
	filesOfReader = 3

	// filesOfNode is what else a node may have open: 64 connections of operators and 64 that introduce themselves as peers, the links to
	// the others, listeners, its events, its lock, what it was started with; and some for segments that are sealed and have no index yet.
	filesOfNode = 192
)

// openFilesMax is how many files a node may have open at once. While a partition stages a chain it has a second log.
func (c *Config) openFilesMax() uint64 {
	return uint64(2*c.Partitions()*journal.OpenFilesMax(c.Limits.SegmentsReady) + filesOfReader*c.Limits.ClientConnections + filesOfNode)
}

// checkOpenFiles refuses what this process may not have open at once. Clients would take what the log needs for its next segment,
// and a log that cannot sync its directory ends the node.
func (c *Config) checkOpenFiles(allowed uint64) error {
	if need := c.openFilesMax(); allowed < need {
		return refuse("limits.client_connections", "%d connections beside the logs of %d partitions may need %d open files, and this process may have %d: raise its limit of open files (ulimit -Hn, or LimitNOFILE of its unit) to at least %d, or lower limits.client_connections",
			c.Limits.ClientConnections, c.Partitions(), need, allowed, need)
	}
	return nil
}

// openFilesAllowed is the limit of this process. The runtime has raised the soft limit to the hard one.
func openFilesAllowed() (uint64, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("read the limit of open files: %w", err)
	}
	return limit.Cur, nil
}
