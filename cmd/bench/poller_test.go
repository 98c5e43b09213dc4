package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"

	"rejoin/loadgen"
	"rejoin/results"
	"rejoin/server/api"
	"rejoin/server/wire"
)

// nodeAt serves a status as a node would.
func nodeAt(t *testing.T, answer func() api.ClusterStatus) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/cluster" || r.Header.Get("Authorization") != "Bearer word" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_ = json.NewEncoder(w).Encode(answer())
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func newTestPoller(t *testing.T, addresses ...string) (*poller, results.Folder) {
	t.Helper()
	folder := results.Folder{Dir: t.TempDir()}
	record, err := newRecorder(folder)
	if err != nil {
		t.Fatal(err)
	}
	record.setBase(1)
	status, err := folder.AppendStatus()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		record.close()
		status.Close()
	})
	return newPoller(status, record, len(addresses), newClusterAsker(addresses, "word")), folder
}

func TestPollerAsks(t *testing.T) {
	answer := api.ClusterStatus{Node: 0, Nodes: []api.NodeStatus{
		{Node: 1, Partitions: []api.Status{{Commit: 999}}}, // what it heard of another
		{Node: 0, Partitions: []api.Status{
			{Role: api.RolePrimary, State: api.StateNormal, View: 4, Head: 12, Commit: 10, KnownCommit: 11},
			{Role: api.RoleBackup, State: api.StateRepairing, View: 9, Head: 7, Commit: 5, KnownCommit: 6},
		}},
	}}
	p, _ := newTestPoller(t, nodeAt(t, func() api.ClusterStatus { return answer }))
	s := p.ask(t.Context(), p.nodes[0])
	if !s.Up || s.Node != "n0" || s.Role != results.RolePrimary || *s.View != 4 || *s.HeadOp != 19 || *s.CommitOp != 15 || *s.KnownCommit != 17 {
		t.Errorf("sample %+v", s)
	}
	answer.Node = 1
	if p.ask(t.Context(), p.nodes[0]).Up {
		t.Error("another node's answer was taken")
	}
	answer.Node = 0
	if !p.ask(t.Context(), p.nodes[0]).Up {
		t.Error("its own answer was not taken")
	}
	wrong := p.asker.(clusterAsker)
	wrong.token = "wrong"
	p.asker = wrong
	if p.ask(t.Context(), p.nodes[0]).Up {
		t.Error("a refusal was taken for an answer")
	}
}

// TestPollerFollowsARestart feeds samples by hand: first answer, role and caught up are noted once each, and only for the new process.
func TestPollerFollowsARestart(t *testing.T) {
	p, folder := newTestPoller(t, "a", "b")
	const ms = int64(1e6)
	sample := func(node int, commit int64, role string) results.Status {
		return results.Status{Node: results.NodeName(node), Up: true, Role: role, View: new(int64(1)), CommitOp: &commit, HeadOp: &commit}
	}
	p.watch(0, 10, 0, false)
	p.watch(1, 11, 0, false)
	for i := range int64(50) {
		p.take(p.nodes[0], sample(0, 100+i, results.RolePrimary), i*20*ms)
	}
	p.gone(1, 11)
	p.watch(1, 12, 1000*ms, true)
	p.gone(1, 11) // the old process's end may be seen late
	p.take(p.nodes[1], sample(1, 20, "none"), 1100*ms)
	if got := p.catchingUp(); len(got) != 1 || got[0] != "n1" {
		t.Errorf("catching up: %v", got)
	}
	p.take(p.nodes[1], sample(1, 90, results.RoleBackup), 1200*ms)
	p.take(p.nodes[1], sample(1, 149, results.RoleBackup), 1300*ms)
	p.take(p.nodes[1], sample(1, 150, results.RoleBackup), 1400*ms)
	if got := p.catchingUp(); len(got) != 0 {
		t.Errorf("still catching up: %v", got)
	}
	events, err := folder.ReadEvents()
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, e := range events {
		kinds = append(kinds, string(e.Kind))
		if e.Kind == results.KindCaughtUp && *e.DurationNs != 300*ms {
			t.Errorf("caught up %d ms after the start", *e.DurationNs/ms)
		}
	}
	if got := strings.Join(kinds, " "); got != "first_answer role_known caught_up" {
		t.Errorf("events: %s", got)
	}
}

