package check

import "rejoin/server/vsr"

// Budgets in ticks of 10 ms of a cluster in which no fault is in force any more.
const (
	CatchUpTicks = 6000 // P1, P5: every connected replica is at the group's commit and in its view
	LagTicks     = 1000 // P1 with the load on: a replica has what was committed so long ago
	CommitTicks  = 1000 // P6: with a caught-up quorum and work pending commit rises
	OutageTicks  = 100  // P3: an outage ends when a replica has what was committed so long ago
	ReportTicks  = 200  // P7: a replica has, or knows that it lacks, what was committed so long ago
)

// Bounds that are no time.
const (
	RepeatsMax  = 3  // P2: times that one request is made in one state
	UselessMax  = 3  // P3: finished pulls in a row after which commit must have risen
	AttemptsMax = 4  // P3: transfers that a replica begins in one outage
	RefusalsMax = 2  // P4: refusals of one eligible offer at which the promise is broken
	ViewsMax    = 12 // P5: views that are raised within CatchUpTicks
)

// Options of the rules.
type Options struct {
	RingOps uint64                            // a replica that lags so far behind needs a transfer
	Holds   func(replica int, id vsr.ID) bool // an observer of its disk sees this op there, undamaged
	Gives   func(replica int, op uint64) bool // the same of the committed op of this number
	Start   func(replica int) uint64          // the same of its log's first op: what is below is trimmed
	Fail    Fail
}

// Liveness holds P1 to P7. Until Judge nothing fails.
type Liveness struct {
	Options
	judging bool
	cluster Cluster
	ticks   uint64 // since Judge

	commits  [ReportTicks]uint64     // the group's commit of the last ticks, by tick
	since    uint64                  // tick since which a primary has led a caught-up quorum
	joined   [vsr.ReplicasMax]uint64 // tick since which a replica has been connected
	stood    uint64                  // ticks for which commit has not risen though it must
	view     uint64                  // highest view seen
	views    uint64                  // raised since Judge
	goal     uint64                  // the group's commit when Judge was called
	requests [vsr.ReplicasMax]requests
	pulls    [vsr.ReplicasMax]pulls
}

// NewLiveness makes the rules for one cluster.
func NewLiveness(o Options) *Liveness { return &Liveness{Options: o} }

// Judge begins to hold the promises: from now on no fault is in force. The counts of before are
// forgotten.
func (l *Liveness) Judge(c Cluster) {
	*l = Liveness{Options: l.Options, judging: true, cluster: c, goal: c.Commit}
	for i := range c.Nodes {
		l.view = max(l.view, c.Nodes[i].Status.View)
	}
}

// Judging tells whether the promises are held at present.
func (l *Liveness) Judging() bool { return l.judging }

// Pause stops holding them: faults are in force again.
func (l *Liveness) Pause() { l.judging = false }

// Joined forgets what a former life of a replica did.
func (l *Liveness) Joined(replica int) {
	l.requests[replica], l.pulls[replica] = requests{}, pulls{}
}

// Tick holds what must be true at each tick.
func (l *Liveness) Tick(c Cluster) {
	if !l.judging {
		return
	}
	risen := c.Commit > l.cluster.Commit
	l.cluster = c
	l.commits[l.ticks%ReportTicks] = c.Commit
	l.ticks++
	l.tickViews()
	l.tickCommit(risen)
	l.tickReports()
	for i := range c.Nodes {
		l.pulls[i].tick(l, i)
	}
}

// tickViews holds the second half of P5: the view rate is bounded.
func (l *Liveness) tickViews() {
	for i := range l.cluster.Nodes {
		n := &l.cluster.Nodes[i]
		if !n.Up || n.Status.View <= l.view {
			continue
		}
		l.view = n.Status.View
		l.views++
		if l.views > ViewsMax*(1+l.ticks/CatchUpTicks) {
			l.Fail("P5", "%d views were raised in %d ticks without a fault; replica %d is at view %d now", l.views, l.ticks, i, n.Status.View)
		}
	}
}

