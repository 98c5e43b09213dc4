package goals

import (
	"fmt"
	"time"

	"rejoin/results"
)

// ratio is one value, or none where either side was not measured.
func ratio(value, by float64) []float64 {
	if value <= 0 || by <= 0 {
		return nil
	}
	return []float64{value / by}
}

// shapeOf is a figure of the shape beside a run, 0 without one.
func shapeOf(s Sample, of func(results.ShapeLimit) float64) float64 {
	if s.Shape == nil {
		return 0
	}
	return of(*s.Shape)
}

// against is the rate of a run to that of the scenario beside it.
func against(s Sample) []float64 {
	if s.Against == nil {
		return nil
	}
	return ratio(s.Summary.BatchesPerS, s.Against.BatchesPerS)
}

func rateOf(l results.ShapeLimit) float64 { return l.BatchesPerS }

func primaryCPU(l results.ShapeLimit) float64 { return l.PrimaryCPUNsPerBatch }

func backupCPU(l results.ShapeLimit) float64 {
	if l.BackupCPUNsPerBatch == nil {
		return 0
	}
	return *l.BackupCPUNsPerBatch
}

// nodesCPU is the CPU time of a batch on a primary and two backups, to that of the shape; none unless each of the four is known.
func nodesCPU(s Sample) []float64 {
	primary, backup, shapePrimary, shapeBackup := cpuOf(s, results.RolePrimary), cpuOf(s, results.RoleBackup), shapeOf(s, primaryCPU), shapeOf(s, backupCPU)
	if min(primary, backup, shapePrimary, shapeBackup) <= 0 {
		return nil
	}
	return ratio(primary+2*backup, shapePrimary+2*shapeBackup)
}

// cpuOf is the CPU time of a batch in a role, ns; 0 if it is not known.
func cpuOf(s Sample, role string) float64 {
	if c := s.Summary.Cost.Role(role); c != nil && c.CPUNsPerBatch != nil {
		return *c.CPUNsPerBatch
	}
	return 0
}

// whenReady are values of runs whose nodes wrote no zeros in the measured phase: all segments had been made before.
func whenReady(values func(Sample) []float64) func(Sample) []float64 {
	return func(s Sample) []float64 {
		for _, role := range []string{results.RolePrimary, results.RoleBackup} {
			if c := s.Summary.Cost.Role(role); c == nil || c.ZeroedBytesPerBatch == nil || *c.ZeroedBytesPerBatch > 0 {
				return nil
			}
		}
		return values(s)
	}
}

// deviceBytes is what reached the device, without zeros, to the payloads on three nodes.
func deviceBytes(s Sample) []float64 {
	cost := s.Summary.Cost
	if cost.DeviceWrittenBytes == nil {
		return nil
	}
	written := float64(*cost.DeviceWrittenBytes)
	for _, role := range []string{results.RolePrimary, results.RoleBackup} {
		c := cost.Role(role)
		if c == nil || c.ZeroedBytesPerBatch == nil {
			return nil
		}
		written -= *c.ZeroedBytesPerBatch * float64(c.Batches)
	}
	return ratio(written, 3*steadyPayloadBytes*float64(cost.AckedMessages))
}

// deviceUnknown is why a run knows no bytes of the device.
func deviceUnknown(samples []Sample) string {
	for _, s := range samples {
		if why := s.Summary.Cost.DeviceUnknown; why != "" {
			return why
		}
	}
	return ""
}

// lengthOfLoad says how long was counted: the fewer seconds, the less a 0 says.
func lengthOfLoad(samples []Sample) string {
	measured := time.Duration(0)
	for _, s := range samples {
		measured += time.Duration(s.Summary.MeasuredNs)
	}
	if measured <= 0 {
		return ""
	}
	return fmt.Sprintf("in %v of saturated load", measured.Round(time.Second))
}

func allocations(role string) func(Sample) []float64 {
	return func(s Sample) []float64 {
		if c := s.Summary.Cost.Role(role); c != nil && c.AllocationsPerBatch != nil {
			return []float64{*c.AllocationsPerBatch}
		}
		return nil
	}
}

// catchUp are the bandwidths of all transfers.
func catchUp(s Sample) (all []float64) {
	if s.Disk == nil || s.Loopback == nil {
		return nil
	}
	least := min(s.Disk.ReadBytesPerS, s.Disk.WriteBytesPerS, s.Loopback.BytesPerS)
	for _, k := range s.Summary.Kills {
		if k.TransferMs != nil && k.TransferBytes > 0 {
			all = append(all, ratio(float64(k.TransferBytes)/(*k.TransferMs/1e3), least)...)
		}
	}
	return all
}

// readBack are all readings of running replicas with the others stopped. Nodes that make segments ready again after a burst take the
// cores that a reading beside them is to be measured on.
func readBack(s Sample) (all []float64) {
	if s.Loopback == nil {
		return nil
	}
	for _, r := range s.Summary.Verification {
		if r.Name == "alone" && r.Ok && r.DurationMs > 0 {
			all = append(all, ratio(float64(r.VerifiedBatches)*float64(s.Summary.FrameBytes)/(r.DurationMs/1e3), s.Loopback.SendfileBytesPerS)...)
		}
	}
	return all
}
