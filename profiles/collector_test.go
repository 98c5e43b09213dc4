package profiles

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
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
	// snapshots are answered at once, by name.
	snapshots map[string]func() []byte

	mu    sync.Mutex
	busy  int // captures under way
	most  int
	asks  []string
	cutIt chan struct{} // of the capture under way
}

// cut ends the capture under way, as the admin plane does.
func (n *fakeNode) cut() *http.Response {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cutIt == nil {
		return &http.Response{StatusCode: 409, Body: io.NopCloser(strings.NewReader("no_capture"))}
	}
	close(n.cutIt)
	n.cutIt = nil
	return &http.Response{StatusCode: 204, Body: http.NoBody}
}

// capture waits for the end of a window.
func (n *fakeNode) capture(r *http.Request, length time.Duration) {
	n.mu.Lock()
	n.cutIt = make(chan struct{})
	cut := n.cutIt
	n.mu.Unlock()
	awaitEnd(r.Context(), cut, length)
	n.mu.Lock()
	if n.cutIt == cut {
		n.cutIt = nil
	}
	n.mu.Unlock()
	time.Sleep(100 * time.Millisecond) // what the runtime takes to say what it saw
}

func (n *fakeNode) RoundTrip(r *http.Request) (*http.Response, error) {
	down := func() bool { return n.clock() >= n.diesAt && n.clock() < n.backAt }
	if strings.HasSuffix(r.URL.Path, "/cut") && !n.silent && !down() {
		return n.cut(), nil
	}
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
	if body := n.snapshots[path.Base(r.URL.Path)]; body != nil {
		return &http.Response{StatusCode: 200, Body: io.NopCloser(bytes.NewReader(body()))}, nil
	}
	wait := 2 * time.Second
	if until := n.diesAt - n.clock(); until > 0 && until < wait {
		time.Sleep(until)
		return nil, &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	}
	n.capture(r, wait)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: 200, Body: io.NopCloser(bytes.NewReader(n.body))}, nil
}

// collect runs a collector of n0 against the fake for so long.
func collect(t *testing.T, n *fakeNode, runs time.Duration, change func(*CollectorOptions)) (Captured, string) {
	t.Helper()
	dir := t.TempDir()
	began := time.Now()
	n.clock = func() time.Duration { return time.Since(began) }
	if n.body == nil {
		pb := synthetic(CPU, stacks{"main;work": 150})
		pb.DurationNanos = 2e9
		n.body = encoded(t, pb)
	}
	o := CollectorOptions{Dir: dir, Nodes: []NodeAddress{{Name: "n0", Admin: "node:1"}}, Token: "secret",
		NowNs: func() int64 { return int64(time.Since(began)) }}
	if change != nil {
		change(&o)
	}
	c, err := NewCollector(o)
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

// windowsIn reads all windows of a folder.
func windowsIn(t *testing.T, dir string) []*Profile {
	t.Helper()
	files, err := windowFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []*Profile
	for _, f := range files {
		p, err := f.read("go1.26.8")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

func TestWindowsSurviveTheDeathOfTheirNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := &fakeNode{diesAt: 5 * time.Second, backAt: 9 * time.Second}
		got, dir := collect(t, node, 14*time.Second, func(o *CollectorOptions) {
			o.Role = func(string) string {
				if node.clock() < 9*time.Second {
					return "primary"
				}
				return "backup"
			}
		})
		// Each takes 0.1 s more to answer. [0,2) [2.1,4.1), the third dies at 5 s; back at 9 s (a multiple of the pause after 5 s)
		// [9,11) [11.1,13.1), and the end cuts [13.2,14).
		var from []int64
		for i, p := range windowsIn(t, dir) {
			w, m := got.Windows[i], p.Meta()
			from = append(from, w.FromNs/1e8)
			length := int64(2e9)
			if i == 4 {
				length = 8e8
			}
			if m.Node != "n0" || m.Kind != CPU || len(m.Windows) != 1 || m.Windows[0] != w || w.ToNs-w.FromNs != length || w.DurationNs != length {
				t.Errorf("window %+v, meta %+v", w, m)
			}
			if s := p.pb.Sample[0]; !s.HasLabel(LabelNode, "n0") || !s.HasLabel(LabelRole, w.Role) || p.Samples() != 150 {
				t.Errorf("sample %v", s)
			}
		}
		if !slices.Equal(from, []int64{0, 21, 90, 111, 132}) {
			t.Errorf("windows begin at %v tenths of a second", from)
		}
		if got.Windows[1].Role != "primary" || got.Windows[2].Role != "backup" {
			t.Errorf("roles: %+v", got.Windows)
		}
		if got.LostWindows() != 1 || got.Lost[0] != (Lost{FromNs: 42e8, ToNs: 5e9, Reason: errDied.Error(), Windows: 1}) {
			t.Errorf("lost: %+v", got.Lost)
		}
		if got.CutOff != 0 || got.CoveredNs() != 88e8 || node.most != 1 {
			t.Errorf("cut off %d, covered %d, %d captures at once", got.CutOff, got.CoveredNs(), node.most)
		}
		if want := "http://node:1/debug/pprof/profile?seconds=2 Bearer secret"; node.asks[0] != want {
			t.Errorf("asked %q", node.asks[0])
		}
	})
}

