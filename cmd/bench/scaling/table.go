package scaling

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"rejoin/cmd/bench/goals"
	"rejoin/results"
	"rejoin/results/compare"
)

// Measured is a point with what came out: medians of the N samples that count. Null is not measured.
type Measured struct {
	X              float64  `json:"x"`
	N              int      `json:"n"`
	BatchesPerS    *float64 `json:"batches_per_s"`
	MessagesPerS   *float64 `json:"messages_per_s"`
	BytesPerS      *float64 `json:"bytes_per_s"` // of frames
	P50Ns          *float64 `json:"p50_ns"`
	P99Ns          *float64 `json:"p99_ns"`
	BatchesPerSync *float64 `json:"batches_per_sync"` // at the primary
	PrimaryCPUNs   *float64 `json:"primary_cpu_ns_per_batch"`
	BackupCPUNs    *float64 `json:"backup_cpu_ns_per_batch"`
	BusyShare      *float64 `json:"busy_share"` // of all cores
}

// Table is a dimension with what came out.
type Table struct {
	Name    string     `json:"name"`
	Title   string     `json:"title"`
	XLabel  string     `json:"x_label"`
	Points  []Measured `json:"points"`
	Missing string     `json:"missing,omitempty"`
	// Held says that the rate was held while x grew: the latency is what shows a bend. Bounded are then the points of the same load where the log
	// keeps only its end.
	Held    bool       `json:"held"`
	Bounded []Measured `json:"bounded,omitempty"`
	// Says where the curve bends, what was full there, and which samples do not count.
	Says string `json:"says"`
}

// TableOf sums up what samples there are. Those that are no evidence make no point.
func TableOf(d Dimension, samplesOf func(series string) ([]goals.Sample, error)) (Table, error) {
	t := Table{Name: d.Name, Title: d.Title, XLabel: d.XLabel, Held: d.Growth != nil, Points: []Measured{}}
	var all []goals.Sample
	for i, series := range d.Series() {
		samples, err := samplesOf(series.Name)
		if err != nil {
			return t, err
		}
		all = append(all, samples...)
		switch counted, _ := goals.Evidence(samples, d.Name); {
		case len(counted) == 0:
		case t.Held && i == 0:
			t.Points = grown(counted[len(counted)-1])
		case t.Held:
			t.Bounded = grown(counted[len(counted)-1])
		default:
			t.Points = append(t.Points, measuredOf(d.Points[i].X, counted))
		}
	}
	if len(all) == 0 {
		t.Missing = d.Missing
	}
	t.Says = saysOf(d.Rate, t)
	if _, leftOut := goals.Evidence(all, d.Name); leftOut != "" {
		t.Says += " " + leftOut + "."
	}
	return t, nil
}

func saysOf(rate Rate, t Table) string {
	rated := slices.DeleteFunc(slices.Clone(t.Points), func(m Measured) bool { return rate.Of(m) == nil })
	switch {
	case t.Missing != "":
		return "Not measured: " + t.Missing + "."
	case len(rated) == 0:
		return "Not measured yet."
	case len(rated) == 1:
		return "Measured at one point only."
	case t.Held:
		return held(rated, t.Bounded)
	}
	return bend(rated, rate)
}

func measuredOf(x int, samples []goals.Sample) Measured {
	median := func(of func(goals.Sample) *float64) *float64 {
		var values []float64
		for _, s := range samples {
			if v := of(s); v != nil {
				values = append(values, *v)
			}
		}
		return compare.EstimateOf(values).Median
	}
	perS := func(of func(results.Summary) float64) *float64 {
		return median(func(s goals.Sample) *float64 {
			if s.Summary.MeasuredNs <= 0 { // no rate either
				return nil
			}
			return new(of(s.Summary))
		})
	}
	quantile := func(of func(results.Quantiles) *int64) func(goals.Sample) *float64 {
		return func(s goals.Sample) *float64 {
			if ns := of(s.Summary.LatencyNs[string(results.Steady)]); ns != nil {
				return new(float64(*ns))
			}
			return nil
		}
	}
	cost := func(role string, of func(results.RoleCost) *float64) func(goals.Sample) *float64 {
		return func(s goals.Sample) *float64 {
			if c := s.Summary.Cost.Role(role); c != nil {
				return of(*c)
			}
			return nil
		}
	}
	cpu := func(c results.RoleCost) *float64 { return c.CPUNsPerBatch }
	return Measured{X: float64(x), N: len(samples),
		BatchesPerS:  perS(func(s results.Summary) float64 { return s.BatchesPerS }),
		MessagesPerS: perS(func(s results.Summary) float64 { return float64(s.Cost.AckedMessages) / (float64(s.MeasuredNs) / 1e9) }),
		BytesPerS:    perS(func(s results.Summary) float64 { return s.BatchesPerS * float64(s.FrameBytes) }),
		P50Ns:        median(quantile(func(q results.Quantiles) *int64 { return q.P50 })), P99Ns: median(quantile(func(q results.Quantiles) *int64 { return q.P99 })),
		BatchesPerSync: median(cost(results.RolePrimary, func(c results.RoleCost) *float64 { return c.BatchesPerSync })),
		PrimaryCPUNs:   median(cost(results.RolePrimary, cpu)), BackupCPUNs: median(cost(results.RoleBackup, cpu)),
		BusyShare: median(func(s goals.Sample) *float64 { return s.BusyShare })}
}

