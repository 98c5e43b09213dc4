package vsr

// Status is what an observer may know of a replica at this moment.
type Status struct {
	View, LogView uint64
	Commit, Head  ID
	Top           uint64
	KnownCommit   uint64 // the highest commit anyone named
	CommitOffset  uint64 // message offset that follows Commit
	KnownOffset   uint64 // the same of the primary's last beat, at least CommitOffset
	Primary       int    // NoPrimary while none is known to lead
	Leading       bool
	Role          string // primary, backup, none
	State         string // normal, view_change, repairing, transferring, wiped, fenced
	Fetching      string // repair or transfer while one goes on, whatever the state is; its begin and its end are events
	Waiting       bool   // only another replica can bring what this view needs
	DiskFull      bool
	Holes         int
	Parked        int
	Queued        int
	Absurd        uint64 // requests of peers for ranges that make no sense, refused
	Tick          uint64
	PullTarget    uint64                  // 0 when nothing is being pulled
	Peers         [ReplicasMax]PeerStatus // what the others last told of themselves; of this replica itself: zero
}

// PeerStatus is what a replica last told of itself.
type PeerStatus struct {
	View, LogView, Head, Commit uint64
	SilentTicks                 uint64 // since it was last heard; backups hear only the primary
}

// Primary is the replica that this one believes to lead, or NoPrimary.
func (r *Replica) Primary() int {
	if r.lead.leading {
		return r.cfg.Self
	}
	if r.hasPrimary() || (r.view > 0 && !r.missing()) {
		if p := r.primary(r.view); p != r.cfg.Self {
			return p
		}
	}
	return NoPrimary
}

// Status tells where this replica stands.
func (r *Replica) Status() Status {
	l := &r.log
	s := Status{View: r.view, LogView: r.saved.LogView, Commit: l.commit, Head: l.head, Top: l.top.Op, KnownCommit: r.heard.Op,
		CommitOffset: r.commitOffset(), Primary: r.Primary(), Leading: r.lead.leading, Role: "none", State: r.state(), Fetching: r.episode.name(), Waiting: r.adopt.waiting,
		DiskFull: r.diskFull, Holes: len(l.holes), Parked: len(r.lead.parked), Queued: len(r.waiting), Absurd: r.absurd, Tick: r.tick}
	for i := range r.cfg.Replicas {
		p := &r.peers[i]
		s.Peers[i] = PeerStatus{View: p.view, LogView: p.logView, Head: p.head, Commit: p.commit, SilentTicks: r.tick - p.heardAt}
	}
	if r.lead.leading {
		s.Role = "primary"
	} else if r.normal() && r.primary(r.view) != r.cfg.Self {
		s.Role = "backup"
	}
	s.KnownOffset = max(s.CommitOffset, r.follow.offset)
	if r.pull.active {
		s.PullTarget = r.pull.target
	} else if r.stage.active {
		s.PullTarget = r.stage.table.ID.Op
	}
	return s
}

func (r *Replica) state() string {
	switch {
	case r.fenced:
		return "fenced"
	case r.saved.Wiped:
		return "wiped"
	case r.stage.active, r.pull.active && r.pull.bulk:
		return "transferring"
	case r.pull.active:
		return "repairing"
	case !r.normal():
		return "view_change"
	}
	return "normal"
}

// Table is the client table as of the present commit, for a checkpoint.
func (r *Replica) Table() Table {
	return Table{ID: r.log.commit, Offset: r.commitOffset(), Entries: r.tab.entries()}
}

// commitOffset is the message offset that follows commit.
func (r *Replica) commitOffset() uint64 {
	if h := r.log.at(r.log.commit.Op + 1); h != nil {
		return h.BaseOffset
	}
	return r.log.offset
}

// Fetched is the answer to a fetch of an op that only the log still has: the shell completes its
// header from there.
func (r *Replica) Fetched(to uint8, id ID) *Message {
	return &Message{Kind: MsgFetched, Group: r.cfg.Group, From: uint8(r.cfg.Self), To: to, Incarnation: r.cfg.Incarnation,
		View: r.saved.View, LogView: r.saved.LogView, Commit: r.log.commit, Header: Header{Op: id.Op, Sum: id.Sum}}
}
