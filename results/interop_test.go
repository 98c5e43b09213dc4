package results

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// hdrPython is the interpreter that has HdrHistogram's Python implementation; the test is skipped where none has.
func hdrPython(t *testing.T) string {
	t.Helper()
	for _, python := range []string{os.Getenv("HDR_PYTHON"), "../bin/hdr/bin/python", "python3"} {
		if python == "" {
			continue
		}
		if exec.Command(python, "-c", "import hdrh.log").Run() == nil {
			return python
		}
	}
	t.Skip("skipped: no Python has the package hdrhistogram; install it by: python3 -m venv bin/hdr && bin/hdr/bin/pip install hdrhistogram==0.10.8")
	return ""
}

// TestAnotherImplementationReadsTheLog decodes a latency.hlog by HdrHistogram's Python port and compares every tag with ours.
func TestAnotherImplementationReadsTheLog(t *testing.T) {
	python := hdrPython(t)
	random := rand.New(rand.NewPCG(1, 2))
	var samples []Sample
	var reads []Read
	phases := []Phase{Warmup, Steady, Outage, Catchup}
	const perPhase = 2000 // so that every rank is a whole number, and both round alike
	for second := range int64(2 * len(phases)) {
		for range perPhase / 2 {
			due := second*int64(time.Second) + random.Int64N(int64(time.Second))
			sent := due + int64(20_000*math.Exp(random.NormFloat64()))
			ack := sent + int64(2e6*math.Exp(random.NormFloat64()))
			samples = append(samples, Sample{DueNs: due, SentNs: sent, AckNs: ack})
			reads = append(reads, Read{DueNs: due, ReadNs: ack + int64(1e6*math.Exp(random.NormFloat64()))})
		}
	}
	phaseOf := func(due int64) Phase { return phases[due/int64(2*time.Second)] }
	var text bytes.Buffer
	start := time.Unix(1_767_000_000, 0)
	set, err := WriteLatencies(&text, start, samples, phaseOf, reads...)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "latency.hlog")
	if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(python, "testdata/hdr_decode.py", path).Output()
	if err != nil {
		t.Fatal(err, string(out))
	}
	var theirs struct {
		StartS  float64 `json:"start_s"`
		FirstMs float64 `json:"first_ms"`
		Tags    map[string]struct{ Count, P50, P99, Max int64 }
	}
	if err := json.Unmarshal(out, &theirs); err != nil {
		t.Fatal(err, string(out))
	}
	if theirs.StartS != float64(start.Unix()) || theirs.FirstMs != float64(start.UnixMilli()) {
		t.Errorf("they place the log at %v s and its first interval at %v ms, it begins at %d s", theirs.StartS, theirs.FirstMs, start.Unix())
	}
	kinds := append(LatencyKinds(), DueToRead)
	if len(theirs.Tags) != len(kinds)*len(phases) {
		t.Errorf("they find %d tags, there are %d", len(theirs.Tags), len(kinds)*len(phases))
	}
	for _, kind := range kinds {
		for _, phase := range phases {
			tag := string(kind) + "." + string(phase)
			ours, got := set.Get(kind, phase).Quantiles(), theirs.Tags[tag]
			if got.Count != ours.Count || ours.Count != perPhase {
				t.Errorf("%s: they count %d, we %d", tag, got.Count, ours.Count)
			}
			for name, pair := range map[string][2]int64{"p50": {got.P50, *ours.P50}, "p99": {got.P99, *ours.P99}, "max": {got.Max, *ours.Max}} {
				if bucket := max(float64(pair[1])/1000, 1024); math.Abs(float64(pair[0]-pair[1])) > bucket {
					t.Errorf("%s: their %s is %d ns, ours %d, a bucket is %.0f", tag, name, pair[0], pair[1], bucket)
				}
			}
		}
	}
}
