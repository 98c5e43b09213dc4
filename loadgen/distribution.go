package loadgen

import (
	"fmt"
	"math/rand/v2"
)

// Distribution is how numbers are drawn from a range.
type Distribution string

// Distributions.
const (
	// DistributionUniform: each number of the range is as likely as another.
	DistributionUniform Distribution = "uniform"
	// DistributionZipf: the number of rank k, from the lowest on, has a share in proportion to k^-s.
	DistributionZipf Distribution = "zipf"
)

// Range of the exponent s of DistributionZipf; at most 1 has no finite sum over an endless range, and the generator in use wants one.
const (
	ZipfExponentDefault = 1.1
	zipfExponentMax     = 10
)

func (d Distribution) validate(exponent float64) error {
	switch d {
	case "", DistributionUniform:
		return nil
	case DistributionZipf:
		if !(exponent > 1 && exponent <= zipfExponentMax) {
			return fmt.Errorf("loadgen: zipf exponent %g: pass more than 1 and at most %d", exponent, zipfExponentMax)
		}
		return nil
	}
	return fmt.Errorf("loadgen: distribution %q: pass %s or %s", d, DistributionUniform, DistributionZipf)
}

// drawer draws numbers from 0 to n-1. It draws from the generator it was made with and keeps no state of its own.
type drawer struct {
	n      uint64
	random *splitMix
	zipf   *rand.Zipf // nil: uniform
}

func newDrawer(d Distribution, exponent float64, n uint64, random *splitMix) drawer {
	draw := drawer{n: n, random: random}
	if d == DistributionZipf {
		draw.zipf = rand.NewZipf(rand.New(random), exponent, 1, n-1)
	}
	return draw
}

func (d *drawer) draw() uint64 {
	switch {
	case d.n <= 1:
		return 0
	case d.zipf != nil:
		return d.zipf.Uint64()
	}
	return d.random.next() % d.n
}

// Uint64 makes a splitMix a rand.Source.
func (s *splitMix) Uint64() uint64 { return s.next() }
