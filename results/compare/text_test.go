package compare

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "write the golden text anew")

func TestText(t *testing.T) {
	g := newSynthetic(30)
	o := Options{Paired: true, LabelA: "v1", LabelB: "work"}
	for i := range 8 {
		a, b := g.run("A", 1, 0.02), g.run("B", 1.15, 0.02)
		if i == 0 {
			b.Run.Found.Dirty = true
		}
		g.kill(&a, 400, 9000)
		g.kill(&b, 390, 12000)
		o.A, o.B = append(o.A, a), append(o.B, b)
	}
	bound, err := ParseBound("steady.p99>+10%")
	if err != nil {
		t.Fatal(err)
	}
	o.Bounds = []Bound{bound}
	c := mustCompare(t, o)
	var text bytes.Buffer
	if err := c.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > columnsMax {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	golden(t, "testdata/comparison.txt", text.Bytes())

	if b, err := json.Marshal(c); err != nil || !json.Valid(b) {
		t.Errorf("as JSON: %v", err)
	}
	r, err := Repeat(o.A, 0, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	text.Reset()
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/repetition.txt", text.Bytes())
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s differs (%v); go test ./results/compare -update writes it anew after a look at\n%s", path, err, got)
	}
}

func TestUnits(t *testing.T) {
	for want, got := range map[string]string{
		"860 ns": Nanoseconds.text(860), "0.86 ms": Nanoseconds.text(860_000), "1.25 s": Nanoseconds.text(1.25e9), "412 ms": Nanoseconds.text(412e6),
		"12.3 ms": Nanoseconds.text(12.3e6), "19.8 µs": NsPerMessage.text(19_800), "364 B": BytesPerMessage.text(364), "50.0 MiB": Bytes.text(50 << 20),
		"99.90 %": Share.text(0.999), "300.0 /s": BatchesPerSecond.text(300), "3": Count.text(3),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
