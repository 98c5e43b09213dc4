package vsr

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
	shrank   uint64 // size of the last round, in ops
	grew     int    // rounds in a row that did not shrink by a quarter: what is sent meanwhile takes as long, or nearly
	ended    uint64 // tick in which the transfer before ended, whose shrank and grew go on where this one begins at once
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
	if bulk && before.shrank > 0 && before.ended == r.tick { // more was committed meanwhile than it brought
		e.shrank, e.grew = before.shrank, before.grew
		r.measureRound(to - from + 1)
		return
	}
	e.shrank = to - from + 1
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

// measureRound holds the size of a round against that of the one before.
func (r *Replica) measureRound(size uint64) {
	e := &r.episode
	if e.bulk && 4*size > 3*e.shrank {
		e.grew++
		if e.grew%3 == 0 { // and again, for whoever has not heard of it
			r.event(Event{Kind: EventCannotKeepUp, FromOp: e.to + 1 - size, ToOp: e.to, Peer: e.peer, Rounds: e.rounds, Reason: "three rounds in a row shrank by less than a quarter"})
		}
	} else {
		e.grew = 0
	}
	e.shrank = size
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
	*e = episode{ended: r.tick, shrank: e.shrank, grew: e.grew}
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
