package sim

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
)

// stream is a source of choices for one purpose, independent of all others.
type stream struct{ *rand.Rand }

func newStream(seed uint64, name string) stream {
	h := fnv.New64a()
	h.Write([]byte(name))
	return stream{rand.New(rand.NewPCG(seed, h.Sum64()))}
}

// chance is true with probability p.
func (s stream) chance(p float64) bool { return s.Float64() < p }

// between draws from low..high, both included.
func (s stream) between(low, high int64) int64 {
	if high <= low {
		return low
	}
	return low + s.Int64N(high-low+1)
}

// around draws from an exponential distribution with a bounded tail.
func (s stream) around(mean int64) int64 {
	return int64(math.Min(s.ExpFloat64(), 8) * float64(mean))
}

func pick[T any](s stream, of ...T) T { return of[s.IntN(len(of))] }
