package main

import (
	"context"
	"math"
	"time"
)

// searchBounds are what a search may cost and where it looks.
type searchBounds struct {
	from, to  int           // messages a second
	precision float64       // of the bracket: it is narrow enough when its ends differ by no more than this share
	runs      int           // at most, repetitions included
	within    time.Duration // a run begins only if one as long as the longest so far still fits
}

// stepResult is what one rate turned out to be.
type stepResult string

// Results of a step.
const (
	stepReached    stepResult = "reached"
	stepMissed     stepResult = "missed"
	stepUnreliable stepResult = "unreliable" // invalid, and again when repeated: it says nothing about the log
	stepAborted    stepResult = "aborted"    // lost data, was interrupted or could not be run: the search ends
)

// searchStep is one rate that was tried.
type searchStep struct {
	MessagesPerS int        `json:"messages_per_s"`
	Result       stepResult `json:"result"`
	Why          string     `json:"why"`
	Runs         []string   `json:"runs"` // folders; two if the first was invalid
	ExitCode     int        `json:"exit_code"`
	P99Ns        *int64     `json:"steady_p99_ns"`
	RecoveryMs   *float64   `json:"recovery_ms"`
}

// searchAnswer is what a search found: the highest rate that was reached and the lowest above it that was not. 0 is an end that the search
// has not seen.
type searchAnswer struct {
	Reached  int          `json:"reached_messages_per_s"`
	Above    int          `json:"not_reached_messages_per_s"`
	Steps    []searchStep `json:"steps"`
	EndedBy  string       `json:"ended_by"` // why no further rate was tried
	TookS    float64      `json:"took_s"`
	ExitCode int          `json:"exit_code"`
}

// bisect tries rates until the bracket is narrow or a bound is met. It halves on a logarithmic scale, since a precision is a share. A step
// that is unreliable bounds the bracket from above, as one that was missed does, and the answer says so.
func bisect(ctx context.Context, b searchBounds, try func(rate, runsLeft int) searchStep) searchAnswer {
	var a searchAnswer
	began := time.Now()
	longest := time.Duration(0)
	runs := 0
	rate := b.from
	for a.EndedBy == "" {
		switch {
		case ctx.Err() != nil:
			a.EndedBy = "interrupted"
		case runs >= b.runs:
			a.EndedBy = "all runs that were allowed have been made"
		case runs > 0 && time.Since(began)+longest > b.within:
			a.EndedBy = "no further run fits into the time that was allowed"
		}
		if a.EndedBy != "" {
			break
		}
		stepBegan := time.Now()
		step := try(rate, b.runs-runs)
		longest = max(longest, time.Since(stepBegan)/time.Duration(max(len(step.Runs), 1)))
		runs += max(len(step.Runs), 1)
		a.Steps = append(a.Steps, step)
		switch step.Result {
		case stepReached:
			a.Reached = max(a.Reached, rate)
		case stepAborted:
			a.EndedBy = "a run that ended the search"
		default:
			a.Above = rate
		}
		if a.EndedBy == "" {
			rate, a.EndedBy = nextRate(a, b.to, b.precision)
		}
	}
	a.TookS = time.Since(began).Seconds()
	return a
}

// nextRate is the rate to try after the steps so far, or why there is none.
func nextRate(a searchAnswer, highest int, precision float64) (rate int, ended string) {
	switch {
	case a.Reached == 0:
		return 0, "even the lowest rate was not reached"
	case a.Above == 0 && a.Reached >= highest:
		return 0, "the highest rate was reached"
	case a.Above == 0:
		return highest, ""
	case float64(a.Above-a.Reached) <= precision*float64(a.Reached):
		return 0, "the bracket is narrow enough"
	}
	middle := int(math.Sqrt(float64(a.Reached) * float64(a.Above)))
	if middle <= a.Reached || middle >= a.Above {
		return 0, "there is no rate between"
	}
	return roundRate(middle, a.Reached, a.Above), ""
}

// roundRate takes a rate that is easy to read, if one lies between.
func roundRate(rate, above, below int) int {
	for _, unit := range []int{1000, 100, 10} {
		if r := (rate + unit/2) / unit * unit; r > above && r < below && math.Abs(float64(r-rate)) <= 0.02*float64(rate) {
			return r
		}
	}
	return rate
}
