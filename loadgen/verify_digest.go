package loadgen

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// digestRangeMin is the fewest offsets that share a digest: with batches of one message, a digest
// each would cost more than everything else.
const digestRangeMin = 64

// rangeDigest stands for all records of one replica that begin in a range of offsets.
type rangeDigest struct{ number, sum uint64 }

// replicaDigest is a replica as digests of ranges, in order of reading. Only ranges that hold
// something have one, so a replica that jumps to an absurd offset costs nothing.
type replicaDigest struct {
	replica string
	width   uint64 // offsets in a range
	ranges  []rangeDigest
	from    uint64 // offset of the first record
	to      uint64 // offset after the last record
}

func newReplicaDigest(replica string, batchMessages int) *replicaDigest {
	return &replicaDigest{replica: replica, width: max(digestRangeMin, uint64(batchMessages))}
}

// add takes in one record: its place, its identity, and the checksums that its messages carry.
func (d *replicaDigest) add(b ReadBatch) {
	if len(d.ranges) == 0 {
		d.from = b.BaseOffset
	}
	number := b.BaseOffset / d.width
	if last := len(d.ranges) - 1; last < 0 || d.ranges[last].number != number {
		d.ranges = append(d.ranges, rangeDigest{number: number})
	}
	sum := &d.ranges[len(d.ranges)-1].sum
	*sum = mix(mix(*sum, b.BaseOffset), b.Identity)
	for _, m := range b.Messages {
		*sum = mix(*sum, uint64(len(m)))
		if len(m) >= messageSumBytes {
			*sum = mix(*sum, binary.LittleEndian.Uint64(m[len(m)-messageSumBytes:]))
		}
	}
	d.to = b.BaseOffset + uint64(len(b.Messages))
}

func mix(sum, value uint64) uint64 {
	s := splitMix{state: sum*0x9e3779b97f4a7c15 ^ value}
	return s.next()
}

// divergence is a range of offsets that a replica holds otherwise than the others.
type divergence struct {
	of       *replicaDigest
	from, to uint64 // offsets [from, to)
	others   []string
}

func (d divergence) String() string {
	return fmt.Sprintf("%s holds other bytes than %s at offsets %d to %d", d.of.replica, strings.Join(d.others, " and "), d.from, d.to-1)
}

// diverging compares replicas over the offsets that all of them hold. The majority is taken to be
// right; where there is none, all are named.
func diverging(replicas []*replicaDigest) []divergence {
	replicas = slices.DeleteFunc(slices.Clone(replicas), func(d *replicaDigest) bool { return len(d.ranges) == 0 })
	if len(replicas) < 2 {
		return nil
	}
	from, to := replicas[0].from, replicas[0].to
	for _, d := range replicas {
		from, to = max(from, d.from), min(to, d.to)
	}
	width := replicas[0].width
	at := make([]int, len(replicas))
	var found []divergence
	for {
		number, ok := nextRange(replicas, at)
		if !ok {
			return found
		}
		sums := takeRange(replicas, at, number)
		first, end := number*width, (number+1)*width
		// A range that begins or ends beyond what all hold is cut at a different place on each,
		// unless all begin and end alike.
		if first < from && !sameBegin(replicas) || end > to && !sameEnd(replicas) || first >= to || end <= from {
			continue
		}
		found = append(found, minority(replicas, sums, first, end)...)
	}
}

// nextRange is the lowest range that any replica has not been compared in.
func nextRange(replicas []*replicaDigest, at []int) (number uint64, ok bool) {
	for i, d := range replicas {
		if at[i] < len(d.ranges) && (!ok || d.ranges[at[i]].number < number) {
			number, ok = d.ranges[at[i]].number, true
		}
	}
	return number, ok
}

// takeRange is each replica's digest of a range, 0 where it holds nothing there.
func takeRange(replicas []*replicaDigest, at []int, number uint64) []uint64 {
	sums := make([]uint64, len(replicas))
	for i, d := range replicas {
		if at[i] < len(d.ranges) && d.ranges[at[i]].number == number {
			sums[i] = d.ranges[at[i]].sum
			at[i]++
		}
	}
	return sums
}

func sameBegin(replicas []*replicaDigest) bool {
	return !slices.ContainsFunc(replicas, func(d *replicaDigest) bool { return d.from != replicas[0].from })
}

func sameEnd(replicas []*replicaDigest) bool {
	return !slices.ContainsFunc(replicas, func(d *replicaDigest) bool { return d.to != replicas[0].to })
}

// minority names the replicas whose digest fewer share than the most common one.
func minority(replicas []*replicaDigest, sums []uint64, from, to uint64) []divergence {
	votes := func(sum uint64) (n int) {
		for _, s := range sums {
			if s == sum {
				n++
			}
		}
		return n
	}
	most, leaders := 0, []uint64(nil)
	for _, s := range sums {
		switch n := votes(s); {
		case n > most:
			most, leaders = n, []uint64{s}
		case n == most && !slices.Contains(leaders, s):
			leaders = append(leaders, s)
		}
	}
	if most == len(sums) {
		return nil
	}
	var found []divergence
	for i, s := range sums {
		if len(leaders) == 1 && s == leaders[0] {
			continue
		}
		d := divergence{of: replicas[i], from: from, to: to}
		for j, other := range sums {
			if other != s {
				d.others = addUnique(d.others, replicas[j].replica)
			}
		}
		found = append(found, d)
	}
	return found
}
