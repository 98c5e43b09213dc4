package sample

import (
	"math"
	"time"

	"rejoin/results/compare"
)

// Pairs makes pairs of steady runs in the order ABBA under root, B slower by a factor, and returns what compare.Compare wants. No run is like
// another: each has latencies of its own and is a little faster or slower.
func Pairs(root string, pairs int, factor float64) (compare.Options, error) {
	o := compare.Options{Paired: true, LabelA: "main", LabelB: "change", Now: Options{}.started()}
	for i := range 2 * pairs {
		b := i%4 == 1 || i%4 == 2
		run := Options{Seconds: 12, PollNs: sec, Steady: true, Seed: uint64(i), Factor: 1 + 0.02*math.Sin(float64(i*i)), After: time.Duration(i) * time.Minute}
		if b {
			run.Factor *= factor
		}
		folder, err := Run(root, run)
		if err != nil {
			return o, err
		}
		r, err := compare.Load(folder)
		if err != nil {
			return o, err
		}
		if b {
			o.B = append(o.B, r)
		} else {
			o.A = append(o.A, r)
		}
	}
	return o, nil
}
