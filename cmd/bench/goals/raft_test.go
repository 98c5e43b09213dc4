package goals

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"rejoin/results"
)

// raftFigures are what the program prints, after a change of one word.
func raftFigures(old, changed string) []byte {
	const text = `{"batches": 20000, "seconds": 10, "batches_per_s": 2000, "nodes": 3, "producers": 12, "frame_bytes": 26928, "batches_per_sync": 4.5,
		"latency_ns": {"p50": 5000000, "p99": 9000000, "max": 30000000}, "checked_batches": 24000, "leader": "n1", "term": 2,
		"settings": [{"name": "Config.BatchApplyCh", "value": "true", "default": "false", "why": "one sync for several"}],
		"versions": {"github.com/hashicorp/raft": "v1.7.3", "github.com/hashicorp/raft-wal": "v0.4.0", "go": "go1.26"}}`
	return []byte(strings.Replace(text, old, changed, 1))
}

var raftLoad = RaftLoad{Producers: 12, FrameBytes: 26_928, Warmup: time.Second, Duration: 10 * time.Second}

// TestParseRaft: figures of another load, and such as contradict each other, are none.
func TestParseRaft(t *testing.T) {
	r, err := ParseRaft(raftFigures("", ""), raftLoad)
	if err != nil || r.BatchesPerS != 2000 || *r.LatencyNs.P99 != 9e6 || r.Settings[0].Name != "Config.BatchApplyCh" || r.Versions["go"] != "go1.26" {
		t.Fatalf("%+v, error %v", r, err)
	}
	for _, change := range [][2]string{{`"frame_bytes": 26928`, `"frame_bytes": 26929`}, {`"producers": 12`, `"producers": 1`}, {`"seconds": 10`, `"seconds": 5`},
		{`"batches": 20000`, `"batches": 0`}, {`"batches_per_s": 2000`, `"batches_per_s": 2200`}, {`"checked_batches": 24000`, `"checked_batches": 19999`}, {`{`, ``}} {
		if r, err := ParseRaft(raftFigures(change[0], change[1]), raftLoad); err == nil {
			t.Errorf("%s: %+v", change[1], r)
		}
	}
}

// TestJudgeRaft: our rate to that of hashicorp/raft beside it, of samples as they come back from their files; what has frames of another size is
// not compared.
func TestJudgeRaft(t *testing.T) {
	row := rowNamed(t, "saturated batches/s to hashicorp/raft")
	if o := Judge(row, nil); o.Status != NoData || !strings.Contains(o.Why, "make peers") {
		t.Errorf("%+v", o)
	}
	var samples []Sample
	for i, rate := range []float64{5000, 7000, 6000} {
		r, err := ParseRaft(raftFigures("", ""), raftLoad)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(Sample{Series: SeriesRaft, Number: i + 1, Raft: r, Summary: results.Summary{Verdict: results.Pass, BatchesPerS: rate, FrameBytes: 26_928}})
		var s Sample
		if err == nil {
			err = json.Unmarshal(text, &s)
		}
		if err != nil {
			t.Fatal(err)
		}
		samples = append(samples, s)
	}
	if o := Judge(row, samples); o.Status != Met || *o.Value != 3 || o.N != 3 || o.Why != "hashicorp/raft v1.7.3, raft-wal v0.4.0, without a client plane: 2000 batches/s (median)" {
		t.Errorf("%+v", o)
	}
	if o := Judge(row, samples[:1]); o.Status != FloorHeld || *o.Value != 2.5 {
		t.Errorf("%+v", o)
	}
	samples[0].Summary.FrameBytes++
	if o := Judge(row, samples[:1]); o.Status != NoData || !strings.Contains(o.Why, "1 runs of series raft tell nothing of it") {
		t.Errorf("%+v", o)
	}
}
