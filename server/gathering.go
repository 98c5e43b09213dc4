package server

// gathering tells whether a partition has something to gather while it waits for a turn at the disk. One that has a job or so for each of its
// flushes finds no more after a wait: its producers wait for that very sync. It goes to the disk beside the others, which takes a sync of its own
// either way.
type gathering struct {
	jobs float64 // of a flush, a mean in which the last ones count most
}

const (
	// gatheredMin is between one job for each flush and two, with which a sync is shared.
	gatheredMin = 1.5

	// gatheredWeight is that of the last flush.
	gatheredWeight = 1.0 / 16
)

// newGathering waits until it knows better.
func newGathering() gathering { return gathering{jobs: 2 * gatheredMin} }

func (g *gathering) pays() bool { return g.jobs >= gatheredMin }

// note takes in how many jobs a flush had.
func (g *gathering) note(jobs int) { g.jobs += gatheredWeight * (float64(jobs) - g.jobs) }
