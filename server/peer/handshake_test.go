package peer

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestHandshakeRefusesWhatDiffers(t *testing.T) {
	cases := []struct {
		name   string
		change func(*Options)
		reason Refusal
		words  string
	}{
		{"cluster", func(o *Options) { o.ClusterID++ }, RefusedCluster, "n1 and n0 belong to different clusters"},
		{"node ids", func(o *Options) { o.Nodes[0].ID = "other" }, RefusedNodes, "list different nodes"},
		{"order of nodes", func(o *Options) { o.Nodes[0].ID, o.Nodes[1].ID = "n1", "n0" }, RefusedNodes, "list different nodes"},
		{"fixed", func(o *Options) { o.FixedDigest++ }, RefusedFixed, "n1 and n0 have different topics or another limits.pipeline_ops"},
		{"secret", func(o *Options) { o.Secret = []byte("guess") }, RefusedSecret, "does not know this cluster's secret"},
		{"no secret", func(o *Options) { o.Secret = nil }, RefusedSecret, "does not know this cluster's secret"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cl := newCluster(t, 2)
			remember := func(o *Options) { o.KnownBoots = []uint64{1, 1} }
			a, b := cl.start(0, c.change, remember), cl.start(1, remember)
			a.heard.await(t, 1, "refused 1 by_peer true "+c.reason.String())
			b.heard.await(t, 1, "refused 0 by_peer false "+c.reason.String())
			eventually(t, "several tries", func() bool { return a.Stats().Peers[1].HandshakesRefused >= 5 })
			for i, n := range []*node{a, b} {
				if r := n.Refusal(1 - i); r == nil || r.Reason != c.reason || r.ByPeer != (i == 0) {
					t.Errorf("what keeps the other away is %v", r)
				}
				if lines := n.heard.all(); len(lines) != 1 {
					t.Errorf("heard %q, want the refusal once", lines)
				}
				n.heard.mu.Lock()
				told := n.heard.refused[0]
				if text := told.Error(); !strings.Contains(text, c.words) {
					t.Errorf("told %q, want %q in it", text, c.words)
				}
				if told.Format != 0 || told.KnownBoot != 0 {
					t.Errorf("a stranger's directory is %v, and it knows boot counter %d: neither may count", told.Format, told.KnownBoot)
				}
				n.heard.mu.Unlock()
			}
		})
	}
}

func TestAddressesAreNotCompared(t *testing.T) {
	c := newCluster(t, 2)
	p := newProxy(t, c.nodes[1].Dial)
	a, b := c.start(0, func(o *Options) { o.Nodes[1].Dial = p.listener.Addr().String() }), c.start(1)
	bothUp(t, a, b)
}

func TestRefusalIsToldAgainAfterTheLinkWasUp(t *testing.T) {
	c := newCluster(t, 2)
	a := c.start(0)
	other := func(o *Options) { o.FixedDigest++ }
	for life := 1; life <= 2; life++ {
		b := c.start(1, other)
		a.heard.await(t, life, "refused 1 by_peer true fixed")
		b.stop()
		b = c.start(1)
		bothUp(t, a, b)
		if r := a.Refusal(1); r != nil {
			t.Errorf("a linked node is kept away by %v", r)
		}
		b.stop()
	}
}

// A stranger may connect and name any node. It must not hide what the real one has proven.
func TestAStrangersRefusalHidesNoProvenOne(t *testing.T) {
	r := newRemote(&Network{}, 1)
	r.n.remotes = []*remote{1: r}
	proven, unproven := &RefusedError{Reason: RefusedBoot}, &RefusedError{Reason: RefusedSecret}
	r.noteRefusal(unproven)
	r.noteRefusal(proven)
	r.noteRefusal(unproven)
	if got := r.n.Refusal(1); got != proven {
		t.Errorf("%v stands", got)
	}
	r.refusedAt = r.refusedAt.Add(-2 * refusalStands)
	if got := r.n.Refusal(1); got != nil {
		t.Errorf("%v still stands", got)
	}
	r.noteRefusal(unproven)
	if got := r.n.Refusal(1); got != unproven {
		t.Errorf("%v stands", got)
	}
}

