package loadgen

import (
	"testing"
)

func TestLiveShowsWhatHappened(t *testing.T) {
	live := NewLive(2)
	observer := live.NewObserver()
	if p := observer.Look(); p != (Progress{}) {
		t.Errorf("before the start: %+v", p)
	}
	for i := range int64(liveLatencies + 10) {
		live.producers[0].note(Record{Outcome: OutcomeOK, DueNs: 0, DoneNs: i + 1})
	}
	live.producers[1].note(Record{Outcome: OutcomeFailed})
	live.producers[1].note(Record{Outcome: OutcomeUnknown})
	p := observer.Look()
	if p.Acked != liveLatencies+10 || p.Failed != 1 || p.Unknown != 1 || live.LastAckNs() != liveLatencies+10 {
		t.Errorf("%+v, last ack %d", p, live.LastAckNs())
	}
	// Only the latest are kept: 11 to 138.
	if *p.RecentP50Ns != 75 || *p.RecentP99Ns != 137 || *p.MaxNs != 138 {
		t.Errorf("p50 %d p99 %d max %d, want 75 137 138", *p.RecentP50Ns, *p.RecentP99Ns, *p.MaxNs)
	}
	if p := observer.Look(); p.RecentP50Ns != nil {
		t.Error("nothing happened since the last look, yet it shows a latency")
	}
}
