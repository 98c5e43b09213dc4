package results

import (
	"math"
	"time"
)

// PollInterval is how often the harness asks each node for its status, each by itself.
const PollInterval = 20 * time.Millisecond

// LagFloorOps is the lag behind the highest commit seen that is none, at so many commits a second: nodes are not asked at one moment, so one may
// show what was committed since another was asked; and a backup learns of the last commit with the op after it.
func LagFloorOps(opsPerS float64) int64 {
	if !(opsPerS > 0) || math.IsInf(opsPerS, 0) {
		return 1
	}
	return int64(math.Ceil(opsPerS*PollInterval.Seconds())) + 1
}