func TestRecordGoldenLayout(t *testing.T) {
	f := facts{cluster: 1, nodes: 2, fixed: 3, knownBoot: 6, format: FormatWiped, verdict: RefusedFixed}
	f.incarnation.Boot, f.incarnation.Nonce = 4, 5
	got := appendRecord(nil, recordAnswer, appendFacts(nil, &f))
	want := "524a5031" + "0100" + "04" + "00" + "38000000" +
		"0100000000000000" + "0200000000000000" + "0300000000000000" + "0400000000000000" + "0500000000000000" + "0600000000000000" +
		"04" + "07" + "000000000000"
	if hex.EncodeToString(got) != want {
		t.Errorf("record\n got %x\nwant %s", got, want)
	}
	kind, record, err := readRecord(bytes.NewReader(got))
	if err != nil || kind != recordAnswer || !slices.Equal(record, got) || parseFacts(record[recordHeadBytes:]) != f {
		t.Errorf("read %d %x, %v", kind, record, err)
	}
}

func TestReadRecordAllocatesOnlyWhatMayCome(t *testing.T) {
	huge := appendRecord(nil, recordHello, nil)
	copy(huge[8:], []byte{0xff, 0xff, 0xff, 0xff})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var refused *RefusedError
	if _, _, err := readRecord(bytes.NewReader(huge)); !errors.As(err, &refused) || refused.Reason != RefusedMalformed {
		t.Fatalf("4 GiB: %v", err)
	}
	runtime.ReadMemStats(&after)
	allocated := after.TotalAlloc - before.TotalAlloc
	if allocated > 64<<10 {
		t.Errorf("a length of 4 GiB allocates %d bytes", allocated)
	}
}

func FuzzReadRecord(f *testing.F) {
	f.Add(appendRecord(nil, recordHello, make([]byte, helloBytes)))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		kind, record, err := readRecord(bytes.NewReader(b))
		if err == nil && (len(record) > recordHeadBytes+recordBodyBytesMax || !bytes.Equal(record, b[:len(record)]) || byte(kind) != b[6]) {
			t.Fatalf("read %d %x of %x", kind, record, b)
		}
		if len(b) == 0 && !errors.Is(err, io.EOF) {
			t.Fatalf("nothing: %v", err)
		}
	})
}

func TestOptionsAreRefusedInWords(t *testing.T) {
	c := newCluster(t, 3)
	good := c.start(2)
	cases := []struct {
		words  string
		change func(*Options)
	}{
		{"refusing to listen without a cluster secret", func(o *Options) { o.Secret, o.Listen = nil, "0.0.0.0:0" }},
		{"refusing to listen without a cluster secret", func(o *Options) { o.Secret, o.Listen = nil, ":0" }},
		{"refusing to listen without a cluster secret", func(o *Options) { o.Secret, o.Listen = nil, "[::]:0" }},
		{"refusing to listen without a cluster secret", func(o *Options) { o.Secret, o.Listen = []byte{}, "example.org:1" }},
		{"is taken; another node may be running", func(o *Options) { o.Listen = good.Addr().String() }},
		{"not one of 3", func(o *Options) { o.Self = 3 }},
		{"a cluster of 0 nodes", func(o *Options) { o.Nodes = nil }},
		{"0 groups", func(o *Options) { o.Groups = 0 }},
		{"pool and a handler", func(o *Options) { o.Pool = nil }},
		{"no state of a data directory", func(o *Options) { o.Local.Format = 0 }},
		{"remembered boot counters", func(o *Options) { o.KnownBoots = []uint64{1} }},
		{"bulk at 1 bytes per second", func(o *Options) { o.BulkBytesPerSecondMax = 1 }},
	}
	for _, test := range cases {
		o := c.options(0)
		o.Pool, o.Handler = good.pool, good.heard
		test.change(&o)
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), test.words) {
			t.Errorf("%v, want %q", err, test.words)
		}
	}
	o := c.options(0)
	o.Listen = "0.0.0.0:0"
	o.Secret = nil
	o.Pool, o.Handler = good.pool, good.heard
	if _, err := New(o); !errors.Is(err, ErrExposed) {
		t.Errorf("%v is not ErrExposed", err)
	}
}
