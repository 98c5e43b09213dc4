package vsr

import (
	"fmt"
	"slices"

	"rejoin/server/internal/mistake"
)

// Replica is one group's state machine on one node. It belongs to one goroutine.
type Replica struct {
	cfg Config
	log log
	tab *table

	view     uint64 // never falls; what is sent speaks for saved.View only
	asked    State  // last state handed to the disk
	saved    State  // durable; saved.LogView <= saved.View <= view
	bootView uint64 // saved before this process started: it never leads in a view up to this one
	cuts     int    // cuts handed to the disk that have not come back; while any is, a sync says nothing
	diskFull bool
	fenced   bool
	formed   bool // every node has formatted its directory

	tick   uint64 // since start
	peers  [ReplicasMax]peer
	lives  Lives  // none falls; never below what is saved, nor below the lives present in peers
	heard  ID     // the highest commit that anyone named; only numbers up to commit are certain
	events uint64 // for tests: how many were emitted

	lead     leadership
	follow   following
	election election
	change   viewChange
	adopt    adoption
	pull     pull
	serve    [ReplicasMax]serving
	stage    staging
	filled   uint64 // damaged ops that this incarnation has mended
	found    found
	filling  int    // frames given to the disk to close holes, of which it has said nothing yet
	absurd   uint64 // requests of peers for ranges that make no sense
	kept     keptOps
	hollow   hollow
	wiped    wipedRecovery
	waiting  []waiter
	sealing  Header // the op that is being prepared
	episode  episode

	out []Effect
}

// peer is what is known of another replica.
type peer struct {
	incarnation Incarnation // the present one; zero until the first handshake
	up          bool        // the protocol link stands
	commit      uint64      // highest commit it named
	earliest    uint64      // the first op it retains, as it said last; 0: it has not
	view        uint64      // of its last message
	logView     uint64
	head        uint64 // the last it named
	heardAt     uint64 // tick of its last message
}

// New makes a replica from what recovery found. A Boot that breaks its own invariants is the
// caller's mistake and panics; a Config that cannot work is an error.
func New(cfg Config, b Boot) (*Replica, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	r := &Replica{cfg: cfg, tab: newTable(cfg.SessionsMax, b.Table), view: b.State.View, asked: b.State, saved: b.State, bootView: b.State.View}
	r.log = log{start: max(b.Start, 1), holes: slices.Clone(b.Holes)}
	r.loadLog(b)
	r.heard = r.log.commit
	r.lives = b.State.Lives
	r.lives[cfg.Self] = max(r.lives[cfg.Self], cfg.Incarnation.Boot)
	r.pull.init()
	r.suspectFresh()
	switch {
	case r.errs(mistake.LeadAfterRestart):
		r.bootView = 0
	case r.saved.View > 0 && r.primary(r.view) == cfg.Self:
		r.follow.missingNow = true // a restart ends a primacy
		r.follow.restarted = true
	}
	return r, nil
}

func (r *Replica) loadLog(b Boot) {
	l := &r.log
	base := ID{0, r.cfg.RootSum}
	if b.Commit.Op > 0 {
		base = b.Commit
	}
	l.commit, l.head, l.offset, l.known = base, base, b.Offset, base.Op
	for i := range b.Table.Entries {
		l.clock = max(l.clock, b.Table.Entries[i].Last.Timestamp)
	}
	for i := range b.Tail {
		h := &b.Tail[i]
		l.clock = max(l.clock, h.Timestamp)
		if h.Op <= base.Op {
			l.headers[h.Op%windowOps] = *h
			continue
		}
		l.append(h)
	}
	if n := uint64(len(b.Tail)); n > 0 && b.Tail[0].Op <= base.Op {
		l.known = b.Tail[0].Op - 1
		if l.head.Op > windowOps {
			l.known = max(l.known, l.head.Op-windowOps)
		}
	}
	if l.head != b.Head && b.Head.Op != 0 {
		panic(fmt.Sprintf("vsr: recovered tail ends in op %d, not in head %d", l.head.Op, b.Head.Op))
	}
	l.stable, l.top = l.head, l.head
	if b.Top.Op > l.head.Op {
		l.top = b.Top
	}
}

// Step lets in happen and returns what to do about it, in order. The slice is valid until the next
// call.
func (r *Replica) Step(in *Input) []Effect {
	r.out = r.out[:0]
	if r.fenced {
		r.stepFenced(in)
		return r.out
	}
	r.dispatch(in)
	if !r.fenced {
		r.settle()
		r.check()
	}
	return r.out
}

