package results

import (
	"cmp"
	"slices"
)

// TimelineOf rebuilds the timeline of a run from its events: warmup_end, load_start, load_stop, kill, wipe, restart, first_ack, caught_up,
// pause, resume (up to quiet_end). What follows a kill or a pause belongs to the last one of its node before it; a first_ack with the signal
// SIGSTOP belongs to the pause that its duration leads back to.
func TimelineOf(events []Event) Timeline {
	sorted := slices.Clone(events)
	slices.SortStableFunc(sorted, func(a, b Event) int { return cmp.Compare(a.TNs, b.TNs) })
	b := timelineBuilder{lastKill: map[string]int{}, openStop: map[string]int{}}
	for _, e := range sorted {
		b.take(e)
	}
	return b.t
}

type timelineBuilder struct {
	t Timeline
	// lastKill and openStop are indexes in t.Kills and t.Stops by node.
	lastKill map[string]int
	openStop map[string]int
	// verifying: from now on nodes are stopped to read others alone, which is no fault.
	verifying bool
}

func (b *timelineBuilder) take(e Event) {
	switch e.Kind {
	case KindWarmupEnd:
		b.t.WarmupEndNs = e.TNs
	case KindLoadStart:
		b.t.LoadStartNs = e.TNs
	case KindLoadStop:
		b.t.LoadStopNs = new(e.TNs)
	case KindKill:
		delete(b.openStop, e.Of()) // a stopped process that is killed never resumes
		b.lastKill[e.Of()] = len(b.t.Kills)
		b.t.Kills = append(b.t.Kills, Kill{Node: e.Of(), Role: e.Role, How: howEnded(e.Signal), AtNs: e.TNs})
	case KindWipe:
		if i, ok := b.lastKill[e.Of()]; ok {
			b.t.Kills[i].How = Wiped
		}
	case KindRestart:
		b.setFirst(e, func(k *Kill) **int64 { return &k.RestartNs })
	case KindFirstAck:
		b.firstAck(e)
	case KindCaughtUp:
		b.setFirst(e, func(k *Kill) **int64 { return &k.CaughtUpNs })
	case KindQuietEnd, KindVerifyBegin:
		b.verifying = true
	case KindPause:
		if _, open := b.openStop[e.Of()]; !open && !b.verifying {
			b.openStop[e.Of()] = len(b.t.Stops)
			b.t.Stops = append(b.t.Stops, Stop{Node: e.Of(), Role: e.Role, AtNs: e.TNs})
		}
	case KindResume:
		if i, open := b.openStop[e.Of()]; open {
			b.t.Stops[i].ResumeNs = new(e.TNs)
			delete(b.openStop, e.Of())
		}
	}
}

func howEnded(signal string) HowEnded {
	if signal == Restarted.Signal() {
		return Restarted
	}
	return Killed
}

// firstAck places the end of the silence after a fault. An acknowledgement between the fault and the silence is one that the ended process
// may have given.
func (b *timelineBuilder) firstAck(e Event) {
	var silentFrom *int64
	if e.SilentNs != nil {
		silentFrom = new(e.TNs - *e.SilentNs)
	}
	if e.Signal != SignalStop {
		b.setFirst(e, func(k *Kill) **int64 { return &k.FirstAckNs })
		if i, ok := b.lastKill[e.Of()]; ok && silentFrom != nil && *silentFrom > b.t.Kills[i].AtNs && *b.t.Kills[i].FirstAckNs == e.TNs {
			b.t.Kills[i].SilentFromNs = silentFrom
		}
		return
	}
	for i := range b.t.Stops {
		s := &b.t.Stops[i]
		if s.Node == e.Of() && e.DurationNs != nil && s.AtNs == e.TNs-*e.DurationNs {
			s.FirstAckNs = new(e.TNs)
			if silentFrom != nil && *silentFrom > s.AtNs {
				s.SilentFromNs = silentFrom
			}
		}
	}
}

func (b *timelineBuilder) setFirst(e Event, field func(*Kill) **int64) {
	if i, ok := b.lastKill[e.Of()]; ok {
		if at := field(&b.t.Kills[i]); *at == nil {
			*at = new(e.TNs)
		}
	}
}
