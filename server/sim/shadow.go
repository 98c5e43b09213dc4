package sim

import (
	"errors"

	"rejoin/server/journal"
	"rejoin/server/partition"
	"rejoin/server/vsr"
)

// shadow is what the checker knows of one replica's log from what it handed to its disk and what
// recovery found there.
type shadow struct {
	start   uint64       // op of headers[0]
	headers []vsr.Header // the log as the state machine sees it
	written uint64       // on the file, perhaps not synced
	durable uint64       // synced
	commit  uint64       // of this life
	cuts    int          // queued: until they are done, a completion speaks of what was there before
	kept    uint64       // up to here ops may stay on record as damaged, although they are cut; 0: none do
	keptBy  uint64       // the same, by the last cut that is queued
	marked  uint64       // up to here the mark has told durably that ops were held
	hidden  uint64       // damage up to here is on the disk until queued cuts are done; 0: none is

	view, logView uint64 // durable
	spoken        uint64 // highest view and log_view that a message spoke for
	spokenLog     uint64
	wiped         bool

	acked     vsr.ID // the highest op vouched for and not dropped since
	ackedView uint64
	ackedIn   uint64 // boot counter of the life that vouched for it
}

// at returns the header of an op the log has, or nil.
func (s *shadow) at(op uint64) *vsr.Header {
	if op < s.start || op >= s.start+uint64(len(s.headers)) {
		return nil
	}
	return &s.headers[op-s.start]
}

func (s *shadow) head() uint64 { return s.start + uint64(len(s.headers)) - 1 }

// holds tells whether the log has this very op.
func (s *shadow) holds(id vsr.ID) bool {
	h := s.at(id.Op)
	return h != nil && h.Sum == id.Sum
}

// wipe: the directory is gone, and with it every promise of this replica.
func (s *shadow) wipe() { *s = shadow{start: 1, wiped: true} }

// powerCut forgets what was vouched for without a sync.
func (s *shadow) powerCut(synced bool) {
	s.written = s.durable
	if !synced {
		s.acked = vsr.ID{}
	}
}

// work follows a job on its way to the disk.
func (s *shadow) work(p *process, j *partition.Job) {
	switch j.Kind {
	case partition.JobAppend:
		h := &j.Frame.Header
		if h.Op != s.head()+1 {
			p.w.fail("S5", "replica %d appends op %d behind op %d", p.n.id, h.Op, s.head())
		}
		if before := s.at(h.Op - 1); before != nil && h.Parent != before.Sum {
			p.w.fail("S5", "replica %d appends op %d whose parent is not its op %d", p.n.id, h.Op, h.Op-1)
		}
		s.replace(p, h)
		s.headers = append(s.headers, *h)
	case partition.JobCut:
		s.cuts++
		s.cut(p, j.ID.Op, max(j.ID.Op, j.Top.Op))
	}
}

// replace: what takes the place of an op that was vouched for, and is on record as damaged, is what was
// committed there or what a later view's log has.
func (s *shadow) replace(p *process, h *vsr.Header) {
	if h.Op != s.acked.Op || h.Sum == s.acked.Sum {
		return
	}
	if c := p.w.check.at(h.Op); (c == nil || c.Sum != h.Sum) && p.status().View <= s.ackedView {
		p.w.fail("S7", "replica %d puts another op in the place of op %d, which it vouched for in view %d, in view %d", p.n.id, h.Op, s.ackedView, p.status().View)
	}
	s.acked = vsr.ID{Op: h.Op - 1, Sum: h.Parent}
}

// cut drops the ops above op. Those from there up to top stay on record as damaged.
func (s *shadow) cut(p *process, op, top uint64) {
	s.mayDrop(p, top)
	if s.keptBy = 0; top > op {
		s.keptBy = top
	}
	s.kept = max(s.kept, s.keptBy)
	if op < s.head() {
		if p.n.rotted {
			s.hidden = max(s.hidden, p.n.lastLost(p.n.fs))
		}
		s.headers = s.headers[:op+1-s.start]
	}
	s.written, s.durable = min(s.written, op), min(s.durable, op)
	if top < s.acked.Op {
		s.acked = vsr.ID{}
		if h := s.at(op); h != nil {
			s.acked = h.ID()
		}
	}
}

