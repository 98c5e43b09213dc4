package main

import (
	"context"
	"time"
)

// A node whose load has ended goes on for some seconds: it makes segments ready, and trims. Who reads it meanwhile measures that, too.
const (
	restLook     = 100 * time.Millisecond
	restShareMax = 0.1 // of a core that a node at rest uses: beats, ticks and polls take a hundredth
	restWaitMax  = 10 * time.Second
)

// awaitRest waits until every node whose process is here has been at rest for a moment, or for as long as anybody would.
func (s *nodeSystem) awaitRest(ctx context.Context) {
	before, limit := s.cpuOfNodes(), time.Now().Add(restWaitMax)
	for time.Now().Before(limit) && sleep(ctx, restLook) {
		now := s.cpuOfNodes()
		if atRest(before, now, restLook) {
			return
		}
		before = now
	}
}

// cpuOfNodes is the CPU time that each node's process has used, in nanoseconds; 0 where there is none.
func (s *nodeSystem) cpuOfNodes() []int64 {
	all := make([]int64, s.nodes)
	for i := range all {
		if pid := s.nodePid(i); pid != 0 {
			if cpu := cpuOf(pid); cpu != nil {
				all[i] = *cpu
			}
		}
	}
	return all
}

// atRest tells whether no node has used more of a core than a node at rest does.
func atRest(before, now []int64, within time.Duration) bool {
	for i := range now {
		if float64(now[i]-before[i]) > restShareMax*float64(within) {
			return false
		}
	}
	return true
}
