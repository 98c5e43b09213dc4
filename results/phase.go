package results

import (
	"cmp"
	"slices"
)

// Phase is a part of the run; a sample belongs to the phase of its due time.
type Phase string

const (
	Warmup  Phase = "warmup"
	Outage  Phase = "outage"
	Catchup Phase = "catchup"
	Steady  Phase = "steady"
	Quiet   Phase = "quiet" // after load stop; holds no samples
)

// Phases in the order in which tables and legends show them.
func Phases() []Phase { return []Phase{Warmup, Steady, Outage, Catchup, Quiet} }

// Kill is what a Timeline knows of one process that the run ended. All times are ns since run start; nil: did not happen (yet).
type Kill struct {
	Node string
	Role string // RolePrimary or anything else, at the moment of the kill
	How  HowEnded
	AtNs int64
	// FirstAckNs is the first acknowledgement, of any producer, that the ended process cannot have given.
	FirstAckNs *int64
	// SilentFromNs is the acknowledgement before FirstAckNs, where that came after AtNs: at a SIGTERM a node still answers what it has
	// taken. Nil: there was none.
	SilentFromNs *int64
	// RestartNs is the start of the new process, CaughtUpNs when it had caught up.
	RestartNs  *int64
	CaughtUpNs *int64
}

// Stop is what a Timeline knows of one SIGSTOP.
type Stop struct {
	Node string
	Role string // as in Kill
	AtNs int64
	// ResumeNs is the SIGCONT, nil if none came before the node was killed or the run ended.
	ResumeNs *int64
	// FirstAckNs and SilentFromNs are as in Kill.
	FirstAckNs, SilentFromNs *int64
}

// Timeline maps a time to its phase. Spans are half open, [from, to); one that never ended reaches to load stop.
//
//	warmup   before WarmupEndNs, whatever happens in it
//	outage   from a kill to the first acknowledgement after it (primary) or to the restart (any other role); from a SIGSTOP to the first
//	         acknowledgement after it (primary) or to the SIGCONT (any other role)
//	catchup  from a restart to caught up, where no outage lies
//	quiet    from LoadStopNs on
//	steady   the rest, also while a node is down and writes go on
type Timeline struct {
	WarmupEndNs int64
	// LoadStartNs is the first due time; 0, the run's start, while it is not known.
	LoadStartNs int64
	// LoadStopNs is nil while the load runs.
	LoadStopNs *int64
	Kills      []Kill
	// Stops have no catchup: a process that goes on has its memory, and nobody waits for it.
	Stops []Stop
}

// Span is a stretch of one phase; ToNs is nil for one that has no known end.
type Span struct {
	Phase  Phase
	FromNs int64
	ToNs   *int64
}

func (s Span) holds(tNs int64) bool { return tNs >= s.FromNs && (s.ToNs == nil || tNs < *s.ToNs) }

// outage is the span in which this kill keeps writes or redundancy away.
func (k Kill) outage() Span {
	if k.Role == RolePrimary {
		return Span{Outage, k.AtNs, k.FirstAckNs}
	}
	return Span{Outage, k.AtNs, k.RestartNs}
}

// outageOf is as the outage of a kill. A process that is killed before it goes on is down from then on.
func (t *Timeline) outageOf(s Stop) Span {
	if s.Role == RolePrimary && s.FirstAckNs != nil { // records of older builds have none
		return Span{Outage, s.AtNs, s.FirstAckNs}
	}
	return Span{Outage, s.AtNs, t.stopEndNs(s)}
}

// catchup is the span of the return; false if the node was not restarted.
func (k Kill) catchup() (Span, bool) {
	if k.RestartNs == nil {
		return Span{}, false
	}
	return Span{Catchup, *k.RestartNs, k.CaughtUpNs}, true
}

// PhaseAt returns the phase of a due time.
func (t *Timeline) PhaseAt(dueNs int64) Phase {
	if dueNs < t.WarmupEndNs {
		return Warmup
	}
	if t.LoadStopNs != nil && dueNs >= *t.LoadStopNs {
		return Quiet
	}
	phase := Steady
	for _, k := range t.Kills {
		if k.outage().holds(dueNs) {
			return Outage
		}
		if c, ok := k.catchup(); ok && c.holds(dueNs) {
			phase = Catchup
		}
	}
	for _, s := range t.Stops {
		if t.outageOf(s).holds(dueNs) {
			return Outage
		}
	}
	return phase
}

// Spans cuts [0, endNs) into stretches of one phase, in order of time, without gaps or overlaps.
func (t *Timeline) Spans(endNs int64) []Span {
	cuts := []int64{0, t.WarmupEndNs}
	if t.LoadStopNs != nil {
		cuts = append(cuts, *t.LoadStopNs)
	}
	for _, k := range t.Kills {
		cuts = append(cuts, k.AtNs)
		for _, at := range []*int64{k.FirstAckNs, k.RestartNs, k.CaughtUpNs} {
			if at != nil {
				cuts = append(cuts, *at)
			}
		}
	}
	for _, s := range t.Stops {
		cuts = append(cuts, s.AtNs)
		if end := t.outageOf(s).ToNs; end != nil {
			cuts = append(cuts, *end)
		}
	}
	slices.SortFunc(cuts, cmp.Compare[int64])
	var spans []Span
	for _, at := range cuts {
		if at < 0 || at >= endNs {
			continue
		}
		if p := t.PhaseAt(at); len(spans) == 0 || spans[len(spans)-1].Phase != p {
			spans = append(spans, Span{Phase: p, FromNs: at})
		}
	}
	for i := range spans {
		end := endNs
		if i+1 < len(spans) {
			end = spans[i+1].FromNs
		}
		spans[i].ToNs = &end
	}
	return spans
}
