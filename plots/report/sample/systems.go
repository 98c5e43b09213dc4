package sample

import (
	"time"

	"rejoin/results/compare"
)

// Systems compares two targets with two runs each, the second three times as slow, and a third that is not there for the reason given. name stands
// behind the name of scenario, runs and targets.
func Systems(root, name string, targets [3]string, notRun string) (compare.Versus, error) {
	var entries []compare.Entry
	for i, target := range targets[:2] {
		e := compare.Entry{Target: target + name}
		for n := range 2 {
			folder, err := Run(root, Options{Seconds: 70, PollNs: int64(time.Second), Seed: uint64(2*i + n), Factor: float64(1 + 2*i),
				After: time.Duration(2*n+i) * time.Minute, Name: name})
			if err != nil {
				return compare.Versus{}, err
			}
			r, err := compare.Load(folder)
			if err != nil {
				return compare.Versus{}, err
			}
			e.Runs = append(e.Runs, r)
		}
		entries = append(entries, e)
	}
	entries = append(entries, compare.Entry{Target: targets[2] + name, NotRun: notRun + name})
	return compare.CompareSystems("quick"+name, 2, entries, time.Now())
}
