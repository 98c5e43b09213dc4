package vsr

// following is what a replica knows of the primary of its present view. It is forgotten when the
// view changes.
type following struct {
	silent     uint64     // ticks since it was last heard
	gaps       [10]uint64 // longest silence, in ticks, of each of the last ten seconds
	missingNow bool       // it is known to be gone, without waiting
	restarted  bool       // it is this replica itself, which restarted or stepped down
	head       ID         // the head that its last beat named
	offset     uint64     // the message offset that follows the commit it last named; shown, never used
	commit     uint64     // the highest commit it named in this view
	headSince  uint64     // tick since which this replica's own head has stood still
	headWas    uint64
	asked      int    // for prepares, since it stands still
	movedAt    uint64 // tick at which it last moved
	acked      ID     // last prepare_ok sent in this view
	starting   uint64 // progress its last "starting" beat named
}

const ticksPerSecond = 100

func (r *Replica) suspectFresh() { r.follow = following{headSince: r.tick, movedAt: r.tick} }

// heardPrimary restarts the timer.
func (r *Replica) heardPrimary() {
	f := &r.follow
	second := r.tick / ticksPerSecond % uint64(len(f.gaps))
	f.gaps[second] = max(f.gaps[second], f.silent)
	f.silent = 0
	f.missingNow = false
}

// suspectTicks is how long the primary may be silent: four times its longest silence of the last
// ten seconds, within limits; while a view is being started, as long as patience has grown.
func (r *Replica) suspectTicks() uint64 {
	if r.view > 0 && !r.normal() {
		return max(r.change.patience, r.cfg.SuspectTicks)
	}
	longest := uint64(0)
	for _, g := range r.follow.gaps {
		longest = max(longest, g)
	}
	return min(max(4*longest, r.cfg.SuspectTicks), r.cfg.SuspectTicksMax)
}

func (r *Replica) tickClock() {
	f := &r.follow
	if r.tick%ticksPerSecond == 0 {
		f.gaps[r.tick/ticksPerSecond%uint64(len(f.gaps))] = 0
	}
	if r.lead.leading {
		f.silent = 0
		return
	}
	f.silent++
	if r.log.head.Op != f.headWas {
		f.headWas, f.headSince, f.movedAt, f.asked = r.log.head.Op, r.tick, r.tick, 0
	}
}

// missing tells whether this replica, by its own ears, misses the primary of its view.
func (r *Replica) missing() bool {
	if r.lead.leading {
		return false
	}
	if r.view == 0 && !r.formed { // nothing is prepared before every node has formatted
		return false
	}
	return r.follow.missingNow || r.follow.silent >= r.suspectTicks()
}

// hasPrimary tells whether this replica is a backup of a primary that it hears.
func (r *Replica) hasPrimary() bool {
	return r.normal() && r.primary(r.view) != r.cfg.Self && !r.missing()
}
