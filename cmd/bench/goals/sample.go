package goals

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"rejoin/results"
	"rejoin/results/compare"
)

// Sample is one run of a series, with what was measured beside it.
type Sample struct {
	Series     string                 `json:"series"`
	Number     int                    `json:"number"` // from 1
	At         time.Time              `json:"at"`
	Build      Build                  `json:"build"`
	ShapeFirst bool                   `json:"shape_first"`
	Run        string                 `json:"run"` // its folder
	Summary    results.Summary        `json:"summary"`
	Against    *results.Summary       `json:"against"` // of the scenario beside it
	Lateness   results.LatenessProof  `json:"lateness"`
	BusyShare  *float64               `json:"busy_share"` // of all cores, during the load
	Shape      *results.ShapeLimit    `json:"shape"`
	Disk       *results.DiskLimit     `json:"disk"`
	Loopback   *results.LoopbackLimit `json:"loopback"`
	Raft       *Raft                  `json:"raft,omitempty"`

	// Of a series with windows: the log's length that was asked for, the load's start since the run's, and the latency from due, of which
	// WindowQuantiles are kept, in windows since the run's start.
	LogBytes  int64            `json:"log_bytes,omitempty"`
	LoadStart time.Duration    `json:"load_start_ns,omitempty"`
	Windows   []results.Window `json:"windows,omitempty"`
}

// runs are those that were made for the sample.
func (s Sample) runs() []results.Summary {
	if s.Against == nil {
		return []results.Summary{s.Summary}
	}
	return []results.Summary{s.Summary, *s.Against}
}

// noEvidence says why no figure of the sample is one: a run that was made for it proves nothing. It is empty for one that counts.
func (s Sample) noEvidence() string {
	for _, run := range s.runs() {
		if why := (compare.Run{Summary: run}).NoEvidence(); why != "" {
			return why
		}
	}
	return ""
}

// Evidence are the samples that count. leftOut says how many others there are, why the first is none, and what --again has to name; it is empty
// where all count.
func Evidence(samples []Sample, again string) (counted []Sample, leftOut string) {
	first := ""
	for _, s := range samples {
		if why := s.noEvidence(); why == "" {
			counted = append(counted, s)
		} else {
			first = cmp.Or(first, why)
		}
	}
	if n := len(samples) - len(counted); n > 0 {
		leftOut = fmt.Sprintf("%d of %d samples do not count, the first of them %s; --again %s measures anew", n, len(samples), first, again)
	}
	return counted, leftOut
}

// Folder keeps samples, one file each.
type Folder struct{ Dir string }

func (f Folder) path(series string, number int) string {
	return filepath.Join(f.Dir, fmt.Sprintf("%s-%02d.json", series, number))
}

// Write keeps a sample.
func (f Folder) Write(s Sample) error { return results.WriteJSON(f.path(s.Series, s.Number), s) }

// Forget removes the samples of a series.
func (f Folder) Forget(series string) error {
	files, err := filepath.Glob(f.path(series, 0)[:len(f.path(series, 0))-len("00.json")] + "[0-9][0-9].json")
	for _, file := range files {
		err = errors.Join(err, os.Remove(file))
	}
	return err
}

// Has says whether a sample is there.
func (f Folder) Has(series string, number int) bool {
	_, err := os.Stat(f.path(series, number))
	return err == nil
}

const samplesMax = 99

// Read returns the samples of a series in order.
func (f Folder) Read(series string) (all []Sample, err error) {
	for n := 1; n <= samplesMax; n++ {
		text, err := os.ReadFile(f.path(series, n))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var s Sample
		if err == nil {
			err = json.Unmarshal(text, &s)
		}
		if err != nil {
			return nil, fmt.Errorf("read sample %d of %s: %w; remove the file to measure it again", n, series, err)
		}
		all = append(all, s)
	}
	return all, nil
}
