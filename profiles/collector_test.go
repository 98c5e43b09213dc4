package profiles

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// fakeNode answers a profile after its window, as the admin plane does, in the bubble's time.
type fakeNode struct {
	body    []byte
	clock   func() time.Duration
	diesAt  time.Duration
	backAt  time.Duration
	silent  bool // accepts and never answers
	refuses string

	mu   sync.Mutex
	busy int // captures under way
	most int
	asks []string
}

func (n *fakeNode) RoundTrip(r *http.Request) (*http.Response, error) {
	n.mu.Lock()
	n.asks = append(n.asks, r.URL.String()+" "+r.Header.Get("Authorization"))
	n.busy++
	n.most = max(n.most, n.busy)
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		n.busy--
		n.mu.Unlock()
	}()
	down := func() bool { return n.clock() >= n.diesAt && n.clock() < n.backAt }
	if down() {
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	}
	if n.refuses != "" {
		return &http.Response{StatusCode: 409, Body: io.NopCloser(strings.NewReader(n.refuses))}, nil
	}
	if n.silent {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	wait := 2 * time.Second
	if !strings.HasSuffix(r.URL.Path, "/profile") {
		wait = 0 // a snapshot
	}
	if until := n.diesAt - n.clock(); until > 0 && until < wait {
		time.Sleep(until)
		return nil, &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	}
	pause(r.Context(), wait)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: 200, Body: io.NopCloser(bytes.NewReader(n.body))}, nil
}

// collect runs a collector of n0 against the fake for so long.
func collect(t *testing.T, n *fakeNode, runs time.Duration, role func(string) string) (Captured, string) {
	t.Helper()
	dir := t.TempDir()
	began := time.Now()
	n.clock = func() time.Duration { return time.Since(began) }
	if n.body == nil {
		pb := synthetic(CPU, stacks{"main;work": 150})
		pb.DurationNanos = 2e9
		n.body = encoded(t, pb)
	}
	c, err := NewCollector(CollectorOptions{Dir: dir, Nodes: []NodeAddress{{Name: "n0", Admin: "node:1"}}, Token: "secret", Role: role,
		NowNs: func() int64 { return int64(time.Since(began)) }})
	if err != nil {
		t.Fatal(err)
	}
	c.client.Transport = n
	ctx, cancel := context.WithTimeout(t.Context(), runs)
	defer cancel()
	if err := c.Run(ctx); err != nil {
		t.Fatal(err)
	}
	return c.Captured()[0], dir
}

func TestWindowsSurviveTheDeathOfTheirNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := &fakeNode{diesAt: 5 * time.Second, backAt: 9 * time.Second}
		got, dir := collect(t, node, 14*time.Second, func(string) string {
			if node.clock() < 9*time.Second {
				return "primary"
			}
			return "backup"
		})
		// [0,2) [2,4), the third dies at 5 s; back at 9 s (a multiple of the pause after 5 s) [9,11) [11,13), the end cuts the next.
		var from []int64
		for _, w := range got.Windows {
			from = append(from, w.FromNs/1e9)
			p, err := ReadFile(windowPath(dir, "n0", CPU, w.FromNs))
			if err != nil {
				t.Fatal(err)
			}
			m := p.Meta()
			if m.Node != "n0" || m.Kind != CPU || len(m.Windows) != 1 || m.Windows[0] != w || w.ToNs-w.FromNs != 2e9 || w.DurationNs != 2e9 {
				t.Errorf("window %+v, meta %+v", w, m)
			}
			if s := p.pb.Sample[0]; !s.HasLabel(LabelNode, "n0") || !s.HasLabel(LabelRole, w.Role) || p.Samples() != 150 {
				t.Errorf("sample %v", s)
			}
		}
		if len(from) != 4 || from[0] != 0 || from[1] != 2 || from[2] != 9 || from[3] != 11 {
			t.Errorf("windows begin at %v s", from)
		}
		if got.Windows[1].Role != "primary" || got.Windows[2].Role != "backup" {
			t.Errorf("roles: %+v", got.Windows)
		}
		if got.LostWindows() != 1 || got.Lost[0] != (Lost{FromNs: 4e9, ToNs: 5e9, Reason: errDied.Error(), Windows: 1}) {
			t.Errorf("lost: %+v", got.Lost)
		}
		if got.CutOff != 1 || got.CoveredNs() != 8e9 || node.most != 1 {
			t.Errorf("cut off %d, covered %d, %d captures at once", got.CutOff, got.CoveredNs(), node.most)
		}
		if want := "http://node:1/debug/pprof/profile?seconds=2 Bearer secret"; node.asks[0] != want {
			t.Errorf("asked %q", node.asks[0])
		}
		if files, err := os.ReadDir(dir); err != nil || len(files) != 4 {
			t.Errorf("files: %v, %v", files, err)
		}
	})
}

