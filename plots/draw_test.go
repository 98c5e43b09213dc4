package plots

import (
	"bytes"
	"encoding/xml"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"rejoin/results"
)

// checkDrawn holds that all ten files are there, the SVGs are XML without broken coordinates and the PNGs decode; it returns the text of each SVG by name.
func checkDrawn(t *testing.T, dir string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, name := range Names() {
		b, err := os.ReadFile(filepath.Join(dir, name+".svg"))
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"NaN", "Inf"} { // a coordinate that a viewer cannot place
			if i := bytes.Index(b, []byte(bad)); i >= 0 {
				t.Errorf("%s.svg holds %s: %s", name, bad, b[max(i-60, 0):i+3])
			}
		}
		texts[name] = svgText(t, name, b)
		b, err = os.ReadFile(filepath.Join(dir, name+".png"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := png.Decode(bytes.NewReader(b)); err != nil {
			t.Errorf("%s.png: %v", name, err)
		}
	}
	return texts
}

// svgText parses an SVG strictly and returns its text elements, one a line.
func svgText(t *testing.T, name string, svg []byte) string {
	t.Helper()
	var text strings.Builder
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		tok, err := d.Token()
		if err == io.EOF {
			return text.String()
		}
		if err != nil {
			t.Fatalf("%s.svg is no XML: %v", name, err)
		}
		if start, ok := tok.(xml.StartElement); ok {
			switch start.Name.Local {
			case "svg", "g", "path", "text", "rect":
			default:
				t.Errorf("%s.svg holds an element %q", name, start.Name.Local)
			}
		}
		if chars, ok := tok.(xml.CharData); ok {
			text.Write(chars)
			text.WriteByte('\n')
		}
	}
}

// nastyFigures are inputs that have made drawing libraries panic, hang or write broken files.
func nastyFigures() map[string]Figures {
	nan, inf := math.NaN(), math.Inf(1)
	one := func(v float64) Figures {
		return Figures{
			EndNs: 1, Kills: []KillMark{{}}, Spans: []SpanMark{{SpanRepair, 0, 0}},
			Latency:     []LatencySeries{{Label: "p50", Steps: []LatencyStep{{0, 1, v}}}, {Label: "max", Style: StyleMax, Steps: []LatencyStep{{0, 1, v}}}},
			Percentiles: []Distribution{{Label: "steady", Count: 1, Points: []QuantilePoint{{0.5, v}}}, {Label: "outage", Count: 3}},
			Throughput:  []RatePoint{{0, v, v}},
			Lag:         []LagSeries{{Node: "n0", Points: []LagPoint{{0, v}}}, {Node: "n1"}},
			Recovery:    []Recovery{{Node: "n0", DownNs: v, Bars: []RecoveryBar{{Kind: BarRepair, DurationNs: v, Count: 2}, {Kind: BarCatchup, DurationNs: v}}}},
		}
	}
	constant := one(5)
	constant.EndNs = 10 * sec
	for i := range int64(10) {
		constant.Throughput = append(constant.Throughput, RatePoint{i * sec, 300, 300})
		constant.Latency[0].Steps = append(constant.Latency[0].Steps, LatencyStep{i * sec, (i + 1) * sec, 1e6})
		constant.Lag[0].Points = append(constant.Lag[0].Points, LagPoint{i * sec, 0})
	}
	constant.Recovery[0].DownNs, constant.Recovery[0].Bars[1].DurationNs = 1e9, 3e9
	crowded := constant
	crowded.Kills, crowded.Recovery, crowded.Downs = nil, nil, nil
	for i := range int64(300) {
		crowded.Kills = append(crowded.Kills, KillMark{AtNs: i * sec / 30, Node: "n0", Role: "primary"})
		crowded.Downs = append(crowded.Downs, DownMark{Node: results.NodeName(int(i % 12)), FromNs: i * sec / 30, ToNs: (i + 5) * sec / 30, Stopped: i%2 == 0})
		crowded.Recovery = append(crowded.Recovery, Recovery{Node: "n0", AtNs: i, DownNs: 1})
	}
	mixed := constant
	mixed.Latency = []LatencySeries{{Label: "p50", Steps: []LatencyStep{{0, sec, 0}, {sec, 2 * sec, 1e6}, {2 * sec, 3 * sec, nan}, {3 * sec, 4 * sec, inf}, {4 * sec, 5 * sec, -1}}}}
	outside := constant
	outside.Kills = []KillMark{{AtNs: -5, Node: "n0"}, {AtNs: math.MaxInt64, Node: "n1", Role: "backup"}}
	outside.Downs = []DownMark{{Node: "n0", FromNs: math.MinInt64, ToNs: math.MaxInt64}, {Node: "", FromNs: 9 * sec, ToNs: 3 * sec}, {Node: "n1", FromNs: 20 * sec, ToNs: 30 * sec}}
	outside.Spans = []SpanMark{{SpanOutage, math.MinInt64, math.MaxInt64}, {SpanRepair, 9 * sec, 3 * sec}, {SpanTransfer, 20 * sec, 30 * sec}}
	return map[string]Figures{
		"nothing": {}, "zero": one(0), "single at 1": one(1), "NaN": one(nan), "+Inf": one(inf), "-Inf": one(-inf), "negative": one(-7),
		"largest": one(math.MaxFloat64), "smallest": one(math.SmallestNonzeroFloat64),
		"constant": constant, "crowded": crowded, "mixed": mixed, "outside the axis": outside, "negative end": {EndNs: -1, Throughput: constant.Throughput},
	}
}

