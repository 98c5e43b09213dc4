package goals

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"rejoin/results"
	"rejoin/results/compare"
)

// Status of a row.
type Status string

// Statuses, from good to bad.
const (
	Met        Status = "met"
	FloorHeld  Status = "floor held" // not met, and no defect
	BelowFloor Status = "below floor"
	NoData     Status = "no data"
)

// Outcome is a row with what was measured.
type Outcome struct {
	Figure string `json:"figure"`
	Series string `json:"series"`
	Unit   string `json:"unit,omitempty"` // "": a count or a quotient
	Better string `json:"better"`         // lower or higher

	Floor float64 `json:"floor"`
	Goal  float64 `json:"goal"`
	// Value is the median of N values, or the worst of them; null without data. Lo and Hi are the interval of a median.
	Value  *float64 `json:"value"`
	Lo     *float64 `json:"lo"`
	Hi     *float64 `json:"hi"`
	N      int      `json:"n"`
	Status Status   `json:"status"`
	// Why says what is missing, or what has to be known about the value.
	Why string `json:"why,omitempty"`
}

// Judge holds a row against the samples of its series.
func Judge(r Row, samples []Sample) Outcome {
	o := Outcome{Figure: r.Figure, Series: r.Series, Unit: r.Unit, Better: "higher", Floor: r.Floor, Goal: r.Goal, Status: NoData}
	if r.LowerIsBetter {
		o.Better = "lower"
	}
	var values []float64
	counted, leftOut := Evidence(samples, r.Series)
	for _, s := range counted {
		values = append(values, r.Values(s)...)
	}
	if len(values) == 0 {
		o.Why = sentences(whyEmpty(r, counted, len(samples)), leftOut)
		return o
	}
	o.Why = sentences(r.said(counted), r.Note)
	o.N = len(values)
	if r.Worst {
		o.Value = new(r.worst(values))
	} else {
		estimate := compare.EstimateOf(values)
		o.Value, o.Lo, o.Hi = estimate.Median, estimate.Lo, estimate.Hi
	}
	o.Status = r.status(*o.Value, o.Lo, o.Hi, o.N)
	o.Why = sentences(o.Why, leftOut, doubtsOf(counted), mixed(counted))
	return o
}

// said is what the samples say themselves.
func (r Row) said(samples []Sample) string {
	if r.Says == nil {
		return ""
	}
	return r.Says(samples)
}

// sentences joins those that say something.
func sentences(all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), "; ")
}

// mixed names the builds of samples that are not all of one.
func mixed(samples []Sample) string {
	builds := BuildsOf(samples)
	if len(builds) < 2 {
		return ""
	}
	return BuildsText(builds)
}

func (r Row) worst(values []float64) float64 {
	if r.LowerIsBetter {
		return slices.Max(values)
	}
	return slices.Min(values)
}

// nearOne is how close to 1 the goal of a ratio must be for its interval to count, and nearPairs how many pairs that takes: nothing below 15 % can
// be claimed on a machine that drifts as much. The better end of the interval has then to reach that edge, so that a better figure is never judged
// worse, and the median the floor.
const (
	nearOne   = 0.15
	nearPairs = 10
)

// status holds a value against goal and floor.
func (r Row) status(value float64, lo, hi *float64, n int) Status {
	reaches := func(v, want float64) bool {
		if r.LowerIsBetter {
			return v <= want
		}
		return v >= want
	}
	edge, better := 1+nearOne, lo
	if !r.LowerIsBetter {
		edge, better = 1/edge, hi
	}
	near := r.Ratio && math.Abs(r.Goal-1) <= nearOne+1e-9 && n >= nearPairs && better != nil && reaches(*better, edge)
	switch {
	case reaches(value, r.Goal), near && reaches(value, r.Floor):
		return Met
	case reaches(value, r.Floor):
		return FloorHeld
	}
	return BelowFloor
}

// whyEmpty says why the samples that count, of those that were measured, have no value.
func whyEmpty(r Row, samples []Sample, measured int) string {
	text := fmt.Sprintf("series %s has not been measured", r.Series)
	if measured > 0 {
		text = "" // none counts, which is said beside this
	}
	if len(samples) > 0 {
		text = fmt.Sprintf("%d runs of series %s tell nothing of it", len(samples), r.Series)
	}
	if why := sentences(r.said(samples), r.Note); why != "" && text != "" {
		text += ": " + why
	}
	return text
}

// doubtsOf says how many of the runs did not pass, and why the first did not.
func doubtsOf(samples []Sample) string {
	all, bad, why := 0, 0, ""
	for _, s := range samples {
		for _, run := range s.runs() {
			all++
			if run.Verdict == results.Pass {
				continue
			}
			bad++
			if why == "" && len(run.Reasons) > 0 {
				why = ": " + run.Reasons[0]
			}
		}
	}
	if bad == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d runs did not pass%s", bad, all, why)
}
