package results

import (
	"fmt"
	"path/filepath"
	"strings"
)

// ProfileEntry is one line of profiles/index.json: what there is of one source, kind and phase, or why there is nothing.
type ProfileEntry struct {
	Source string `json:"source"` // a node (n0, n1, …) or SourceGenerator
	// Kind is cpu, heap, mutex, block, goroutine, clock, trace or flight.
	Kind string `json:"kind"`
	// Phase is empty for what belongs to no phase: the whole life of a process, or the seconds before a moment.
	Phase Phase `json:"phase"`
	// Role is the one that the source had all the time; empty if it changed or is not known.
	Role string `json:"role"`
	// Samples is the number of samples or events; 0 for traces, which are not counted.
	Samples int64 `json:"samples"`
	// SecondsCovered is how long the profiler ran, in all windows together.
	SecondsCovered float64 `json:"seconds_covered"`
	// AckedBatches and AckedMessages were acknowledged in those windows.
	AckedBatches  int64 `json:"acked_batches"`
	AckedMessages int64 `json:"acked_messages"`
	// File and HTML are paths within the folder of profiles; null if there is none.
	File *string `json:"file"`
	HTML *string `json:"html"`
	// Note says why there is no file, or what to know about it.
	Note string `json:"note"`
}

// SourceGenerator is the source of profiles of the process that drives the load.
const SourceGenerator = "generator"

// Roles in which a profile can be compared, beside those of nodes.
const RoleGenerator = "generator"

// Profiling is what was asked of profilers and at which rates they ran: part of run.json, because a profiler costs time itself.
type Profiling struct {
	// Mode is what --profile said; "cpu windows" if it was not given, "none" if all is off.
	Mode string `json:"mode"`
	// CPUHz is samples a second and busy core; 0: no CPU profile was taken.
	CPUHz int `json:"cpu_hz"`
	// WindowNs is the longest CPU window; 0: there were none.
	WindowNs int64 `json:"window_ns"`
	// HeapBytes is how much is allocated between two samples; 0: none are taken.
	HeapBytes int64 `json:"heap_bytes"`
	// MutexFraction: one of so many contentions is sampled; BlockNs: one block of so many ns. 0: none.
	MutexFraction int   `json:"mutex_fraction"`
	BlockNs       int64 `json:"block_ns"`
	// Trace and Flight say whether an execution trace was written, and whether the nodes kept its last seconds.
	Trace  bool `json:"trace"`
	Flight bool `json:"flight"`
	// Words say the same for a person.
	Words string `json:"words"`
}

// ProfileIndex is profiles/index.json.
func (f Folder) ProfileIndex() string { return filepath.Join(f.Profiles(), "index.json") }

// WriteProfileIndex writes profiles/index.json atomically.
func (f Folder) WriteProfileIndex(entries []ProfileEntry) error {
	orEmpty(&entries)
	return WriteJSON(f.ProfileIndex(), entries)
}

// ReadProfileIndex reads profiles/index.json; fs.ErrNotExist: the run has none. It refuses entries whose files lie elsewhere.
func (f Folder) ReadProfileIndex() ([]ProfileEntry, error) {
	var entries []ProfileEntry
	if err := readJSON(f.ProfileIndex(), &entries); err != nil {
		return nil, err
	}
	for _, e := range entries {
		for _, name := range []*string{e.File, e.HTML} {
			if name != nil && (!filepath.IsLocal(*name) || strings.Contains(*name, `\`)) {
				return nil, fmt.Errorf("read %s: %q lies outside the folder of profiles", f.ProfileIndex(), *name)
			}
		}
	}
	return entries, nil
}