// tickCommit holds P6.
func (l *Liveness) tickCommit(risen bool) {
	if risen || !l.cluster.Work || !l.cluster.caughtUpQuorum() {
		l.stood = 0
		return
	}
	if l.stood++; l.stood > CommitTicks {
		l.Fail("P6", "commit has stood at op %d for %d ticks, with work pending and a connected quorum that is caught up", l.cluster.Commit, l.stood)
	}
}

// tickReports holds P7 for what replicas say of themselves.
func (l *Liveness) tickReports() {
	if !l.cluster.led() || !l.cluster.caughtUpQuorum() {
		l.since = l.ticks
	}
	before := l.commitBefore(ReportTicks - 1)
	for i := range l.cluster.Nodes {
		s := &l.cluster.Nodes[i].Status
		if !l.cluster.connected(i) {
			l.joined[i] = l.ticks
		}
		if l.ticks-max(l.since, l.joined[i]) >= ReportTicks && max(s.Commit.Op, s.KnownCommit) < before {
			l.Fail("P7", "replica %d says that op %d is the last committed; op %d was committed %d ticks ago", i, max(s.Commit.Op, s.KnownCommit), before, ReportTicks)
		}
	}
}

// commitBefore is the group's commit so many ticks ago; fewer than ReportTicks are known.
func (l *Liveness) commitBefore(ticks uint64) uint64 {
	if ticks >= l.ticks {
		return l.goal
	}
	return l.commits[(l.ticks-1-ticks)%ReportTicks]
}

// Served holds the other half of P7: what a replica calls committed it gives to a reader. The error is
// nil when it did.
func (l *Liveness) Served(replica int, op uint64, err error) {
	s := &l.cluster.Nodes[replica].Status
	if err != nil && l.judging && l.cluster.connected(replica) && s.Holes == 0 {
		l.Fail("P7", "replica %d has op %d committed and does not serve it: %v", replica, op, err)
	}
}

// CaughtUp tells whether every connected replica has what was committed when Judge was called, and no
// longer lags behind than LagTicks. That is P1 with the load on.
func (l *Liveness) CaughtUp() bool {
	for i := range l.cluster.Nodes {
		if l.cluster.connected(i) && l.cluster.Nodes[i].Status.Commit.Op < l.goal {
			return false
		}
	}
	return true
}

// AtRest tells whether nothing is left to do: every connected replica is in one view, whose log it
// holds, and has the group's commit, and nobody waits.
func (l *Liveness) AtRest() bool {
	_, why := l.verdict()
	return why == ""
}

// Overdue fails with the promise that keeps a cluster from rest after its budget.
func (l *Liveness) Overdue(stand string) {
	if property, why := l.verdict(); why != "" {
		l.Fail(property, "%d ticks after the faults stopped %s%s", l.ticks, why, stand)
	}
}

// verdict names the promise that is not kept at this moment, and why.
func (l *Liveness) verdict() (property, why string) {
	c := &l.cluster
	first := -1
	for i := range c.Nodes {
		s := &c.Nodes[i].Status
		switch {
		case !c.connected(i):
			continue
		case s.View != s.LogView:
			return "P5", "a replica is not in its view"
		case first >= 0 && c.Nodes[first].Status.View != s.View:
			return "P5", "the views of connected replicas differ"
		}
		if first < 0 {
			first = i
		}
	}
	for i := range c.Nodes {
		s := &c.Nodes[i].Status
		if c.connected(i) && (s.State != "normal" || s.Commit.Op != c.Commit || s.Holes > 0) {
			return "P1", "a connected replica has not reached the group's commit"
		}
	}
	for i := range c.Nodes {
		s := &c.Nodes[i].Status
		if c.connected(i) && s.Commit != s.Head || c.Work {
			return "P6", "work is pending"
		}
	}
	return "", ""
}