// TestLagIsBehindWhatWasShownBefore: what another node shows after a node was asked is no lag of it, so the primary has none; what was shown before is.
func TestLagIsBehindWhatWasShownBefore(t *testing.T) {
	p, _ := newTestPoller(t, "a", "b")
	answer := func(node int, up bool, commit int64) {
		p.take(p.nodes[node], results.Status{Node: results.NodeName(node), Up: up, CommitOp: &commit}, 0)
	}
	p.asking(p.nodes[0])
	p.asking(p.nodes[1])
	answer(1, true, 9)
	answer(0, true, 1)
	for node, want := range []int64{0, 0} {
		if got := p.lagOf(node); got == nil || *got != want {
			t.Errorf("n%d, asked before anybody had shown anything, lags by %v", node, got)
		}
	}
	p.asking(p.nodes[0])
	answer(1, true, 30) // while n0 is being asked
	answer(0, true, 5)
	if got := p.lagOf(0); got == nil || *got != 4 {
		t.Errorf("n0 lags by %v, want 4: 9 ops had been shown when it was asked", got)
	}
	answer(0, false, 5)
	if got := p.lagOf(0); got != nil {
		t.Errorf("n0 gave no answer and lags by %d", *got)
	}
	answer(1, true, 30)
	p.watch(1, 10, 0, false)
	if got := p.lagOf(1); got != nil {
		t.Errorf("a new process lags by %d before it has answered", *got)
	}
}

// TestReadableCountsFromALateRestart: a node that comes back after load stop cannot have held everything before.
func TestReadableCountsFromALateRestart(t *testing.T) {
	folder := results.Folder{Dir: t.TempDir()}
	status, err := folder.AppendStatus()
	if err != nil {
		t.Fatal(err)
	}
	const ms = int64(1e6)
	for _, at := range []int64{900, 1050, 1700, 2400} {
		for node, commit := range map[string]int64{"n0": 77, "n1": (at - 1000) / 18} { // n1 reaches 77 at 2400
			if err := status.Write(results.Status{TNs: at * ms, Node: node, Up: true, View: new(int64(1)), CommitOp: &commit}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := status.Close(); err != nil {
		t.Fatal(err)
	}
	r := &session{folder: folder, quietEndNs: 3000 * ms, outcome: loadgen.RunOutcome{StopNs: 1000 * ms}, finalStatus: []results.Status{{CommitOp: new(int64(77))}}}
	facts, err := r.readStatus(results.Timeline{Kills: []results.Kill{{Node: "n1", AtNs: 500 * ms, RestartNs: new(1600 * ms)}, {Node: "n0", AtNs: 100 * ms, RestartNs: new(200 * ms)}}})
	if err != nil {
		t.Fatal(err)
	}
	for node, want := range map[string]float64{"n0": 50, "n1": 800} {
		if got := facts.readableMs[node]; got == nil || *got != want {
			t.Errorf("%s was readable after %s, want %.0f ms", node, msText(got), want)
		}
	}
}

func TestRssAnonOf(t *testing.T) {
	if v := rssAnonOf(os.Getpid()); v == nil || *v < 1<<20 {
		t.Errorf("own anonymous memory is %v", v)
	}
	if v := rssAnonOf(0); v != nil {
		t.Errorf("of no process: %d", *v)
	}
}

func TestRecorderHoldsBackUntilTimeZeroIsKnown(t *testing.T) {
	folder := results.Folder{Dir: t.TempDir()}
	r, err := newRecorder(folder)
	if err != nil {
		t.Fatal(err)
	}
	r.write(results.Event{TMonoNs: 700, Kind: results.KindRestart})
	r.setBase(1000)
	r.write(results.Event{TMonoNs: 1500, Kind: results.KindKill})
	if err := r.close(); err != nil {
		t.Fatal(err)
	}
	events, err := folder.ReadEvents()
	if err != nil || len(events) != 2 || events[0].TNs != -300 || events[1].TNs != 500 || events[0].Source != results.SourceHarness {
		t.Errorf("events %+v, error %v", events, err)
	}
}

// TestPollerTellsWhenItAsked: an answer that comes after a moment may have been given before it. What was asked before does not count.
func TestPollerTellsWhenItAsked(t *testing.T) {
	p, _ := newTestPoller(t, "a", "b")
	ask := func(node int) { p.asking(p.nodes[node]) }
	take := func(node int) { p.take(p.nodes[node], results.Status{Node: results.NodeName(node), Up: true}, 0) }
	ask(0)
	ask(1)
	moment := wire.MonoNow() + 1
	take(0)
	take(1)
	if p.askedSince(moment) {
		t.Error("both were asked before that moment")
	}
	for wire.MonoNow() < moment {
		runtime.Gosched()
	}
	ask(0)
	take(0)
	ask(1)
	if p.askedSince(moment) {
		t.Error("one is being asked, and has not answered")
	}
	take(1)
	if !p.askedSince(moment) {
		t.Error("both were asked since")
	}
}
