package vsr

// keepUpRounds is over how many rounds a transfer that gets nearer gains a quarter at least.
const keepUpRounds = 3

// episode is one repair or transfer as an observer sees it: from the first gap to the last op that
// was missing, over as many rounds as that takes. It decides nothing.
type episode struct {
	active   bool
	bulk     bool
	from, to uint64
	peer     int
	bytes    uint64
	rounds   uint64
	began    uint64
	told     uint64 // tick of the last progress event
	ended    uint64 // tick in which the transfer before ended, whose sizes go on where this one begins at once

	sizes [keepUpRounds]uint64 // of the last rounds in ops, the newest last; 0: none
}

// name says what goes on, empty if nothing does. The state of a replica is one word, and that a view changes or that it has forgotten hides
// in it that it fetches.
func (e *episode) name() string {
	switch {
	case !e.active:
		return ""
	case e.bulk:
		return "transfer"
	}
	return "repair"
}

func (r *Replica) beginEpisode(bulk bool, from, to uint64, peer int) {
	e := &r.episode
	if e.active && e.bulk == bulk {
		r.nextRound(from, to, peer)
		return
	}
	if e.active {
		r.endEpisode()
	}
	before := *e
	*e = episode{active: true, bulk: bulk, from: from, to: to, peer: peer, rounds: 1, began: r.tick, told: r.tick}
	r.episodeEvent(EventRepairBegin, EventTransferBegin, "")
	if bulk && before.ended == r.tick { // more was committed meanwhile than it brought
		e.sizes = before.sizes
	}
	r.measureRound(to - from + 1)
}

func (r *Replica) nextRound(from, to uint64, peer int) {
	e := &r.episode
	if to <= e.to { // the same range, asked again
		return
	}
	e.to, e.peer = to, peer
	r.measureRound(to - from + 1)
	e.rounds++
}

// measureRound tells of a transfer that does not get nearer: over some rounds it has gained less than a quarter, or over
// fewer it has lost, for what is sent meanwhile takes as long, or nearly.
func (r *Replica) measureRound(size uint64) {
	e := &r.episode
	was, since := e.sizes[0], e.sizes[1]
	copy(e.sizes[:], e.sizes[1:])
	e.sizes[keepUpRounds-1] = size
	if !e.bulk {
		return
	}
	why := ""
	switch {
	case was > 0 && 4*size > 3*was:
		why = "three rounds gained less than a quarter"
	case since > 0 && size > since:
		why = "two rounds gained nothing"
	default:
		return
	}
	e.sizes = [keepUpRounds]uint64{keepUpRounds - 1: size} // some rounds on it is told again, for whoever has not heard of it
	r.event(Event{Kind: EventCannotKeepUp, FromOp: e.to + 1 - size, ToOp: e.to, Peer: e.peer, Rounds: e.rounds, Reason: why})
}

func (r *Replica) progressEpisode() {
	if e := &r.episode; e.active && r.tick-e.told >= 10 {
		e.told = r.tick
		r.episodeEvent(EventRepairProgress, EventTransferProgress, "")
	}
}

// countRepaired counts a prepare that was asked for again.
func (r *Replica) countRepaired(h *Header) {
	if e := &r.episode; e.active && !r.pull.active && h.Op > r.log.head.Op && h.Op <= e.to {
		e.bytes += 128 + uint64(h.BodyBytes)
	}
}

// brokenEpisode tells why what was under way has to be asked for again.
func (r *Replica) brokenEpisode(why string) {
	if r.episode.active {
		r.episodeEvent(EventRepairProgress, EventTransferProgress, why)
	}
}

// settleEpisode ends the episode when nothing of it is missing any more.
func (r *Replica) settleEpisode() {
	if e := &r.episode; e.active && !r.pull.active && r.log.head.Op >= e.to && r.log.commit.Op >= min(e.to, r.heard.Op) {
		r.endEpisode()
	}
}

func (r *Replica) endEpisode() {
	r.episodeEvent(EventRepairEnd, EventTransferEnd, "")
	e := &r.episode
	if !e.bulk {
		*e = episode{}
		return
	}
	*e = episode{ended: r.tick, sizes: e.sizes}
}

func (r *Replica) episodeEvent(repair, transfer EventKind, why string) {
	e := &r.episode
	kind, reason := repair, "gap within the ring"
	if e.bulk {
		kind, reason = transfer, "gap beyond the ring"
	}
	if why != "" {
		reason = why
	}
	to := e.to
	if kind == EventRepairProgress || kind == EventTransferProgress {
		to = r.log.head.Op
	}
	r.event(Event{Kind: kind, FromOp: e.from, ToOp: to, Peer: e.peer, Bytes: e.bytes, Rounds: e.rounds, Ticks: r.tick - e.began, Reason: reason})
}
