package vsr

import "rejoin/server/internal/mistake"

// staging is a transfer that does not connect to this log: every peer that can help has trimmed its
// own past this one's head. The peer's chain, from its earliest op to its commit, is written beside
// the log, together with the client table as of its end, and takes the log's place in one step. Until
// then this log is what counts.
type staging struct {
	active     bool
	tabled     bool   // the table has come, and with it first and target
	installing bool   // the disk is putting it in place: nothing may be asked of the old log any more
	parts      uint64 // of the table, received
	peer       int
	no         uint64
	first      uint64
	next       uint64
	head       ID     // of what has been staged
	offset     uint64 // message offset that follows head
	stable     uint64 // op up to which the disk has written it; below next
	table      Table  // as of the target
	headers    []Header
	chunks     uint64
	owed       bool
	movedAt    uint64
	resumed    int
}

// startStaging asks peer for its whole chain.
func (r *Replica) startStaging(peer int) {
	if r.stage.active || r.lead.leading {
		return
	}
	r.pull.active = false
	r.pull.no++
	r.stage = staging{active: true, peer: peer, no: r.pull.no, movedAt: r.tick}
	r.send(peer, r.stageMessage())
}

func (r *Replica) stageMessage() Message {
	s := &r.stage
	if s.tabled {
		return Message{Kind: MsgPull, Round: s.no, FromOp: s.next, ToOp: s.table.ID.Op, Window: s.chunks + transferChunks, Bulk: true}
	}
	return Message{Kind: MsgPull, Round: s.no, FromOp: r.log.head.Op + 1, ToOp: max(r.heard.Op, r.log.head.Op+1),
		Window: s.chunks + transferChunks, Bulk: true, Staged: true}
}

// tablePart is how many sessions one message carries.
const tablePart = 1024

// sendTable sends the client table as of commit, ahead of the chain that ends there. A session is its
// last frame's header: a register frame's op is its session.
func (r *Replica) sendTable(to int, round uint64) {
	entries := r.tab.entries()
	parts := max((len(entries)+tablePart-1)/tablePart, 1)
	for i := range parts {
		m := Message{Kind: MsgTable, Round: round, Window: uint64(i), Progress: uint64(parts), FromOp: r.log.start, Head: r.log.commit, Goal: r.commitOffset()}
		for _, e := range entries[min(i*tablePart, len(entries)):min((i+1)*tablePart, len(entries))] {
			m.Slots = append(m.Slots, Slot{Known: true, Header: e.Last})
		}
		r.send(to, m)
	}
}

// onTablePart takes what comes before the chain: the client table as of its end.
func (r *Replica) onTablePart(m *Message) {
	s := &r.stage
	if !s.active || s.tabled || int(m.From) != s.peer || m.Round != s.no || m.Window != s.parts {
		return
	}
	if r.errs(mistake.OfferGateByView) && m.View < r.view {
		r.dropStaging("offered by a peer of an older view")
		return
	}
	if m.Head.Op <= r.log.commit.Op || m.FromOp == 0 || m.FromOp > m.Head.Op || len(s.table.Entries)+len(m.Slots) > r.cfg.SessionsMax {
		r.dropStaging("the chain that was offered is of no use")
		return
	}
	for i := range m.Slots {
		h := &m.Slots[i].Header
		session := h.Session
		if h.Kind == KindRegister {
			session = h.Op
		}
		s.table.Entries = append(s.table.Entries, Session{Session: session, Last: *h})
	}
	s.parts++
	s.movedAt = r.tick
	if s.parts < m.Progress {
		return
	}
	s.table.ID, s.table.Offset = m.Head, m.Goal
	s.tabled, s.first, s.next, s.stable = true, m.FromOp, m.FromOp, m.FromOp-1
	s.headers = make([]Header, windowOps)
	r.beginEpisode(true, s.first, s.table.ID.Op, s.peer)
}

// onStagedFrame takes the next op of the chain.
func (r *Replica) onStagedFrame(h *Header) {
	s := &r.stage
	if !s.tabled || s.installing || h.Op != s.next || h.Op > s.table.ID.Op || h.Group != r.cfg.Group || h.Cluster != r.cfg.Cluster {
		return
	}
	if h.Op > s.first && (h.Parent != s.head.Sum || h.BaseOffset != s.offset) {
		r.dropStaging("the chain that was offered is broken")
		return
	}
	if have, ok := r.log.id(h.Op, r.cfg.RootSum); ok && h.Op <= r.log.commit.Op && have != h.ID() {
		r.fence("has committed", s.peer, h.Op)
		return
	}
	s.headers[h.Op%windowOps] = *h
	s.head, s.offset, s.movedAt = h.ID(), h.NextOffset(), r.tick
	s.next++
	r.episode.bytes += 128 + uint64(h.BodyBytes)
	r.emit(Effect{Kind: EffStage, Header: *h})
	if h.Op < s.table.ID.Op {
		return
	}
	if s.head != s.table.ID || s.offset != s.table.Offset {
		r.dropStaging("the chain that was offered does not end where its table does")
		return
	}
	if r.errs(mistake.InstallBelowHeardCommit) && s.table.ID.Op < r.heard.Op {
		r.dropStaging("the chain ends below the commit that was heard of")
		return
	}
	s.installing = true
	r.emit(Effect{Kind: EffInstall, State: r.asked, Table: s.table})
}

