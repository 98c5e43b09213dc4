package main

import (
	"slices"
	"time"
)

// pollGaps are the polls that a restarted node answered, in order: what lies between two of them is seen only by the second. The first entry is
// the restart, before which there was nothing to ask. Times are ns since run start; those asked for are ms since the kill.
type pollGaps struct {
	killNs     int64
	answeredNs []int64
}

// gapsOf are the polls of the way back after a kill.
func gapsOf(killNs int64, restartNs *int64, p polledReturn) pollGaps {
	g := pollGaps{killNs: killNs}
	if restartNs != nil {
		g.answeredNs = append(g.answeredNs, *restartNs)
	}
	g.answeredNs = append(g.answeredNs, p.answeredNs...)
	return g
}

// beforeMs is by how much a thing seen at a time may have been so before: the time since the answered poll before it, without the usual interval.
func (g pollGaps) beforeMs(atMs float64) float64 {
	at := g.killNs + int64(atMs*1e6) + int64(time.Microsecond) // the way over ms may have lost a ns
	after, _ := slices.BinarySearch(g.answeredNs, at)
	if after < 2 {
		return 0
	}
	return max(float64(g.answeredNs[after-1]-g.answeredNs[after-2]-int64(pollInterval))/1e6, 0)
}

// longestMs is the longest time without an answered poll that touches a span, without the usual interval; a span without an end goes on.
func (g pollGaps) longestMs(fromMs float64, toMs *float64) float64 {
	longest := 0.0
	for i := 1; i < len(g.answeredNs); i++ {
		begin, end := float64(g.answeredNs[i-1]-g.killNs)/1e6, float64(g.answeredNs[i]-g.killNs)/1e6
		if end >= fromMs && (toMs == nil || begin <= *toMs) {
			longest = max(longest, end-begin-pollInterval.Seconds()*1e3)
		}
	}
	return longest
}
