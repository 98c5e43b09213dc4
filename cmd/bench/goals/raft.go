package goals

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"rejoin/results"
	"rejoin/results/compare"
)

// RaftProgram is the program of peers/raft, in the folder peers beside bench.
const RaftProgram = "hashicorp-raft"

const needsRaft = "it needs " + RaftProgram + " in the folder peers beside bench, which make peers and make goals build"

// RaftLoad is a load of it: as many producers, each of which sends its next batch at the answer to the one before.
type RaftLoad struct {
	Producers, FrameBytes int
	Warmup, Duration      time.Duration
}

// Args start the program with that load; it makes a folder in dir, and removes it.
func (l RaftLoad) Args(dir string) []string {
	return []string{"--dir", dir, "--frame", strconv.Itoa(l.FrameBytes), "--producers", strconv.Itoa(l.Producers),
		"--warmup", l.Warmup.String(), "--duration", l.Duration.String()}
}

// Raft is what the program tells.
type Raft struct {
	Batches        int64             `json:"batches"` // acknowledged in the measured time
	Seconds        float64           `json:"seconds"`
	BatchesPerS    float64           `json:"batches_per_s"`
	Producers      int               `json:"producers"`
	FrameBytes     int               `json:"frame_bytes"`
	BatchesPerSync float64           `json:"batches_per_sync"`
	LatencyNs      results.Quantiles `json:"latency_ns"`      // p50, p99, max
	CheckedBatches int64             `json:"checked_batches"` // found on each node, those of the warm-up too
	Versions       map[string]string `json:"versions"`        // of modules, and of Go
	Settings       []RaftSetting     `json:"settings"`
}

// RaftSetting is one of the libraries' settings.
type RaftSetting struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Default string `json:"default"`
	Why     string `json:"why"`
}

// ParseRaft reads what the program printed, and refuses what is no answer to that load.
func ParseRaft(text []byte, l RaftLoad) (*Raft, error) {
	var r Raft
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("read the figures of %s: %w", RaftProgram, err)
	}
	if r.FrameBytes != l.FrameBytes || r.Producers != l.Producers || r.Seconds != l.Duration.Seconds() {
		return nil, fmt.Errorf("%s measured %d producers with frames of %d bytes for %v s, and was asked for %d with %d for %v: build it anew (make peers)",
			RaftProgram, r.Producers, r.FrameBytes, r.Seconds, l.Producers, l.FrameBytes, l.Duration)
	}
	if rate := float64(r.Batches) / r.Seconds; r.Batches < 1 || math.Abs(r.BatchesPerS-rate) > rate/1000 || r.CheckedBatches < r.Batches {
		return nil, fmt.Errorf("the figures of %s contradict each other: %d batches in %v s, %v a second, %d of them found on each node",
			RaftProgram, r.Batches, r.Seconds, r.BatchesPerS, r.CheckedBatches)
	}
	return &r, nil
}

// toRaft is the rate of a run to that of hashicorp/raft beside it; none unless their frames are of one size.
func toRaft(s Sample) []float64 {
	if s.Raft == nil || int64(s.Raft.FrameBytes) != s.Summary.FrameBytes {
		return nil
	}
	return ratio(s.Summary.BatchesPerS, s.Raft.BatchesPerS)
}

// raftText says what it was held against, or what is missing for that.
func raftText(samples []Sample) string {
	var rates []float64
	var versions []string // a resumed measurement may have several
	for _, s := range samples {
		if s.Raft == nil {
			continue
		}
		rates = append(rates, s.Raft.BatchesPerS)
		v := fmt.Sprintf("hashicorp/raft %s, raft-wal %s", s.Raft.Versions["github.com/hashicorp/raft"], s.Raft.Versions["github.com/hashicorp/raft-wal"])
		if !slices.Contains(versions, v) {
			versions = append(versions, v)
		}
	}
	if len(rates) == 0 {
		return needsRaft
	}
	return fmt.Sprintf("%s, without a client plane: %.0f batches/s (median)", strings.Join(versions, " and "), *compare.EstimateOf(rates).Median)
}