func TestNastyInputs(t *testing.T) {
	for name, f := range nastyFigures() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if *figuresDir != "" {
				dir = filepath.Join(*figuresDir, strings.ReplaceAll(name, " ", "-"))
			}
			if err := Draw(dir, f); err != nil {
				t.Fatal(err)
			}
			texts := checkDrawn(t, dir)
			for figure, text := range texts {
				if name == "nothing" && !strings.Contains(text, "no data") {
					t.Errorf("%s says %q, not that there is no data", figure, text)
				}
			}
			switch name {
			case "mixed":
				if !strings.Contains(texts["latency"], "below scale") {
					t.Error("a zero on the log axis is not shown as below scale")
				}
			case "crowded":
				if !strings.Contains(texts["recovery"], "first 24 of 300 kills") {
					t.Error("a cut figure does not say so")
				}
			}
		})
	}
}

func TestHostileNames(t *testing.T) {
	const evil = `</text><script>alert("x")</script>&<img onerror='y'>` + "\x00\x1b[31m\n]]>"
	f := nastyFigures()["constant"]
	f.Caption = `p99 < 5 ms & "x" ` + evil
	f.Kills = []KillMark{{AtNs: sec, Node: evil, Role: evil}}
	f.Downs = []DownMark{{Node: evil, FromNs: sec, ToNs: 2 * sec}}
	f.Latency[0].Label, f.Percentiles[0].Label, f.Lag[0].Node, f.Recovery[0].Node = evil, evil, evil, evil
	dir := t.TempDir()
	if err := Draw(dir, f); err != nil {
		t.Fatal(err)
	}
	for name, text := range checkDrawn(t, dir) { // the parser refuses any element that a figure has no use for
		if !strings.Contains(text, `p99 < 5 ms & "x"`) {
			t.Errorf("%s lost its caption: %q", name, text)
		}
	}
}

func TestOneFailureKeepsTheOthers(t *testing.T) {
	f := nastyFigures()["constant"]
	f.Latency = []LatencySeries{{Style: seriesStyles + 5, Steps: []LatencyStep{{0, sec, 1e6}}}} // a programmer's error: no such style
	dir := t.TempDir()
	err := Draw(dir, f)
	if err == nil || !strings.Contains(err.Error(), "draw latency") {
		t.Errorf("error %v, want one that names latency", err)
	}
	texts := checkDrawn(t, dir)
	if !strings.Contains(texts["latency"], "could not be drawn") || !strings.Contains(texts["throughput"], "acknowledged") {
		t.Errorf("drawn %q", texts)
	}
	if err := Draw(filepath.Join(dir, "latency.svg", "sub"), f); err == nil {
		t.Error("drew into a directory that cannot be")
	}
}

// TestConcurrentDrawingIsDeterministic is case F6: shared font caches.
func TestConcurrentDrawingIsDeterministic(t *testing.T) {
	f := nastyFigures()["constant"]
	draw := func() map[string]string {
		dir := t.TempDir()
		if err := Draw(dir, f); err != nil {
			t.Error(err)
		}
		files := map[string]string{}
		for _, name := range Names() {
			for _, ext := range []string{".svg", ".png"} {
				b, err := os.ReadFile(filepath.Join(dir, name+ext))
				if err != nil {
					t.Error(err)
				}
				files[name+ext] = string(b)
			}
		}
		return files
	}
	want := draw()
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for name, got := range draw() {
				if got != want[name] {
					t.Errorf("%s differs between two drawings", name)
				}
			}
		})
	}
	wg.Wait()
}

func TestFromRunOfAnEmptyFolder(t *testing.T) {
	f, err := FromRun(results.Folder{Dir: t.TempDir()})
	if err == nil {
		t.Error("no error about the missing files")
	}
	dir := t.TempDir()
	if err := Draw(dir, f); err != nil {
		t.Fatal(err)
	}
	checkDrawn(t, dir)
}