func TestARoleThatChangesIsMixed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := &fakeNode{}
		got, _ := collect(t, node, 5*time.Second, func(string) string {
			if node.clock() < 3*time.Second {
				return "backup"
			}
			return "primary"
		})
		if len(got.Windows) != 2 || got.Windows[0].Role != "backup" || got.Windows[1].Role != RoleMixed {
			t.Errorf("%+v", got.Windows)
		}
	})
}

func TestWhatIsLostIsTold(t *testing.T) {
	cut := encoded(t, synthetic(CPU, stacks{"main": 1}))
	cases := map[string]struct {
		node *fakeNode
		want string
	}{
		"silent":  {&fakeNode{silent: true}, "did not answer"},
		"refused": {&fakeNode{refuses: "capture_running"}, "refused with status 409: capture_running"},
		"empty":   {&fakeNode{body: []byte{}}, ErrEmpty.Error()},
		"cut":     {&fakeNode{body: cut[:len(cut)/2]}, "cut off"},
		"no cpu":  {&fakeNode{body: encoded(t, synthetic(Heap, stacks{"main": 1}))}, "asked for kind cpu, got heap"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, dir := collect(t, c.node, 30*time.Second, nil)
				if len(got.Windows) != 0 || len(got.Lost) != 1 || got.Lost[0].Windows < 2 || !strings.Contains(got.Lost[0].Reason, c.want) {
					t.Errorf("%+v", got)
				}
				if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
					t.Errorf("files: %v, %v", files, err)
				}
			})
		})
	}
}

func TestAWindowThatCannotBeWrittenEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		c, err := NewCollector(CollectorOptions{Dir: filepath.Join(t.TempDir(), "missing"), NowNs: func() int64 { return int64(time.Since(began)) },
			Nodes: []NodeAddress{{"n0", "node:1"}, {"n1", "node:2"}}})
		if err != nil {
			t.Fatal(err)
		}
		c.client.Transport = &fakeNode{clock: func() time.Duration { return time.Since(began) }, body: encoded(t, synthetic(CPU, stacks{"main": 1}))}
		if err := c.Run(t.Context()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("got %v", err)
		}
	})
}

func TestSnapshot(t *testing.T) {
	dir := t.TempDir()
	c, err := NewCollector(CollectorOptions{Dir: dir, NowNs: func() int64 { return 7 }, Nodes: []NodeAddress{{"n0", "node:1"}}})
	if err != nil {
		t.Fatal(err)
	}
	c.client.Transport = &fakeNode{clock: func() time.Duration { return 0 }, body: encoded(t, synthetic(Heap, stacks{"main": 3}))}
	path, err := c.Snapshot(t.Context(), "n0", Heap)
	if err != nil || filepath.Base(path) != "n0-heap-7.pb.gz" {
		t.Fatal(path, err)
	}
	if p, err := ReadFile(path); err != nil || p.Meta().Node != "n0" || p.Kind() != Heap {
		t.Error(p, err)
	}
	for _, wrong := range []struct {
		node string
		kind Kind
	}{{"n1", Heap}, {"n0", CPU}, {"n0", Mutex}} {
		if path, err := c.Snapshot(t.Context(), wrong.node, wrong.kind); err == nil {
			t.Errorf("%v: got %s", wrong, path)
		}
	}
}

func TestCollectorOptions(t *testing.T) {
	now := func() int64 { return 0 }
	for want, o := range map[string]CollectorOptions{
		"folder":        {NowNs: now},
		"clock":         {Dir: "."},
		"whole seconds": {Dir: ".", NowNs: now, Window: 1500 * time.Millisecond},
		"1 s to 1m0s":   {Dir: ".", NowNs: now, Window: 2 * time.Minute},
		"negative":      {Dir: ".", NowNs: now, RetryAfter: -1},
		"../x":          {Dir: ".", NowNs: now, Nodes: []NodeAddress{{Name: "../x"}}},
		"twice":         {Dir: ".", NowNs: now, Nodes: []NodeAddress{{Name: "n0"}, {Name: "n0"}}},
	} {
		if _, err := NewCollector(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q", o, err, want)
		}
	}
}
