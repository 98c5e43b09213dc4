package server

import (
	"strings"
	"testing"
	"time"

	"rejoin/server/peer"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// TestHealthOfALonelyNode: an empty directory waits for all others, and names those that it has not heard.
func TestHealthOfALonelyNode(t *testing.T) {
	c := newCluster(t, 3, TopicConfig{Name: "orders", Partitions: 1})
	waits := func(id int, who string) func() bool {
		return func() bool {
			h := c.health(id)
			return !h.OK && len(h.Reasons) == 1 && strings.HasSuffix(h.Reasons[0], "waiting for "+who)
		}
	}
	c.start(0)
	eventually(t, "node 0 waits for both", waits(0, "nodes 1 and 2"))
	c.start(1)
	eventually(t, "node 0 waits for one", waits(0, "node 2"))
	eventually(t, "node 1 waits for one", waits(1, "node 2"))
	c.start(2)
	c.producer("orders", 0, 1).send()
	for id := range 3 {
		eventually(t, "all is well", func() bool { h := c.health(id); return h.OK && len(h.Reasons) == 0 })
	}
}

// TestHealthSaysWhyThereIsNoPrimary: who does not answer, and that those who have lost their logs wait for each other.
func TestHealthSaysWhyThereIsNoPrimary(t *testing.T) {
	for _, test := range []struct {
		name   string
		status vsr.Status
		wiped  []int
		away   away
		want   string
	}{
		{"a quorum is gone", vsr.Status{View: 3, State: "normal", Primary: vsr.NoPrimary}, nil, away{silent: []int{1, 2}},
			"no primary in view 3 for 6 s; nodes 1 and 2 do not answer"},
		{"wiped and alone", vsr.Status{State: "wiped", Primary: vsr.NoPrimary}, nil, away{silent: []int{2}},
			"no primary in view 0 for 6 s; node 2 does not answer; this replica has lost its log, and joins a view only that a quorum of others which have kept theirs is in"},
		{"two wiped", vsr.Status{State: "wiped", Primary: vsr.NoPrimary}, []int{1}, away{},
			"no primary in view 0 for 6 s; this replica has lost its log, and joins a view only that a quorum of others which have kept theirs is in. That cannot be, for node 1 lost its log too: bring back"},
	} {
		n := &node{config: *testConfig(3, 1), formats: newFormatting(3)}
		for _, id := range test.wiped {
			n.formats.heard(id, peer.FormatWiped, 0)
		}
		g := newGroup(n, 0, n.config.Topics[0], 0)
		g.snapshot.Store(&snapshot{Status: test.status, progressMonoNs: wire.MonoNow() - (6 * time.Second).Nanoseconds()})
		if got := g.unhealthy(&test.away); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %q", test.name, got)
		}
	}
}