func (r *Replica) dispatch(in *Input) {
	switch in.Kind {
	case InTick:
		r.onTick()
	case InMessage:
		r.onMessage(&in.Msg)
	case InRequest, InRegister:
		r.onRequest(in)
	case InReadLatest:
		r.onReadLatest(in.Token)
	case InForget:
		r.onForget(in.Token)
	case InWritten:
		if !r.cfg.SyncRequired {
			r.onStable(in.ID)
		}
	case InDurable:
		r.onStable(in.ID)
	case InStateSaved:
		r.onStateSaved(in.State)
	case InCutDone:
		r.onCutDone(in.ID)
	case InFilled:
		r.onFilled(in)
	case InDamaged:
		r.onDamaged(in.ID.Op, in.Hole)
	case InLinkUp:
		r.peers[in.Peer].up = true
	case InLinkDown:
		r.onLinkDown(in)
	case InHello:
		r.onHello(in)
	case InServed:
		r.onServed(in)
	case InChunkEnd:
		r.onChunkEnd(in)
	case InDiskFull:
		r.onDiskFull(in.OK)
	case InStaged:
		r.onStaged(in.ID)
	case InInstalled:
		r.onInstalled()
	case InTrimmed:
		r.onTrimmed(in.ID.Op)
	case InAllFormatted:
		r.formed = true
	default:
		panic(fmt.Sprintf("vsr: input kind %d", in.Kind))
	}
}

// settle brings forward whatever the input has made possible. Every rule in it is a comparison of
// levels: nothing depends on having seen an edge.
func (r *Replica) settle() {
	if !r.stage.installing { // the old log takes nothing any more
		r.absorbKept()
		r.adoptOnward()
	}
	r.advanceCommit()
	r.settleReads()
	r.admitWaiting()
	r.acknowledge()
	r.settlePull()
	r.settleStaging()
}

// check asserts what must hold between any two inputs.
func (r *Replica) check() {
	l := &r.log
	switch {
	case l.commit.Op > l.head.Op, l.head.Op > l.top.Op, l.stable.Op > l.head.Op, l.known > l.commit.Op:
		panic(fmt.Sprintf("vsr: known %d, commit %d, stable %d, head %d, top %d are out of order", l.known, l.commit.Op, l.stable.Op, l.head.Op, l.top.Op))
	case l.head.Op-l.commit.Op > r.cfg.PipelineOps && r.normal():
		panic(fmt.Sprintf("vsr: head %d is more than a pipeline above commit %d", l.head.Op, l.commit.Op))
	case r.saved.LogView > r.saved.View, r.saved.View > r.view:
		panic(fmt.Sprintf("vsr: log_view %d, saved view %d, view %d are out of order", r.saved.LogView, r.saved.View, r.view))
	case r.lead.leading && (r.primary(r.view) != r.cfg.Self || !r.normal() || r.view <= r.bootView):
		panic(fmt.Sprintf("vsr: replica %d leads view %d with log_view %d, started in %d", r.cfg.Self, r.view, r.saved.LogView, r.bootView))
	}
	r.checkLives()
}

func (r *Replica) stepFenced(in *Input) {
	if in.Kind == InRequest || in.Kind == InRegister || in.Kind == InReadLatest {
		r.reply(in.Token, OutcomeFenced, nil, "this node is fenced")
	}
}

// primary of a view, or NoPrimary for view 0.
func (r *Replica) primary(view uint64) int {
	if view == 0 {
		return NoPrimary
	}
	return int(view % uint64(r.cfg.Replicas))
}

func (r *Replica) quorum() int { return r.cfg.Replicas/2 + 1 }

// normal tells whether the log of the present view is held, durably known to be.
func (r *Replica) normal() bool {
	return r.view > 0 && r.saved.View == r.view && r.saved.LogView == r.view
}

// fence stops this replica for good: this log and a peer's differ where neither may. They are of two clusters with one name.
func (r *Replica) fence(differ string, peer int, op uint64) {
	r.leave("fenced")
	r.fenced = true
	r.emit(Effect{Kind: EffFence, Detail: fmt.Sprintf("two histories meet under one cluster name: node %d %s another op %d than this log", peer, differ, op)})
}

// errs tells whether the simulator wants this mistake made.
func (r *Replica) errs(m mistake.Mistake) bool { return r.cfg.Mistakes.Has(m) }

