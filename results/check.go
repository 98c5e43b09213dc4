package results

import "strings"

// Check gives j the reasons that stand in the numbers of s themselves. Demands of a scenario (shares, gaps, bounds) are the caller's, and
// so is the reason for a node that somebody ended from outside.
func (s *Summary) Check(j *Judge) {
	for _, c := range []struct {
		n    int64
		what string
	}{
		{s.LostBatches, "lost"}, {s.DuplicatedBatches, "duplicated"}, {s.ReorderedBatches, "reordered"},
		{s.CorruptedBatches, "corrupted"}, {s.ForeignBatches, "foreign"}, {s.GapBatches, "missing inside the log (gap)"},
	} {
		if c.n > 0 {
			j.Loss("%d batches %s", c.n, c.what)
		}
	}
	if len(s.DivergedReplicas) > 0 {
		j.Loss("replicas diverged: %s", strings.Join(s.DivergedReplicas, ", "))
	}
	for _, r := range s.Replicas {
		if r.UnreadableReason != "" && r.EndedFromOutside == "" {
			j.Stuck("replica %s could not be read to its end: %s", r.Node, r.UnreadableReason)
		}
	}
	if ended := s.AckedBatches + s.UnknownBatches + s.FailedBatches; ended != s.OfferedBatches {
		j.Invalid("the books do not balance: %d batches offered, %d acknowledged + %d unknown + %d failed = %d",
			s.OfferedBatches, s.AckedBatches, s.UnknownBatches, s.FailedBatches, ended)
	}
	if s.AckedBatches == 0 {
		j.Invalid("no batch was acknowledged")
	}
	if err := s.Histogram.Err(); err != nil {
		j.Invalid("%v", err)
	}
}
