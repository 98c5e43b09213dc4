package server

import (
	"errors"
	"fmt"
	"syscall"
)

// What to do about a fence. Where histories differ, whichever node comes to see it first stops, and that may be the one that is right.
const (
	adviceDisk      = "mend or replace the disk and start it again, it will fetch what it lacks"
	adviceFiles     = "this says nothing of the disk: raise how many files may be open, by this process (ulimit -Hn) or on this machine (fs.file-max), and start it again"
	adviceMemory    = "this says nothing of the disk: leave this machine more memory, and start it again"
	adviceHistories = "most likely the data directory of an earlier cluster of this name is in use at some node. Do not empty this node's directory, it may be " +
		"the right one: find the stranger first. bench dump of a node's topics/%s/%d/*.seg prints the sum of each op; the node whose op has another sum " +
		"than those of the others is the stranger. Stop it and start it with an empty directory, then start this one again"
)

// adviceOn returns what to do about a fence of a partition.
func (g *group) adviceOn(why error) string {
	differ := (*historyError)(nil)
	switch {
	case errors.As(why, &differ):
		return fmt.Sprintf(adviceHistories, g.topic.Name, g.index)
	case errors.Is(why, syscall.EMFILE), errors.Is(why, syscall.ENFILE):
		return adviceFiles
	case errors.Is(why, syscall.ENOMEM):
		return adviceMemory
	}
	return adviceDisk
}
