package profiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"rejoin/results"
)

// samplesMinDefault is the number below which a profile says nothing: at 100 samples a function of 10 % is between 5 and 18 %.
const samplesMinDefault = 100

// PhaseOf names the phase in which the whole of [fromNs, toNs) lies; false if there is no such phase.
type PhaseOf func(fromNs, toNs int64) (results.Phase, bool)

// PhaseOfSpans is a PhaseOf by spans that follow each other, as results.Timeline.Spans gives them; beyond them there is no phase.
func PhaseOfSpans(spans []results.Span) PhaseOf {
	return func(fromNs, toNs int64) (results.Phase, bool) {
		for _, s := range spans {
			if fromNs >= s.FromNs && (s.ToNs == nil || toNs <= *s.ToNs) {
				return s.Phase, true
			}
		}
		return "", false
	}
}

// MergeOptions are those of MergeWindows.
type MergeOptions struct {
	Dir     string // the run's profiles folder
	PhaseOf PhaseOf
	// SamplesMin: with fewer a merged profile is "no data" and no file is written; 0: 100.
	SamplesMin int64
}

// Merged is what became of a node's windows in one phase.
type Merged struct {
	Node    string
	Phase   results.Phase
	Windows int
	Samples int64
	// DurationNs is how long the profiler ran: the denominator of a comparison per second.
	DurationNs int64
	// Path is the file <node>-cpu-<phase>.pb.gz; empty if there is none.
	Path string
	// NoData says why there is no file; empty if there is one.
	NoData string
}

// Refused is a window that could not be used.
type Refused struct {
	Path   string
	Reason string
}

// MergeReport is what MergeWindows did with every window: Merged, Split and Refused add up.
type MergeReport struct {
	Merged  []Merged // by node, and by phase in the order of results.Phases
	Split   int      // windows that a border of phases cuts, or outside of all
	Refused []Refused
}

// MergeWindows makes of the CPU windows in a folder one profile for each node and phase, with samples labelled by both. A window counts
// to a phase only if it lies wholly in it. Windows stay where they are; a second call gives the same files.
func MergeWindows(o MergeOptions) (MergeReport, error) {
	if o.PhaseOf == nil {
		return MergeReport{}, errors.New("merge windows: they need to know the phases")
	}
	if o.SamplesMin == 0 {
		o.SamplesMin = samplesMinDefault
	}
	paths, err := windowFiles(o.Dir)
	if err != nil {
		return MergeReport{}, err
	}
	var report MergeReport
	groups := map[[2]string]*group{}
	for _, path := range paths {
		if err := report.sort(path, o.PhaseOf, groups); err != nil {
			return report, err
		}
	}
	for _, key := range groupKeys(groups) {
		m, err := groups[key].finish(o, key[0], results.Phase(key[1]))
		if err != nil {
			return report, fmt.Errorf("node %s, phase %s: %w", key[0], key[1], err)
		}
		report.Merged = append(report.Merged, m)
	}
	return report, nil
}

// sort puts a window to its node and phase, or says why not.
func (r *MergeReport) sort(path string, phaseOf PhaseOf, groups map[[2]string]*group) error {
	p, err := ReadFile(path)
	switch {
	case err != nil:
		r.Refused = append(r.Refused, Refused{path, err.Error()})
		return nil
	case p.Kind() != CPU:
		return nil // a snapshot
	case len(p.meta.Windows) != 1 || !nodeName.MatchString(p.meta.Node):
		r.Refused = append(r.Refused, Refused{path, "it does not say of which node and which time it is"})
		return nil
	}
	w := p.meta.Windows[0]
	phase, ok := phaseOf(w.FromNs, w.ToNs)
	if !ok {
		r.Split++
		return nil
	}
	key := [2]string{p.meta.Node, string(phase)}
	if groups[key] == nil {
		groups[key] = &group{first: p}
	}
	if err := fit(groups[key].first, p); err != nil {
		r.Refused = append(r.Refused, Refused{path, err.Error()})
		return nil
	}
	p.pb.SetLabel(LabelPhase, []string{string(phase)})
	p.meta.Phase = phase
	return groups[key].add(p)
}

// pendingMax bounds the parsed windows that are held: a long run has hundreds, of half a megabyte each.
const pendingMax = 16

// group adds up the windows of a node and phase.
type group struct {
	first   *Profile   // whose kind and rates the others must have
	pending []*Profile // the first may be the sum of those before
	windows int
}

func (g *group) add(p *Profile) error {
	g.windows++
	if g.pending = append(g.pending, p); len(g.pending) < pendingMax {
		return nil
	}
	sum, err := Merge(g.pending...)
	g.pending = []*Profile{sum}
	return err
}

func (g *group) finish(o MergeOptions, node string, phase results.Phase) (Merged, error) {
	p, err := Merge(g.pending...)
	if err != nil {
		return Merged{}, err
	}
	m := Merged{Node: node, Phase: phase, Windows: g.windows, Samples: p.Samples(), DurationNs: p.DurationNs()}
	path := filepath.Join(o.Dir, fmt.Sprintf("%s-%s-%s.pb.gz", node, CPU, phase))
	if m.Samples < o.SamplesMin {
		m.NoData = fmt.Sprintf("%v: %d samples, and %d are the least that say anything", ErrNoData, m.Samples, o.SamplesMin)
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // of an earlier call with other phases
			return Merged{}, fmt.Errorf("remove what is no data now: %w", err)
		}
		return m, nil
	}
	m.Path = path
	return m, p.WriteFile(path)
}

func groupKeys(groups map[[2]string]*group) [][2]string {
	var keys [][2]string
	for key := range groups {
		keys = append(keys, key)
	}
	order := func(phase string) int { return slices.Index(results.Phases(), results.Phase(phase)) }
	slices.SortFunc(keys, func(a, b [2]string) int {
		if a[0] == b[0] && order(a[1]) != order(b[1]) {
			return order(a[1]) - order(b[1])
		}
		return slices.Compare(a[:], b[:])
	})
	return keys
}
