package main

import (
	"fmt"

	"rejoin/results"
)

// highestOps are the highest ops that were told of each partition.
type highestOps []int64

func (h *highestOps) take(ops []int64) {
	for partition, op := range ops {
		if partition == len(*h) {
			*h = append(*h, 0)
		}
		(*h)[partition] = max((*h)[partition], op)
	}
}

// below is the first partition in which ops are lower, or missing; -1: none.
func (h highestOps) below(ops []int64) int {
	for partition, highest := range h {
		if partition >= len(ops) || ops[partition] < highest {
			return partition
		}
	}
	return -1
}

// differing says which node has not committed, in some partition, all that any node holds there; empty when none. A node that tells no commit
// is not judged.
func differing(all []results.Status) string {
	var highest highestOps
	for _, s := range all {
		if !s.Up {
			return s.Node + " did not answer"
		}
		highest.take(s.PartitionHeads())
		highest.take(s.PartitionCommits())
	}
	for _, s := range all {
		commits := s.PartitionCommits()
		if len(commits) == 0 {
			continue
		}
		switch p := highest.below(commits); {
		case p >= len(commits):
			return fmt.Sprintf("%s told nothing of partition %d", s.Node, p)
		case p >= 0:
			return fmt.Sprintf("%s had committed op %d of %d%s", s.Node, commits[p], highest[p], inPartition(p, len(highest)))
		}
	}
	return ""
}
