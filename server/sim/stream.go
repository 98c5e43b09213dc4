package sim

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
)

// stream is a source of choices for one purpose, independent of all others.
type stream struct {
	*rand.Rand
	even bool // every delay is as long as its mean, and nothing unlikely happens
}

// scripted is the seed of a script's world, in which delays are even: a draw more in one place must not
// change its story.
const scripted = ^uint64(0)

func newStream(seed uint64, name string) stream {
	h := fnv.New64a()
	h.Write([]byte(name))
	return stream{rand.New(rand.NewPCG(seed, h.Sum64())), seed == scripted}
}

// chance is true with probability p.
func (s stream) chance(p float64) bool {
	if s.even {
		return p > 0.5
	}
	return s.Float64() < p
}

// between draws from low..high, both included.
func (s stream) between(low, high int64) int64 {
	if high <= low {
		return low
	}
	if s.even {
		return low + (high-low)/2
	}
	return low + s.Int64N(high-low+1)
}

// around draws from an exponential distribution with a bounded tail.
func (s stream) around(mean int64) int64 {
	if s.even {
		return mean
	}
	return int64(math.Min(s.ExpFloat64(), 8) * float64(mean))
}

func pick[T any](s stream, of ...T) T { return of[s.IntN(len(of))] }
