package results

import "slices"

// PartitionCount is how many partitions the sample tells of; 0: none, it has no commit.
func (s *Status) PartitionCount() int { return len(s.PartitionCommits()) }

// PartitionCommits are the commits of all partitions.
func (s *Status) PartitionCommits() []int64 { return eachOr(s.Commits, s.CommitOp) }

// PartitionHeads are the heads of all partitions.
func (s *Status) PartitionHeads() []int64 { return eachOr(s.Heads, s.HeadOp) }

// PartitionViews are the views of all partitions.
func (s *Status) PartitionViews() []int64 { return eachOr(s.Views, s.View) }

// Leads says whether the node called itself primary of a partition.
func (s *Status) Leads(partition int) bool {
	if len(s.Commits) == 0 {
		return partition == 0 && s.Role == RolePrimary
	}
	return slices.Contains(s.PrimaryOf, partition)
}

// eachOr is a value for each partition: the list, which is there for several, or the only one.
func eachOr(several []int64, only *int64) []int64 {
	if len(several) > 0 || only == nil {
		return several
	}
	return []int64{*only}
}
