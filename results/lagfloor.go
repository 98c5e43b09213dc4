package results

import (
	"math"
	"time"
)

// PollInterval is how often the harness asks each node for its status, each by itself.
const PollInterval = 20 * time.Millisecond

// LagFloorOps is the lag behind the highest commit seen that is none, at so many commits a second: a backup learns of a commit with the op after
// it, or with the next beat; and nodes are not asked at one moment. It is a mean: what a slow sync holds back is committed at once, and may be
// more until the backups have heard of it.
func LagFloorOps(opsPerS float64) int64 {
	if !(opsPerS > 0) || math.IsInf(opsPerS, 0) {
		return 1
	}
	return int64(math.Ceil(opsPerS*PollInterval.Seconds())) + 1
}