// onStaged takes what the disk has written of the chain. What lies beyond the last op that was given to it is of a chain
// that was given up: the disk was behind.
func (r *Replica) onStaged(id ID) {
	if s := &r.stage; s.active && id.Op > s.stable && id.Op < s.next {
		s.stable, s.movedAt = id.Op, r.tick
	}
}

// settleStaging allows the server another chunk once this disk has kept up: until then it is not the server that
// is waited for.
func (r *Replica) settleStaging() {
	s := &r.stage
	if !s.active || !s.tabled || !s.owed || s.installing {
		return
	}
	if s.next-1-s.stable > r.cfg.RingOps/2 {
		s.movedAt = r.tick
		return
	}
	s.owed = false
	r.send(s.peer, r.stageMessage())
}

func (r *Replica) tickStaging() {
	if s := &r.stage; s.active && !s.installing && r.tick-s.movedAt >= r.cfg.StallTicks {
		r.resumeStaging("no progress")
	}
}

// leaveStaging gives up what a peer that is gone was sending.
func (r *Replica) leaveStaging(peer int) {
	if s := &r.stage; s.active && s.peer == peer && !s.installing {
		r.resumeStaging("the serving node is gone")
	}
}

// resumeStaging goes on behind the last op staged, from anybody who has it: the rest of the chain is
// committed ops like any others.
func (r *Replica) resumeStaging(why string) {
	s := &r.stage
	if s.installing {
		return
	}
	r.pull.avoid = s.peer
	peer := r.choosePeer(s.table.ID.Op, false)
	if !s.tabled || peer == NoPrimary || s.resumed >= stagingResumes {
		r.dropStaging(why)
		return
	}
	r.brokenEpisode(why)
	r.pull.no++
	s.resumed++
	s.no, s.peer, s.chunks, s.owed, s.movedAt = r.pull.no, peer, 0, false, r.tick
	r.send(peer, r.stageMessage())
}

// stagingResumes bounds how often one chain is gone on with before it is asked for anew.
const stagingResumes = 16

// dropStaging gives up what was staged; the log has not changed.
func (r *Replica) dropStaging(why string) {
	if r.stage.installing { // decided: it will be in place
		return
	}
	r.emit(Effect{Kind: EffStageDrop})
	r.pull.peer = r.stage.peer
	r.stage = staging{}
	r.failPull(why)
}

// onInstalled begins anew with the chain in place of the log. What this replica held beyond it, or
// differently, is gone; the ops up to its end are committed.
func (r *Replica) onInstalled() {
	s := &r.stage
	if !s.installing {
		panic("vsr: a chain was installed that was not asked for")
	}
	l := log{start: s.first, known: s.first - 1, head: s.head, commit: s.head, top: s.head, stable: s.head, offset: s.offset}
	if s.head.Op > windowOps {
		l.known = max(l.known, s.head.Op-windowOps)
	}
	copy(l.headers[:], s.headers)
	l.clock = max(r.log.clock, s.headers[s.head.Op%windowOps].Timestamp)
	r.log = l
	r.tab = newTable(r.cfg.SessionsMax, s.table)
	r.stage = staging{}
	r.pull.doubt, r.pull.floor, r.pull.failures, r.pull.retryAt = false, 0, 0, r.tick
	r.cuts = 0
	if l.commit.Op > r.heard.Op {
		r.heard = l.commit
	}
	r.adopt.aligned = false
	r.dropKeptBelow()
	r.follow.acked = ID{}
	r.emit(Effect{Kind: EffReset, ID: l.commit, From: l.start})
	r.emit(Effect{Kind: EffCommit, ID: l.commit})
}

// onTrimmed notes that the log begins later than it did.
func (r *Replica) onTrimmed(start uint64) {
	l := &r.log
	if start <= l.start {
		return
	}
	l.start = start
	l.dropHoles(start)
	r.pull.askHolesAnew()
}

// Lease is the lowest op that a running transfer to a peer still needs from this log; 0: none.
func (r *Replica) Lease() uint64 {
	low := uint64(0)
	for i := range r.serve {
		if s := &r.serve[i]; s.active && s.bulk && s.cursor <= s.target && (low == 0 || s.cursor < low) {
			low = s.cursor
		}
	}
	return low
}