// mayDrop: what was vouched for above op may only fall when a later view's log lacks it, or when
// another op was committed there.
func (s *shadow) mayDrop(p *process, op uint64) {
	for n := op + 1; n <= s.acked.Op && n <= s.head(); n++ {
		h, c := s.at(n), p.w.check.at(n)
		switch {
		case h == nil:
		case c != nil && c.Sum == h.Sum:
			p.w.fail("S7", "replica %d drops op %d, which it vouched for and which is committed", p.n.id, n)
		case c != nil, p.status().View > s.ackedView:
		default:
			p.w.fail("S7", "replica %d drops op %d, which it vouched for in view %d, in view %d", p.n.id, n, s.ackedView, p.status().View)
		}
	}
}

// install follows the log to the chain that has taken its place.
func (s *shadow) install(p *process) {
	log := p.log()
	end := log.Written().Op
	s.mayDrop(p, end)
	if end <= s.commit {
		p.w.fail("S2", "replica %d installs a chain that ends at op %d over commit %d", p.n.id, end, s.commit)
	}
	p.w.cover.Installs++
	s.load(p, log.Start(), end)
	s.written, s.durable, s.kept, s.keptBy, s.marked, s.hidden = end, end, 0, 0, end, 0
	s.commit = max(s.commit, s.start-1)
	if s.acked.Op > end {
		s.acked = log.Written()
	}
}

// load reads the log's headers.
func (s *shadow) load(p *process, start, end uint64) {
	s.start, s.headers = start, nil
	p.w.check.begins(p, start)
	for op := start; op <= end; op++ {
		h, err := p.log().Header(op)
		if c := p.w.check.at(op); errors.Is(err, journal.ErrDamaged) && c != nil && p.w.setup.dangers.rot > 0 {
			h, err = *c, nil // a hole
			p.after(0, func() { p.look(op) })
		}
		if err != nil {
			p.w.fail("boot", "replica %d holds ops %d to %d and cannot read op %d: %v", p.n.id, start, end, op, err)
		}
		s.headers = append(s.headers, h)
	}
}

// completed follows what the disk has done.
func (s *shadow) completed(p *process, in *vsr.Input) {
	switch in.Kind {
	case vsr.InCutDone: // the jobs before it are done, too
		if s.cuts--; s.cuts > 0 {
			return
		}
		s.kept = s.keptBy
		if s.holds(in.ID) {
			s.written, s.durable = max(s.written, in.ID.Op), max(s.durable, in.ID.Op)
		}
		s.marked, s.hidden = max(s.durable, s.kept), 0
	case vsr.InWritten:
		if s.cuts == 0 && s.holds(in.ID) {
			s.written = max(s.written, in.ID.Op)
		}
	case vsr.InDurable:
		if s.cuts == 0 && s.holds(in.ID) {
			s.written, s.durable = max(s.written, in.ID.Op), max(s.durable, in.ID.Op)
		}
	case vsr.InTrimmed:
		p.w.check.trims(p, in.ID.Op)
		s.trim(in.ID.Op)
		p.w.check.begins(p, in.ID.Op)
	case vsr.InFilled:
		if in.OK {
			p.w.cover.HolesFilled++
		}
	case vsr.InStateSaved:
		if in.State.View < s.view || in.State.LogView < s.logView || in.State.LogView > in.State.View {
			p.w.fail("S3", "replica %d saves view %d, log_view %d after %d, %d", p.n.id, in.State.View, in.State.LogView, s.view, s.logView)
		}
		s.view, s.logView, s.wiped = in.State.View, in.State.LogView, in.State.Wiped
	}
}

// trim follows the log to where it begins now.
func (s *shadow) trim(start uint64) {
	if start > s.start {
		s.headers = s.headers[min(start-s.start, uint64(len(s.headers))):]
		s.start = start
	}
}