func (r *Replica) onTick() {
	r.tick++
	if r.tick == 1 && r.errs(mistake.LeadAfterRestart) && r.normal() && r.primary(r.view) == r.cfg.Self {
		r.startLeading()
	}
	r.tickWaiting()
	r.tickClock()
	if r.lead.leading {
		r.tickLead()
	}
	r.tickViewChange()
	r.tickElection()
	r.tickCatchUp()
	r.tickServing()
	r.tickWiped()
}

// onMessage drops what does not come from the present life of a peer and hands on the rest.
func (r *Replica) onMessage(m *Message) {
	from := int(m.From)
	if from >= r.cfg.Replicas || from == r.cfg.Self || m.Group != r.cfg.Group || !m.Kind.Known() {
		return
	}
	if m.Incarnation != r.peers[from].incarnation || m.LogView > m.View {
		return
	}
	r.hear(from, m.Commit)
	if m.Kind != MsgChunk { // its sender is a reader of the log, which knows no views
		r.note(from, m)
	}
	switch m.Kind {
	case MsgPrepare:
		r.onPrepare(m)
	case MsgPrepareOK:
		r.onPrepareOK(from, m.View, m.Ack)
	case MsgBeat:
		r.onBeat(m)
	case MsgBeatAck:
		r.onBeatAck(m)
	case MsgPreVote:
		r.onPreVote(m)
	case MsgPreVoteAck:
		r.onPreVoteAck(m)
	case MsgStartViewChange:
		r.onStartViewChange(m)
	case MsgDoViewChange:
		r.onDoViewChange(m)
	case MsgStartView:
		r.onStartView(m)
	case MsgAskStartView:
		r.onAskStartView(m)
	default:
		r.onCatchUpMessage(m)
	}
}

func (r *Replica) onCatchUpMessage(m *Message) {
	switch m.Kind {
	case MsgAskPrepares:
		r.onAskPrepares(m)
	case MsgFetch:
		r.onFetch(m)
	case MsgFetched:
		r.onFetched(m)
	case MsgNotHeld:
		r.onNotHeld(m)
	case MsgPull:
		r.onPull(m)
	case MsgChunk:
		r.onPulled(m)
	case MsgPullRefused:
		r.onPullRefused(m)
	case MsgAskHead:
		r.onAskHead(m)
	case MsgTable:
		r.onTablePart(m)
	case MsgTellHead:
		r.onTellHead(m)
	}
}

// note keeps what a message tells of its sender, to be shown.
func (r *Replica) note(from int, m *Message) {
	p := &r.peers[from]
	p.view, p.logView, p.heardAt = m.View, m.LogView, r.tick
	if m.Kind == MsgBeat || m.Kind == MsgBeatAck || m.Kind == MsgPreVoteAck {
		p.head = m.Head.Op
	}
}

// hear notes a commit that a peer named: a hint where to look, never a fact about this log.
func (r *Replica) hear(from int, commit ID) {
	r.peers[from].commit = max(r.peers[from].commit, commit.Op)
	if commit.Op > r.heard.Op {
		r.heard = commit
	}
}

func (r *Replica) onHello(in *Input) {
	p := &r.peers[in.Peer]
	if p.incarnation == in.Incarnation {
		return
	}
	again := p.incarnation != Incarnation{}
	p.incarnation, p.commit, p.earliest = in.Incarnation, 0, 0
	r.lives[in.Peer] = max(r.lives[in.Peer], in.Incarnation.Boot)
	r.pull.askHolesAnew() // this life may have what others did not give
	r.lead.forget(int(in.Peer))
	r.change.forget(int(in.Peer))
	r.election.forget(int(in.Peer))
	r.wiped.forget(int(in.Peer))
	busy := r.serve[in.Peer].busy
	r.serve[in.Peer] = serving{busy: busy, stale: busy}
	if r.pull.active && r.pull.peer == int(in.Peer) {
		r.endPull("the serving node restarted")
	}
	r.leaveStaging(int(in.Peer))
	if again && int(in.Peer) == r.primary(r.view) {
		r.follow.missingNow = true // a restart ends a primacy
		r.tickElection()
	}
}

func (r *Replica) onLinkDown(in *Input) {
	r.peers[in.Peer].up = false
	if in.Refused && int(in.Peer) == r.primary(r.view) {
		r.follow.missingNow = true
		r.tickElection()
	}
	if r.pull.active && r.pull.peer == int(in.Peer) {
		r.endPull("link lost")
	}
	r.leaveStaging(int(in.Peer))
}
