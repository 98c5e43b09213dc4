package results

import (
	"cmp"
	"slices"
)

// Activity is a begin event and what followed it: a repair, a transfer or a view change of one node and partition.
type Activity struct {
	Kind   ActivityKind
	Node   string
	FromNs int64
	// ToNs is nil if it never ended.
	ToNs *int64
	// Cut says that the node was killed, or began anew, before the end.
	Cut       bool
	Partition *int64
	OpFrom    *int64 // first and last op, both inside
	OpTo      *int64
	Bytes     *int64
	Rounds    *int64
	Peer      string
	Reason    string
}

// ActivityKind is the common part of a begin and an end kind.
type ActivityKind string

const (
	Repair     ActivityKind = "repair"
	Transfer   ActivityKind = "transfer"
	ViewChange ActivityKind = "view_change"
)

// Ops is how many ops the range holds, nil if unknown.
func (a Activity) Ops() *int64 {
	if a.OpFrom == nil || a.OpTo == nil {
		return nil
	}
	return new(max(*a.OpTo-*a.OpFrom+1, 0))
}

type step int

const (
	stepBegin step = iota
	stepProgress
	stepEnd
)

// stepOf splits a kind; false for kinds that are points in time.
func stepOf(k Kind) (ActivityKind, step, bool) {
	switch k {
	case KindRepairBegin:
		return Repair, stepBegin, true
	case KindRepairProgress:
		return Repair, stepProgress, true
	case KindRepairEnd:
		return Repair, stepEnd, true
	case KindTransferBegin:
		return Transfer, stepBegin, true
	case KindTransferProgress:
		return Transfer, stepProgress, true
	case KindTransferEnd:
		return Transfer, stepEnd, true
	case KindViewChangeBegin:
		return ViewChange, stepBegin, true
	case KindViewChangeEnd:
		return ViewChange, stepEnd, true
	}
	return "", 0, false
}

type activityKey struct {
	kind      ActivityKind
	node      string
	topic     string
	partition int64
}

// Activities pairs begins and ends, in order of begin. A kill cuts what its node had open; an end without its begin is placed by its
// duration; a begin over an open one cuts that.
func Activities(events []Event) []Activity {
	sorted := slices.Clone(events)
	slices.SortStableFunc(sorted, func(a, b Event) int { return cmp.Compare(a.TNs, b.TNs) })
	p := pairing{open: map[activityKey]int{}}
	for _, e := range sorted {
		if e.Kind == KindKill {
			p.cutNode(e.Of(), e.TNs)
			continue
		}
		if kind, s, ok := stepOf(e.Kind); ok {
			p.take(kind, s, e)
		}
	}
	slices.SortStableFunc(p.done, func(a, b Activity) int { return cmp.Compare(a.FromNs, b.FromNs) })
	return p.done
}

type pairing struct {
	done []Activity
	open map[activityKey]int // index in done
}

func (p *pairing) take(kind ActivityKind, s step, e Event) {
	key := activityKey{kind: kind, node: e.Of(), topic: e.Topic}
	if e.Partition != nil {
		key.partition = *e.Partition
	}
	i, isOpen := p.open[key]
	if s == stepBegin && isOpen {
		p.cut(key, e.TNs)
	}
	if s == stepBegin || !isOpen {
		i = len(p.done)
		p.done = append(p.done, Activity{Kind: kind, Node: key.node, FromNs: beginOf(s, e)})
		p.open[key] = i
	}
	a := &p.done[i]
	a.learn(e)
	if s == stepEnd {
		a.ToNs = new(e.TNs)
		delete(p.open, key)
	}
}

// beginOf is an event's own time, or for an end without a begin the time its duration leads back to.
func beginOf(s step, e Event) int64 {
	if s == stepEnd && e.DurationNs != nil {
		return e.TNs - *e.DurationNs
	}
	return e.TNs
}

// learn takes what a later event knows better.
func (a *Activity) learn(e Event) {
	for _, f := range []struct{ to, from **int64 }{
		{&a.Partition, &e.Partition}, {&a.OpFrom, &e.OpFrom}, {&a.OpTo, &e.OpTo}, {&a.Bytes, &e.Bytes}, {&a.Rounds, &e.Rounds},
	} {
		if *f.from != nil {
			*f.to = *f.from
		}
	}
	a.Peer = cmp.Or(e.Peer, a.Peer)
	a.Reason = cmp.Or(e.Reason, a.Reason)
}

func (p *pairing) cut(key activityKey, atNs int64) {
	a := &p.done[p.open[key]]
	a.ToNs, a.Cut = new(atNs), true
	delete(p.open, key)
}

func (p *pairing) cutNode(node string, atNs int64) {
	for key := range p.open { // the order does not show: each entry ends at the same time
		if key.node == node {
			p.cut(key, atNs)
		}
	}
}