// committed tells whether this very op is.
func (w *world) committed(h *vsr.Header) bool {
	c := w.check.at(h.Op)
	return c != nil && *c == *h
}

// staysCut: an op that a cut has dropped, durably, is not back with the next life. What is committed may be, of a
// chain that took the log's place.
func (s *shadow) staysCut(p *process, start, end uint64) {
	for op := start; op <= end && s.cuts == 0; op++ {
		h, err := p.log().Header(op)
		if err != nil || s.holds(h.ID()) || op < s.start {
			continue
		}
		if !p.w.committed(&h) {
			p.w.fail("S7", "replica %d comes back with op %d (%016x), which it had cut or never had", p.n.id, op, h.Sum)
		}
	}
}

// isSynced: what a start reports as held is on the disk, also where the last life died, or a sync failed, before it
// was. What is damaged is not held.
func (s *shadow) isSynced(p *process) {
	p.n.walk(p.n.fs, func(f *frameAt) bool {
		if f.bytes != nil && !p.n.damagedAt(f) && !p.n.fs.OnDisk(f.name, f.at, int64(len(f.bytes))) {
			p.w.fail("S7", "replica %d starts with op %d, which %s does not have at byte %d: a power cut would lose it", p.n.id, f.op, f.name, f.at)
		}
		return true
	})
}

// recovered takes over what a new life found, and holds it against what the last one had promised.
func (s *shadow) recovered(p *process, rec *journal.Recovered, b *vsr.Boot) {
	w, id := p.w, p.n.id
	if !b.State.Wiped && (b.State.View < s.spoken || b.State.LogView < s.spokenLog) {
		w.fail("S3", "replica %d comes back with view %d, log_view %d and has spoken for %d, %d", id, b.State.View, b.State.LogView, s.spoken, s.spokenLog)
	}
	s.staysCut(p, b.Start, b.Head.Op)
	s.view, s.logView, s.wiped = b.State.View, b.State.LogView, b.State.Wiped
	s.commit, s.cuts = b.Commit.Op, 0
	s.load(p, b.Start, b.Head.Op)
	if b.Start > rec.Start { // retention, by the checkpoints that were there
		w.check.trims(p, b.Start)
		w.cover.TrimmedAtStart++
	}
	s.isSynced(p)
	if (b.Top.Op > max(s.head(), s.kept) || len(b.Holes) > 0) && w.setup.synced && !p.n.rotted && !s.wiped {
		w.fail("S7", "replica %d comes back up to op %d and takes ops up to %d, and %v, for damaged, and nothing has damaged its disk", id, s.head(), b.Top.Op, b.Holes)
	}
	s.kept, s.keptBy = b.Top.Op, b.Top.Op
	s.written, s.durable = s.head(), s.head()
	s.marked, s.hidden = max(s.head(), s.kept), 0
	if s.acked.Op > 0 && !b.State.Wiped {
		h := s.at(s.acked.Op)
		switch {
		case h == nil && b.Top.Op < s.acked.Op, h != nil && h.Sum != s.acked.Sum && !w.committed(h):
			w.fail("S7", "replica %d recovered up to op %d (top %d) and had vouched for op %d in view %d", id, b.Head.Op, b.Top.Op, s.acked.Op, s.ackedView)
		case h != nil:
			s.acked = h.ID() // the committed one, where a chain was taking the log's place when the last life ended
		}
	}
	for op := max(b.Start, 1); op <= b.Commit.Op; op++ {
		if c := w.check.at(op); c == nil || c.Sum != s.at(op).Sum {
			w.fail("S1", "replica %d takes op %d for committed when it starts, and nobody has committed it", id, op)
		}
	}
	if b.Table.ID != b.Commit {
		w.fail("S9", "replica %d starts at commit %d with a client table as of op %d", id, b.Commit.Op, b.Table.ID.Op)
	}
	w.check.tells(p, &b.Table)
}