// A border ends the window under way, which is kept, and the next one begins after it.
func TestABorderCutsAWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		borders := &Borders{}
		borders.Mark() // before anything: of no concern
		go func() {
			time.Sleep(700 * time.Millisecond)
			borders.Mark()
			time.Sleep(50 * time.Millisecond) // while the first window is still being answered
			borders.Mark()
		}()
		got, _ := collect(t, &fakeNode{}, 4*time.Second, func(o *CollectorOptions) { o.Borders = borders })
		var spans [][2]int64
		for _, w := range got.Windows {
			spans = append(spans, [2]int64{w.FromNs / 1e6, w.ToNs / 1e6})
		}
		if want := [][2]int64{{0, 700}, {800, 2800}, {2900, 4000}}; !slices.Equal(spans, want) || len(got.Lost) != 0 {
			t.Errorf("windows %v, want %v; lost %v", spans, want, got.Lost)
		}
	})
}

func TestTheEndDoesNotWaitForAStoppedNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		got, _ := collect(t, &fakeNode{silent: true}, 5*time.Second, nil)
		if took := time.Since(began); took > 5*time.Second+endGrace || got.CutOff != 1 || len(got.Windows) != 0 {
			t.Errorf("ended after %v: %+v", took, got)
		}
	})
}

func TestARoleThatChangesIsMixed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := &fakeNode{}
		got, _ := collect(t, node, 4*time.Second, func(o *CollectorOptions) {
			o.Role = func(string) string {
				if node.clock() < 3*time.Second {
					return "backup"
				}
				return "primary"
			}
		})
		if len(got.Windows) != 2 || got.Windows[0].Role != "backup" || got.Windows[1].Role != RoleMixed {
			t.Errorf("%+v", got.Windows)
		}
	})
}

func TestWhatIsLostIsTold(t *testing.T) {
	cases := map[string]struct {
		node *fakeNode
		want string
	}{
		"silent":  {&fakeNode{silent: true}, "did not answer"},
		"refused": {&fakeNode{refuses: "capture_running"}, "refused with status 409: capture_running"},
		"empty":   {&fakeNode{body: []byte{}}, "answered 0 bytes"},
		"page":    {&fakeNode{body: []byte("<html>")}, "no gzipped profile"},
		"large":   {&fakeNode{body: append([]byte{0x1f, 0x8b}, make([]byte, fileBytesMax)...)}, "too large"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, dir := collect(t, c.node, 30*time.Second, nil)
				if len(got.Windows) != 0 || len(got.Lost) != 1 || got.Lost[0].Windows < 2 || !strings.Contains(got.Lost[0].Reason, c.want) {
					t.Errorf("%+v", got)
				}
				if files, err := os.ReadDir(filepath.Join(dir, windowsDir)); err != nil || len(files) != 0 {
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

// Snapshots lie at the ends of windows, and the difference of two is what happened between them, but not across a restart.
func TestSnapshotsMakeWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		counted := func() []byte { // a stack that allocates 100 bytes a second
			at := int64(time.Since(began) / time.Second)
			pb := synthetic(Heap, stacks{"main;ring": at})
			pb.Sample[0].Value = []int64{at, 100 * at, 1, 7 * at}
			return encoded(t, pb)
		}
		node := &fakeNode{snapshots: map[string]func() []byte{"heap": counted, "goroutine": func() []byte { return encoded(t, synthetic(Goroutine, stacks{"main": 9})) }}}
		got, dir := collect(t, node, 9500*time.Millisecond, func(o *CollectorOptions) { o.Snapshots = []Kind{Heap, Goroutine} })
		if len(got.Windows) != 5 || len(got.Snapshots) != 12 {
			t.Fatalf("%d windows, %d snapshots", len(got.Windows), len(got.Snapshots))
		}
		broken := func(_ string, from, to int64) bool { return from <= 5e9 && to >= 5e9 }
		merged, err := MergeWindows(MergeOptions{Dir: dir, PhaseOf: tenTwenty(), Broken: broken, SamplesMin: 1,
			Acked: func(from, to int64) (int64, int64) { return (to - from) / 1e9, (to - from) / 1e7 }})
		if err != nil || len(merged.Merged) != 3 || len(merged.Refused) != 0 {
			t.Fatalf("%+v, %v", merged, err)
		}
		for _, m := range merged.Merged {
			p, err := ReadFile(m.Path)
			if err != nil {
				t.Fatal(err)
			}
			switch m.Kind {
			case Heap: // at 0, 2, 4, 6, 8 and 9 s: the pair around 5 s is left out
				if valueOf(p, "ring", "alloc_space") != 700 || valueOf(p, "ring", "inuse_space") != 63 || m.Windows != 4 || m.AckedBatches == 0 {
					t.Errorf("heap: %+v", m)
				}
			case Goroutine:
				if m.Windows != 6 || m.Samples != 9 {
					t.Errorf("goroutine: %+v", m)
				}
			}
		}
	})
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
		"kind \"cpu\"":  {Dir: ".", NowNs: now, Snapshots: []Kind{CPU}},
	} {
		if _, err := NewCollector(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q", o, err, want)
		}
	}
}
