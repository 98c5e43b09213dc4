package profiles

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

// zeros is a reader of n bytes.
type zeros struct{ left int64 }

func (z *zeros) Read(b []byte) (int, error) {
	n := min(int64(len(b)), z.left)
	clear(b[:n])
	z.left -= n
	if n == 0 {
		return 0, io.EOF
	}
	return int(n), nil
}

func gzipped(t testing.TB, r io.Reader) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(w, r); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestDamagedFilesAreRefusedInWords(t *testing.T) {
	whole := encoded(t, synthetic(CPU, stacks{"main;work": 5}))
	unmapped := synthetic(CPU, stacks{"main": 1})
	unmapped.Mapping = nil // its locations point at it still
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"empty":        {nil, ErrEmpty},
		"empty gzip":   {gzipped(t, &zeros{}), ErrEmpty},
		"gzip header":  {whole[:10], ErrMalformed},
		"half":         {whole[:len(whole)/2], ErrMalformed},
		"but one byte": {whole[:len(whole)-1], ErrMalformed},
		"text":         {[]byte("heap profile: 1: 2 [3: 4] @ heapprofile\n"), ErrMalformed},
		"zeros":        {make([]byte, 1000), ErrMalformed},
		"many records": {bytes.Repeat([]byte{0x12, 0}, recordsMax+1), ErrTooLarge},
		"too long":     {make([]byte, fileBytesMax+1), ErrTooLarge},
		"unmapped":     {encoded(t, unmapped), nil},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.pb.gz")
			if err := os.WriteFile(path, c.data, 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := ReadFile(path); !errors.Is(err, c.want) || (err != nil && !strings.Contains(err.Error(), path)) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

// TestABombIsRefusedWithoutMemory counts all that was ever allocated, which needs no clock and no luck with the collector.
func TestABombIsRefusedWithoutMemory(t *testing.T) {
	bomb := gzipped(t, &zeros{left: 128 << 20})
	many := gzipped(t, bytes.NewReader(bytes.Repeat([]byte{0x12, 0}, plainBytesMax/2-1)))
	for name, data := range map[string][]byte{"128 MiB": bomb, "4 million samples": many} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Parse(data)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s of %d bytes: %v", name, len(data), err)
		}
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 32<<20 {
			t.Errorf("%s: allocated %d bytes", name, grown)
		}
	}
}

func TestDeletedIsDropped(t *testing.T) {
	pb := synthetic(CPU, stacks{"main": 1})
	pb.Mapping[0].File = "bench (deleted)"
	p := parsed(t, encoded(t, pb))
	if m := p.pb.Mapping[0]; m.File != "bench" || m.BuildID != "b1" {
		t.Errorf("mapping %+v", m)
	}
}

func TestMetaSurvivesAFile(t *testing.T) {
	pb := synthetic(Contention, stacks{"main": 1})
	pb.Comments = []string{"by somebody else", "rejoin.node=old", "rejoin.future=1", "rejoin.window=nonsense", "rejoin.window=5,4,1,0,0,x"}
	want := Meta{Node: "n1", Kind: Mutex, Phase: "steady", Go: "go1.26.8", Rate: 5, Since: true,
		Windows: []Window{{FromNs: -3, ToNs: 4, DurationNs: 6, AckedBatches: 2, AckedMessages: 200, Role: "primary"}, {FromNs: 5, ToNs: 9, Role: "a,b"}}}
	path := filepath.Join(t.TempDir(), "x.pb.gz")
	if err := newProfile(pb, want).WriteFile(path); err != nil {
		t.Fatal(err)
	}
	p, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := p.Meta()
	if len(got.Windows) != 2 || got.Windows[0] != want.Windows[0] || got.Windows[1] != want.Windows[1] {
		t.Errorf("windows %+v", got.Windows)
	}
	got.Windows, want.Windows = nil, nil
	if got.Node != want.Node || got.Kind != want.Kind || got.Phase != want.Phase || got.Go != want.Go || got.Rate != want.Rate || !got.Since {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if p.pb.Comments[0] != "by somebody else" {
		t.Errorf("comments %q", p.pb.Comments)
	}
}

func TestAKindThatTheValuesDenyIsRefused(t *testing.T) {
	pb := synthetic(CPU, stacks{"main": 1})
	pb.Comments = []string{"rejoin.kind=mutex"}
	if _, err := Parse(encoded(t, pb)); !errors.Is(err, ErrUnlike) {
		t.Errorf("got %v", err)
	}
	for _, k := range []Kind{CPU, Heap, Goroutine, Contention} {
		if got := of(t, k, stacks{"main": 1}).Kind(); got != k {
			t.Errorf("kind of %s: %s", k, got)
		}
	}
	foreign := &profile.Profile{SampleType: []*profile.ValueType{{Type: "events", Unit: "count"}}}
	if got := parsed(t, encoded(t, foreign)).Kind(); got != Unknown {
		t.Errorf("foreign: %s", got)
	}
}

func TestTotal(t *testing.T) {
	p := of(t, CPU, workload())
	if n, err := p.Total(""); err != nil || n != 400*cpuPeriodNs {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := p.Total("samples"); err != nil || n != p.Samples() {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := p.Total("delay"); !errors.Is(err, ErrUnlike) {
		t.Errorf("%d, %v", n, err)
	}
}

func TestOfRole(t *testing.T) {
	pb := synthetic(CPU, stacks{"main;a": 10, "main;b": 20})
	pb.Sample[0].Label = map[string][]string{LabelRole: {"primary"}}
	pb.Sample[1].Label = map[string][]string{LabelRole: {"backup"}}
	pb.DurationNanos = 9
	p := newProfile(pb, Meta{Kind: CPU, Windows: []Window{{FromNs: 0, ToNs: 5, DurationNs: 4, Role: "primary"}, {FromNs: 5, ToNs: 9, DurationNs: 3, Role: "backup"},
		{FromNs: 9, ToNs: 12, DurationNs: 2, Role: "primary"}}})
	got := p.OfRole("primary")
	if got.Samples() != 10 || got.DurationNs() != 6 || len(got.Meta().Windows) != 2 {
		t.Errorf("%d samples, %d ns, %+v", got.Samples(), got.DurationNs(), got.Meta())
	}
	if p.Samples() != 30 || p.DurationNs() != 9 || len(p.Meta().Windows) != 3 {
		t.Error("the whole was changed")
	}
	if none := p.OfRole("nobody"); none.Samples() != 0 || none.DurationNs() != 0 {
		t.Errorf("nobody: %d samples", none.Samples())
	}
}
