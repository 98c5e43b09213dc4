package report

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"rejoin/plots"
	"rejoin/plots/axis"
	"rejoin/plots/report/sample"
	"rejoin/results"
)

// written makes a sample run, writes its page and returns both.
func written(t *testing.T, o sample.Options) (results.Folder, string) {
	t.Helper()
	f, err := sample.Run(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	return f, pageOf(t, f)
}

func pageOf(t *testing.T, f results.Folder) string {
	t.Helper()
	figures, _ := plots.FromRun(f) // what is missing is what some tests are about
	if err := Write(f, figures); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(f.Report())
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestPageSaysWhatTheSummarySays(t *testing.T) {
	f, page := written(t, sample.Options{})
	s, err := f.ReadSummary()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<span id="verdict-word">pass</span>`, axis.CountText(s.OfferedBatches) + " batches offered",
		nsText(s.LatencyNs["steady"].P50), nsText(s.LatencyNs["steady"].P99), nsText(s.LatencyNs[results.Overall].Max),
		"n0 (primary), killed at 30.0 s", "never caught up", "synced on two of three replicas", "SIGKILL is not a power cut", "bench run --from " + f.Name(),
		"✓ equals offered", "! doubtful", "the machine was busy", "One machine is not three.", "no data",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// TestBatchWeightIsNamed: whoever reads a percentile must know what was counted.
func TestBatchWeightIsNamed(t *testing.T) {
	_, page := written(t, sample.Options{Seconds: 60})
	const want = "Latency from due to acknowledged, by phase of the due time. Batch weight: one batch is one sample, however many messages it holds " +
		"(here 100): a million messages are not a million samples. “–”: fewer than ten samples lie above this percentile."
	if !strings.Contains(page, want) {
		t.Errorf("the page lacks the golden text %q", want)
	}
	if !strings.Contains(page, `<th scope="col" class="number">batches</th>`) {
		t.Error("the table of percentiles does not say that it counts batches")
	}
}

// TestFewSamplesShowNoPercentile: 18,000 batches carry p99.9 and not p99.99.
func TestFewSamplesShowNoPercentile(t *testing.T) {
	cells := quantileCells("steady", results.Quantiles{P50: new(int64(1_000_000)), Max: new(int64(1_000_001)), Count: 999})
	if got := strings.Join(cells, "|"); got != "steady|1 ms|–|–|–|–|1 ms|999" {
		t.Errorf("cells %q", got)
	}
}

const hostile = `</script><script>window.hacked=1</script><img src=x onerror="window.hacked=1">'"` + "`${window.hacked=1}\u2028\u2029&lt;]]>--><!-- ; --a:1}*{display:none}"

func TestHostileNamesStayText(t *testing.T) {
	_, page := written(t, sample.Options{Name: hostile, Flame: []byte("<html><script>1</script></html>")})
	for _, bad := range []string{"<script>window", "<img", `onerror="`, "--><!--", "{display:none}*"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if n := strings.Count(page, "<script"); n != 3 { // data, script, one flame graph
		t.Errorf("%d script elements, want 3", n)
	}
	if n := strings.Count(page, "</script"); n != 3 {
		t.Errorf("%d ends of script elements, want 3", n)
	}
	_, data, _ := strings.Cut(page, `id="data">`)
	if data, _, _ = strings.Cut(data, "</script"); strings.ContainsAny(data, "\u2028\u2029<>") {
		t.Error("the data block holds what ends a line or an element")
	}
	for _, line := range regexp.MustCompile(`style="[^"]*"`).FindAllString(page, -1) {
		if strings.ContainsAny(line, "<{}*") {
			t.Fatalf("a name reached a style: %s", line)
		}
	}
	for _, class := range regexp.MustCompile(`class="[^"]*"`).FindAllString(page, -1) {
		if strings.Contains(class, "hacked") {
			t.Fatalf("a name reached a class: %s", class)
		}
	}
}

// TestDataBlockIsJSON: the block parses, and holds what the names were.
func TestDataBlockIsJSON(t *testing.T) {
	_, page := written(t, sample.Options{Name: hostile})
	_, rest, _ := strings.Cut(page, `<script type="application/json" id="data">`)
	text, _, ok := strings.Cut(rest, "</script>")
	var data pageData
	if err := json.Unmarshal([]byte(text), &data); !ok || err != nil {
		t.Fatalf("data block: %v", err)
	}
	found := false
	for _, s := range data.Stages[0].Series {
		found = found || s.Label == hostile
	}
	if !found || len(data.Stages) != 2 {
		t.Errorf("%d stages; the node with the hostile name is not among the series", len(data.Stages))
	}
}

func TestMissingPartsSayNoData(t *testing.T) {
	f, err := results.Create(t.TempDir(), "builtin", "quick", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	page := pageOf(t, f) // nothing at all is there
	for _, want := range []string{"There is no verdict", "no data: no batch was acknowledged", "no data: rates.ndjson", "no data: no node answered", "no data: the run wrote no proof.json",
		"no data: the run wrote no index of profiles", "What could not be read", "run.json"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of an empty folder does not say %q", want)
		}
	}
	for _, bad := range []string{"NaN", "Inf", "<nil>", "%!"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page of an empty folder says %q", bad)
		}
	}
}

func TestDamagedFilesAreNamed(t *testing.T) {
	f, err := sample.Run(t.TempDir(), sample.Options{Seconds: 60})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{f.SummaryFile(), f.ProofFile(), f.RunFile(), f.ProfileIndex()} {
		if err := os.WriteFile(name, []byte("{"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page := pageOf(t, f)
	_, problems, _ := strings.Cut(page, `id="problems"`)
	for _, name := range []string{"summary.json", "proof.json", "run.json", "profiles/index.json"} {
		if !strings.Contains(problems, name) {
			t.Errorf("the page does not say that %s could not be read", name)
		}
	}
	for _, bad := range []string{"summary.json is not there", "wrote no proof.json", "wrote no index of profiles", "ended before it could judge itself"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page says of a file that is damaged: %q", bad)
		}
	}
}

// TestLongRunStaysSmall: an hour at 50,000 messages a second polled each 20 ms, and one outlier that must still be seen.
func TestLongRunStaysSmall(t *testing.T) {
	f, err := sample.Run(t.TempDir(), sample.Options{Seconds: 60})
	if err != nil {
		t.Fatal(err)
	}
	const sec = int64(time.Second)
	figures := plots.Figures{EndNs: 3600 * sec}
	for i := range plots.StyleMax + 1 {
		s := plots.LatencySeries{Label: fmt.Sprint("series ", i), Style: i}
		for at := range int64(3600) {
			s.Steps = append(s.Steps, plots.LatencyStep{FromNs: at * sec, ToNs: (at + 1) * sec, LatencyNs: 1e6 + float64(at*7919%100_000)})
		}
		figures.Latency = append(figures.Latency, s)
	}
	figures.Latency[plots.StyleMax].Steps[1800].LatencyNs = 5e9
	for i := range 3 {
		l := plots.LagSeries{Node: results.NodeName(i)}
		for at := int64(0); at < 3600*sec; at += sec / 50 {
			l.Points = append(l.Points, plots.LagPoint{TNs: at, LagOps: float64(at / 20_000_000 * 31 % 17)})
		}
		figures.Lag = append(figures.Lag, l)
	}
	for at := range int64(3600) {
		figures.Throughput = append(figures.Throughput, plots.RatePoint{TNs: at * sec, OfferedPerS: 500, AckedPerS: 490 + float64(at%20)})
	}
	if err := Write(f, figures); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(f.Report())
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 5<<20 {
		t.Errorf("the page has %d bytes, at most %d are allowed", info.Size(), 5<<20)
	}
	top := 0.0
	for _, s := range latencyPanel(&figures).Series {
		for _, d := range s.Data {
			top = max(top, d[2])
		}
	}
	if top != 5e9 {
		t.Errorf("the highest latency drawn is %s, want the outlier of 5 s", axis.DurationText(top))
	}
}

func TestPolicyNamesEveryScript(t *testing.T) {
	flame := []byte("<html><script>\nfirst()\r\n</script><style>x</style><script type=\"a\">second()</script></html>")
	_, page := written(t, sample.Options{Flame: flame})
	_, rest, _ := strings.Cut(page, `http-equiv="Content-Security-Policy" content="`)
	policy, _, _ := strings.Cut(rest, `"`)
	for _, want := range []string{"default-src &#39;none&#39;", hashOf([]byte(scriptText)), hashOf([]byte("\nfirst()\n")), hashOf([]byte("second()"))} {
		want = strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(want, "&#39;", "'"), "'", "&#39;"), "+", "&#43;")
		if !strings.Contains(policy, want) {
			t.Errorf("the policy lacks %s: %s", want, policy)
		}
	}
	if strings.Contains(strings.Split(policy, "script-src")[1], "unsafe") {
		t.Errorf("the policy lets foreign scripts run: %s", policy)
	}
}

// TestFlameGraphsBeyondTheRoomAreLinks: the page stays small and says what it left out.
func TestFlameGraphsBeyondTheRoomAreLinks(t *testing.T) {
	if f, err := newFlame([]byte(strings.Repeat("<p>", 10)), "flame-0", "t", 10); f != nil || err != nil {
		t.Errorf("a flame graph larger than its room: %v, %v", f, err)
	}
	f, err := sample.Run(t.TempDir(), sample.Options{Seconds: 60, Flame: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.Profiles(), "n0-cpu-steady.html"), make([]byte, flameBytesMax+1), 0o644); err != nil {
		t.Fatal(err)
	}
	page := pageOf(t, f)
	if !strings.Contains(page, `<a href="profiles/n0-cpu-steady.html">open</a>`) || !strings.Contains(page, "are links into the folder") {
		t.Error("the page neither holds nor links the flame graph")
	}
}
