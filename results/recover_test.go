package results

import "testing"

func TestGapWithoutAck(t *testing.T) {
	const s = int64(1e9)
	steady := func(from, to, step int64) (acks []int64) {
		for at := from; at < to; at += step {
			acks = append(acks, at)
		}
		return acks
	}
	join := func(parts ...[]int64) (all []int64) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	for _, c := range []struct {
		name string
		kill Kill
		acks []int64
		want int64
	}{
		{"outage", Kill{AtNs: 10 * s, RestartNs: at(20 * s)}, join(steady(0, 10*s, s/10), steady(11*s, 60*s, s/10)), 11*s - (10*s - s/10)},
		{"no gap", Kill{AtNs: 10 * s, RestartNs: at(20 * s)}, steady(0, 60*s, s/10), s / 10},
		{"gap that began before the kill", Kill{AtNs: 10 * s, RestartNs: at(20 * s)}, join(steady(0, 9*s, s), steady(12*s, 60*s, s)), 4 * s},
		{"gap 4 s after the restart counts", Kill{AtNs: 10 * s, RestartNs: at(20 * s)}, join(steady(0, 24*s, s), steady(30*s, 60*s, s)), 7 * s},
		{"gap 6 s after the restart does not", Kill{AtNs: 10 * s, RestartNs: at(20 * s)}, join(steady(0, 27*s, s), steady(40*s, 60*s, s)), s},
		{"gap before the kill does not", Kill{AtNs: 40 * s, RestartNs: at(41 * s)}, join(steady(0, 10*s, s), steady(30*s, 60*s, s)), s},
		{"never again", Kill{AtNs: 10 * s, RestartNs: at(20 * s)}, steady(0, 10*s, s), 51 * s},
		{"never restarted", Kill{AtNs: 10 * s}, join(steady(0, 40*s, s), steady(50*s, 60*s, s)), 11 * s},
		{"no acknowledgement at all", Kill{AtNs: 10 * s, RestartNs: at(20 * s)}, nil, 60 * s},
	} {
		if got := c.kill.GapWithoutAckNs(c.acks, 60*s); got != c.want {
			t.Errorf("%s: %d ms, want %d ms", c.name, got/1e6, c.want/1e6)
		}
	}
}

func TestLongestGapSaysWhenItBegan(t *testing.T) {
	k := Kill{AtNs: 100, RestartNs: at(200)}
	if got, want := k.LongestGap([]int64{90, 120, 150, 300, 450, 470}, 500), (Gap{150, 300}); got != want {
		t.Errorf("longest gap %v, want %v: the first of two that are equally long", got, want)
	}
}

func TestGapIsOwn(t *testing.T) {
	for _, c := range []struct {
		name string
		kill KillSummary
		want bool
	}{
		{"around the kill", KillSummary{AtMs: 1000, FirstAckMs: new(300.0), GapWithoutAckMs: 310, GapAtMs: new(990.0)}, true},
		{"begins with an answer that was under way", KillSummary{AtMs: 1000, FirstAckMs: new(300.0), GapWithoutAckMs: 295, GapAtMs: new(1005.0)}, true},
		{"no acknowledgement any more", KillSummary{AtMs: 1000, GapWithoutAckMs: 9000, GapAtMs: new(990.0)}, true},
		{"after the first acknowledgement", KillSummary{AtMs: 1000, FirstAckMs: new(3.0), GapWithoutAckMs: 800, GapAtMs: new(2500.0)}, false},
		{"of an older run, unknown when", KillSummary{AtMs: 1000, FirstAckMs: new(3.0), GapWithoutAckMs: 800}, false},
	} {
		if got := c.kill.GapIsOwn(); got != c.want {
			t.Errorf("%s: own is %v", c.name, got)
		}
	}
}

func TestFirstAckAfter(t *testing.T) {
	acks := []int64{5, 10, 20}
	for kill, want := range map[int64]int64{0: 5, 5: 10, 9: 10, 10: 20} {
		if got := (Kill{AtNs: kill}).FirstAckAfterNs(acks); got == nil || *got != want {
			t.Errorf("kill at %d: %v, want %d", kill, got, want)
		}
	}
	if got := (Kill{AtNs: 20}).FirstAckAfterNs(acks); got != nil {
		t.Errorf("an acknowledgement after the last: %d", *got)
	}
}

// TestCatchupWatch polls two nodes each 20 ms; n0 commits one op a poll, n1 returns at 1 s with what it had and gains three a poll.
func TestCatchupWatch(t *testing.T) {
	const poll = int64(20e6)
	var w CatchupWatch
	caughtAt := int64(-1)
	n1 := int64(10)
	for i := int64(0); i < 200; i++ {
		now := i * poll
		if w.Add(Status{TNs: now, Node: "n0", Up: true, CommitOp: at(i)}) {
			t.Fatalf("n0 was not restarted and caught up at %d", now)
		}
		if now == 1e9 {
			w.Restarted("n1", now)
		}
		if now > 1e9 {
			n1 = min(n1+3, i)
		}
		if w.Add(Status{TNs: now + 1, Node: "n1", Up: now < 0.2e9 || now >= 1e9, CommitOp: at(n1)}) {
			if caughtAt >= 0 {
				t.Fatal("caught up twice")
			}
			caughtAt = now
		}
	}
	// At poll i n1 holds 10+3(i-50), n0 had shown i-10 ten polls before: level from i = 65 on.
	if want := 65 * poll; caughtAt != want || w.Waiting() != 0 {
		t.Errorf("caught up at %d ms, want %d ms; waiting %d", caughtAt/1e6, want/1e6, w.Waiting())
	}
	if len(w.shown[0]) > 12 {
		t.Errorf("%d commits remembered", len(w.shown[0]))
	}
}

// TestCatchupInEveryPartition: what a node has more in one partition makes up for nothing that it lacks in another.
func TestCatchupInEveryPartition(t *testing.T) {
	var w CatchupWatch
	sample := func(tNs int64, node string, commits ...int64) Status {
		sum := int64(0)
		for _, c := range commits {
			sum += c
		}
		return Status{TNs: tNs, Node: node, Up: true, CommitOp: &sum, Commits: commits}
	}
	w.Add(sample(0, "n0", 100, 100))
	w.Restarted("n1", 1e9)
	if w.Add(sample(2e9, "n1", 150, 60)) {
		t.Error("caught up with 60 of 100 in the second partition")
	}
	w.Add(sample(2.01e9, "n0", 150, 110))
	if !w.Add(sample(2.02e9, "n1", 150, 100)) { // 110 was shown 10 ms ago only
		t.Error("not caught up with all that was shown 200 ms before")
	}
}

func TestCatchupNeverAndAgain(t *testing.T) {
	var w CatchupWatch
	w.Add(Status{TNs: 0, Node: "n0", Up: true, CommitOp: at(100)})
	w.Restarted("n1", 1e9)
	for i := range int64(50) {
		if w.Add(Status{TNs: 1e9 + i*20e6, Node: "n1", Up: true, CommitOp: at(99)}) || w.Add(Status{TNs: 1e9 + i*20e6, Node: "n1"}) {
			t.Fatal("a node that stays behind caught up")
		}
	}
	w.Killed("n1")
	if w.Add(Status{TNs: 3e9, Node: "n1", Up: true, CommitOp: at(100)}) || w.Waiting() != 0 {
		t.Error("a killed node caught up")
	}
}