// Of is the point's figure of that kind; nil if it was not measured.
func (r Rate) Of(m Measured) *float64 {
	if r == Bytes {
		return m.BytesPerS
	}
	return m.MessagesPerS
}

func (r Rate) String() string {
	if r == Bytes {
		return "bytes a second"
	}
	return "messages a second"
}

const (
	// bendBelow: from here on twice as much of what is varied brings less than a quarter more.
	bendBelow = 0.32
	// cliffBelow is a fall between two neighbours that wants an explanation.
	cliffBelow = 0.8
	fullShare  = 0.9 // of all cores
)

// bend says where the curve rises for the last time, what was full behind it, and where it falls. A flat step on the way up is noise. Each point has
// the rate.
func bend(all []Measured, rate Rate) string {
	bendAt := 0
	var falls []string
	for i := 1; i < len(all); i++ {
		was, is := all[i-1], all[i]
		factor := *rate.Of(is) / *rate.Of(was)
		if math.IsNaN(factor) || math.IsInf(factor, 0) || factor <= 0 {
			continue
		}
		if math.Log(factor)/math.Log(is.X/was.X) >= bendBelow {
			bendAt = i
		}
		if factor < cliffBelow {
			falls = append(falls, fmt.Sprintf("It falls from %s to %s, to %.2f.", xText(was.X), xText(is.X), factor))
		}
	}
	if bendAt == len(all)-1 {
		return strings.Join(append([]string{"It does not bend within these points."}, falls...), " ")
	}
	was, is := all[bendAt], all[bendAt+1]
	says := fmt.Sprintf("It bends at %s: %s bring %.2f times the %s of %s. %s", xText(was.X), xText(is.X), *rate.Of(is) / *rate.Of(was), rate, xText(was.X), fullText(is))
	return strings.Join(append([]string{says}, falls...), " ")
}

// fullText says what had no room left.
func fullText(m Measured) string {
	sharing := ""
	if m.BatchesPerSync != nil {
		sharing = fmt.Sprintf(", %.1f batches share a sync", *m.BatchesPerSync)
	}
	switch {
	case m.BusyShare == nil:
		return "What was full is not known" + sharing + "."
	case *m.BusyShare >= fullShare:
		return fmt.Sprintf("All cores were busy (%.0f %%)%s.", 100**m.BusyShare, sharing)
	}
	return fmt.Sprintf("The cores were %.0f %% busy%s: it waited for disk and answers.", 100**m.BusyShare, sharing)
}

// Markdown is the table for people.
func Markdown(machine, builds string, tables []Table) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# How it scales\n\nOn %s, %s. Closed loop, 1 s of warm-up and 3 s measured a point; where the log grows, open loop at a rate that is held, 10 s a point. Producers and nodes share the machine.\n", machine, builds)
	for _, t := range tables {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", t.Title, t.Says)
		switch {
		case len(t.Points) == 0:
		case t.Held:
			t.heldRows(&b)
		default:
			t.rows(&b)
		}
	}
	return b.String()
}

func (t Table) rows(b *strings.Builder) {
	fmt.Fprintf(b, "\n![%s](%s-rate.png)\n\n| %s | batches/s | messages/s | MB/s | p50 ms | p99 ms | batches a sync | CPU µs a batch, primary / backup | cores busy | runs |\n|---|---|---|---|---|---|---|---|---|---|\n",
		t.Title, t.Name, t.Name)
	for _, m := range t.Points {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %s / %s | %s | %d |\n", xText(m.X), text(m.BatchesPerS, 1, "%.0f"), text(m.MessagesPerS, 1, "%.0f"), text(m.BytesPerS, 1e6, "%.1f"),
			text(m.P50Ns, 1e6, "%.2f"), text(m.P99Ns, 1e6, "%.2f"), text(m.BatchesPerSync, 1, "%.1f"), text(m.PrimaryCPUNs, 1e3, "%.0f"), text(m.BackupCPUNs, 1e3, "%.0f"),
			text(m.BusyShare, 0.01, "%.0f %%"), m.N)
	}
}

// heldRows leave out what only a whole run has.
func (t Table) heldRows(b *strings.Builder) {
	fmt.Fprintf(b, "\n![%s](%s-latency.png)\n\n| GiB written | batches/s | p50 ms | p99 ms | a log that keeps %d GiB: p50 ms | p99 ms |\n|---|---|---|---|---|---|\n", t.Title, t.Name, BoundedGiB)
	for _, m := range t.Points {
		beside := nearest(t.Bounded, m.X)
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", xText(m.X), text(m.BatchesPerS, 1, "%.0f"), text(m.P50Ns, 1e6, "%.2f"), text(m.P99Ns, 1e6, "%.2f"),
			text(beside.P50Ns, 1e6, "%.2f"), text(beside.P99Ns, 1e6, "%.2f"))
	}
}

// xText is a number of things, or a length.
func xText(x float64) string {
	if x == math.Trunc(x) {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.1f", x)
}

func text(v *float64, unit float64, format string) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf(format, *v/unit)
}
