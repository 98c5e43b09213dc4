package plots

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"rejoin/results"
)

// Figures is everything that is drawn of one run. Empty parts give "no data" panels.
type Figures struct {
	// Caption names the run under each title: target, scenario, load, start.
	Caption string
	// EndNs is where the time axes end, ns since run start.
	EndNs int64
	// WarmupEndNs and LoadStopNs are marked if they are not 0.
	WarmupEndNs int64
	LoadStopNs  int64
	Kills       []KillMark
	Spans       []SpanMark
	// Downs are shown as bars in a row per node, above the data.
	Downs []DownMark

	Latency     []LatencySeries
	Percentiles []Distribution
	Throughput  []RatePoint
	Lag         []LagSeries
	// LagFloorOps is the lag that is none, see results.LagFloorOps; 0: not known.
	LagFloorOps int64
	Recovery    []Recovery
}

// KillMark is a vertical line: "n0 killed (primary)".
type KillMark struct {
	AtNs int64
	Node string
	Role string
	How  results.HowEnded
}

// SpanKind says what a shaded stretch means.
type SpanKind int

const (
	// SpanOutage is a stretch without acknowledgements. The outage phase of the tables is something else: while a backup is down
	// acknowledgements go on.
	SpanOutage SpanKind = iota
	SpanRepair
	SpanTransfer
	spanKinds // how many there are
)

func (k SpanKind) legend() string {
	return [spanKinds]string{"no acknowledgements after a fault", "repair", "transfer"}[k]
}

// SpanMark is a shaded stretch of time.
type SpanMark struct {
	Kind         SpanKind
	FromNs, ToNs int64
}

// DownMark is a stretch in which one node was away; it may begin before the load and end after the axis.
type DownMark struct {
	Node         string
	FromNs, ToNs int64
	// Open says that it did not end; ToNs is then where the axis ends.
	Open bool
	// Stopped says SIGSTOP to SIGCONT, not the end of a process to the next one.
	Stopped bool
	// BeforeLoad says that it began before the first batch was due.
	BeforeLoad bool
}

// LatencySeries is one quantile, or the maximum, of each window of due times.
type LatencySeries struct {
	Label string
	Style SeriesStyle
	Steps []LatencyStep
}

// SeriesStyle chooses colour and dash of a latency series.
type SeriesStyle int

const (
	StyleP50 SeriesStyle = iota
	StyleP99
	StyleP999
	StyleMax // drawn as points
	seriesStyles
)

// LatencyStep is one window; windows without enough samples are left out.
type LatencyStep struct {
	FromNs, ToNs int64
	LatencyNs    float64
}

// Distribution is the latency at rising quantiles of one phase, only as far as its samples carry.
type Distribution struct {
	Label  string // phase
	Count  int64
	Points []QuantilePoint
}

// QuantilePoint is a latency at a quantile in [0, 1).
type QuantilePoint struct {
	Q         float64
	LatencyNs float64
}

// RatePoint is one second of the run. A NaN is a gap.
type RatePoint struct {
	TNs                    int64
	OfferedPerS, AckedPerS float64
}

// LagSeries is how far one node's commit is behind the highest that any node has shown.
type LagSeries struct {
	Node   string
	Points []LagPoint
}

// LagPoint is one poll; NaN while the node was down.
type LagPoint struct {
	TNs    int64
	LagOps float64
}

// Recovery is what followed one kill. NaN durations: did not happen, or did not end.
type Recovery struct {
	Node string
	Role string
	How  results.HowEnded
	AtNs int64
	// BeforeLoad says that the node was killed before the first batch was due.
	BeforeLoad bool
	// DownNs is from the kill to the restart.
	DownNs float64
	Bars   []RecoveryBar
}

// RecoveryBar is one duration and what moved in it.
type RecoveryBar struct {
	Kind       BarKind
	DurationNs float64
	// Unfinished says that it began and never ended.
	Unfinished bool
	// Count, Ops and Bytes are shown if they are above 0.
	Count, Ops, Bytes int64
	// GapNs, of a BarOutage, is the longest gap between two acknowledgements; shown if above 0.
	GapNs float64
	// GapLaterAtNs is when that gap began, on run time, where it is not the silence that the kill began with.
	GapLaterAtNs float64
}

// BarKind is a row within the bars of a kill.
type BarKind int

const (
	BarOutage BarKind = iota
	BarRepair
	BarTransfer
	BarCatchup
	barKinds
)

func (k BarKind) String() string {
	return [barKinds]string{"to first acknowledgement", "repair", "transfer", "restart to caught up"}[k]
}

// Names of the figures, in the order of a report.
func Names() []string { return []string{"latency", "percentiles", "throughput", "lag", "recovery"} }

// build returns the sheet of a figure.
func (f *Figures) build(name string, ink *ink) *sheet {
	switch name {
	case "latency":
		return f.latencySheet(ink)
	case "percentiles":
		return f.percentilesSheet(ink)
	case "throughput":
		return f.throughputSheet(ink)
	case "lag":
		return f.lagSheet(ink)
	case "recovery":
		return f.recoverySheet(ink)
	}
	panic("plots: no figure " + name)
}

// Draw writes <dir>/<name>.svg and .png for each of Names, replacing older ones. It draws all it can and joins what failed.
func Draw(dir string, f Figures) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("draw figures: %w", err)
	}
	errs := make([]error, len(Names()))
	var wg sync.WaitGroup
	for i, name := range Names() {
		wg.Go(func() { errs[i] = drawOne(filepath.Join(dir, name), name, &f) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// drawOne draws a figure, or in its place a panel that says why it could not be drawn.
func drawOne(path, name string, f *Figures) error {
	ink := newInk()
	err := writeSheet(path, func() *sheet { return f.build(name, ink) })
	if err == nil {
		return nil
	}
	err = fmt.Errorf("draw %s: %w", name, err)
	return errors.Join(err, writeSheet(path, func() *sheet {
		s := newSheet(ink, name, f.Caption)
		s.empty = "could not be drawn: " + err.Error()
		return s
	}))
}
