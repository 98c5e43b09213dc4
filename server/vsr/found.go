package vsr

// found is damage that readers met in one op after the other: it is told of as one range.
type found struct {
	ops OpRange // From 0: there is none that was not told of
	at  uint64  // tick at which the last of them was met
}

// foundTicks is how long a reader that meets more of the same damage may pause.
const foundTicks = 25

// noteFound adds damaged ops to what is to be told.
func (r *Replica) noteFound(from, to uint64) {
	f := &r.found
	if f.ops.From > 0 && to+1 >= f.ops.From && from <= f.ops.To+1 {
		f.ops.From, f.ops.To = min(f.ops.From, from), max(f.ops.To, to)
	} else {
		r.tellFound()
		f.ops = OpRange{from, to}
	}
	f.at = r.tick
}

// tellFound tells of the damage that was found.
func (r *Replica) tellFound() {
	if f := &r.found; f.ops.From > 0 {
		r.event(Event{Kind: EventHole, FromOp: f.ops.From, ToOp: f.ops.To, Peer: NoPrimary, Reason: "damaged on disk"})
		f.ops = OpRange{}
	}
}

// tickFound tells of damage once nothing has been added to it for a while.
func (r *Replica) tickFound() {
	if r.tick-r.found.at >= foundTicks {
		r.tellFound()
	}
}
