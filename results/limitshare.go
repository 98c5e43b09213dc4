package results

import (
	"fmt"
	"math"
)

// LimitShare is a figure of a run beside what the machine can do at most.
type LimitShare struct {
	Figure string
	Limit  string // which one, in words
	Unit   string // batches/s, bytes/s, ns or ns/batch
	// MoreIsBetter: the figure is a rate, and at most the limit; otherwise it is a time, and at least that.
	MoreIsBetter bool
	Value        float64
	Before       *float64 // the limit before the run, and after it; null where it was not measured
	After        *float64
	// Ratio is the figure by the mean of both.
	Ratio float64
}

// LimitShares holds a run's figures against the limits that were measured around it. What either side lacks is left out.
func LimitShares(l LimitsFile, run Run, s Summary) []LimitShare {
	w := &limitShares{file: l}
	asked := run.Asked.BatchesPerS
	steady := s.LatencyNs[string(Steady)]
	shape := func(of func(*ShapeLimit) float64) func(Limits) *float64 {
		return func(l Limits) *float64 {
			if found := l.Shape(run.Asked.Producers, asked); found != nil {
				return new(of(found))
			}
			return nil
		}
	}
	load := "at the same rate"
	if run.Asked.ClosedLoop() {
		load = "saturated"
		w.add("batches acknowledged", "the shape, saturated", "batches/s", true, &s.BatchesPerS, shape(func(f *ShapeLimit) float64 { return f.BatchesPerS }))
	}
	quantile := func(of func(Quantiles) *int64) func(Limits) *float64 {
		return func(l Limits) *float64 {
			if found := l.Shape(run.Asked.Producers, asked); found != nil {
				return asFloat(of(found.LatencyNs))
			}
			return nil
		}
	}
	p50, p99 := func(q Quantiles) *int64 { return q.P50 }, func(q Quantiles) *int64 { return q.P99 }
	w.add("latency, steady, p50", "the shape, "+load, "ns", false, asFloat(p50(steady)), quantile(p50))
	w.add("latency, steady, p99", "the shape, "+load, "ns", false, asFloat(p99(steady)), quantile(p99))
	w.add("latency, steady, p50", "one frame appended and synced by three processes at once", "ns", false, asFloat(p50(steady)), threeSyncs)
	w.addCosts(s, load, shape)
	w.addBandwidths(run, s)
	return w.shares
}

type limitShares struct {
	file   LimitsFile
	shares []LimitShare
}

func asFloat(n *int64) *float64 {
	if n == nil {
		return nil
	}
	return new(float64(*n))
}

func (w *limitShares) add(figure, limit, unit string, more bool, value *float64, of func(Limits) *float64) {
	if value == nil || *value <= 0 {
		return
	}
	share := LimitShare{Figure: figure, Limit: limit, Unit: unit, MoreIsBetter: more, Value: *value}
	sum, n := 0.0, 0
	for _, m := range w.file.Measurements {
		v := of(m)
		if v == nil || *v <= 0 || math.IsInf(*v, 0) {
			continue
		}
		sum += *v
		n++
		switch m.Moment {
		case MomentBefore:
			share.Before = v
		case MomentAfter:
			share.After = v
		}
	}
	if n > 0 {
		share.Ratio = *value / (sum / float64(n))
		w.shares = append(w.shares, share)
	}
}

func threeSyncs(l Limits) *float64 {
	for _, s := range l.Syncs {
		if s.File == FileZeroFilled && s.Processes == 3 {
			return asFloat(s.LatencyNs.P50)
		}
	}
	return nil
}

// addCosts are CPU times of a batch by role.
func (w *limitShares) addCosts(s Summary, load string, shape func(func(*ShapeLimit) float64) func(Limits) *float64) {
	for _, role := range []struct {
		name string
		of   func(*ShapeLimit) float64
	}{
		{RolePrimary, func(f *ShapeLimit) float64 { return f.PrimaryCPUNsPerBatch }},
		{RoleBackup, func(f *ShapeLimit) float64 {
			if f.BackupCPUNsPerBatch == nil {
				return 0
			}
			return *f.BackupCPUNsPerBatch
		}},
		{SourceGenerator, func(f *ShapeLimit) float64 { return f.ProducersCPUNsPerBatch }},
	} {
		if cost := s.Cost.Role(role.name); cost != nil {
			w.add("CPU time of a batch, "+role.name, "the shape, "+load, "ns/batch", false, cost.CPUNsPerBatch, shape(role.of))
		}
	}
}

// addBandwidths are of the disk, of reading back, and of transfers.
func (w *limitShares) addBandwidths(run Run, s Summary) {
	if s.Cost.DeviceWrittenBytes != nil && s.MeasuredNs > 0 {
		w.add("written to the device", "disk, one stream of writes", "bytes/s", true,
			new(float64(*s.Cost.DeviceWrittenBytes)/(float64(s.MeasuredNs)/1e9)), func(l Limits) *float64 { return &l.Disk.WriteBytesPerS })
	}
	var read *float64
	for _, r := range s.Verification {
		if r.DurationMs > 0 && r.Ok && (read == nil || float64(r.VerifiedBatches)/r.DurationMs > *read) {
			read = new(float64(r.VerifiedBatches) / r.DurationMs)
		}
	}
	if read != nil {
		w.add("reading back and verifying one replica, the fastest time", "loopback, sendfile", "bytes/s", true, new(*read*1e3*float64(s.FrameBytes)),
			func(l Limits) *float64 { return &l.Loopback.SendfileBytesPerS })
	}
	for i, k := range s.Kills {
		if k.TransferBytes > 0 && k.TransferMs != nil && *k.TransferMs > 0 {
			w.add(fmt.Sprintf("transfer after kill %d (%s)", i+1, k.Node), "the least of disk read, disk write and loopback", "bytes/s", true,
				new(float64(k.TransferBytes)/(*k.TransferMs/1e3)), leastBandwidth)
		}
	}
}

func leastBandwidth(l Limits) *float64 {
	return new(min(l.Disk.ReadBytesPerS, l.Disk.WriteBytesPerS, l.Loopback.BytesPerS))
}
