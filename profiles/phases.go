package profiles

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"rejoin/results"
)

// samplesMinDefault is the number below which a profile says nothing: at 100 samples a function of 10 % is between 5 and 18 %.
const samplesMinDefault = 100

// PhaseOf names the phase to which [fromNs, toNs) counts; false if there is no such phase.
type PhaseOf func(fromNs, toNs int64) (results.Phase, bool)

// insideMin is the part of a window that must lie in a phase, in tenths. A border is seen a moment after it was, and a window that was cut
// there reaches as far across it.
const insideMin = 9

// PhaseOfSpans is a PhaseOf by spans that follow each other, as results.Timeline.Spans gives them: a window counts to the phase in which at
// least nine tenths of it lie. Beyond the spans there is no phase.
func PhaseOfSpans(spans []results.Span) PhaseOf {
	return func(fromNs, toNs int64) (results.Phase, bool) {
		for _, s := range spans {
			if fromNs == toNs && fromNs >= s.FromNs && (s.ToNs == nil || fromNs < *s.ToNs) {
				return s.Phase, true
			}
			end := toNs
			if s.ToNs != nil {
				end = min(end, *s.ToNs)
			}
			if inside := end - max(fromNs, s.FromNs); inside > 0 && inside >= (toNs-fromNs)/10*insideMin {
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
	// Acked counts what was acknowledged in [fromNs, toNs); nil: nobody knows, and nothing can be compared per message.
	Acked func(fromNs, toNs int64) (batches, messages int64)
	// Broken tells whether a process of the node ended or began in [fromNs, toNs]: two snapshots are then not of one process. nil: none did.
	Broken func(node string, fromNs, toNs int64) bool
	// SamplesMin: with fewer a merged profile is "no data" and no file is written; 0: 100.
	SamplesMin int64
	// Go is the version that built the processes; empty: this process's, since nodes are the same binary.
	Go string
}

// Merged is what became of a source's windows of one kind in one phase.
type Merged struct {
	Node    string
	Kind    Kind
	Phase   results.Phase
	Role    string // the one that all windows have; "" if they differ
	Windows int
	Samples int64
	// DurationNs is how long the profiler ran: the denominator of a comparison per second.
	DurationNs int64
	// AckedBatches and AckedMessages were acknowledged meanwhile: the denominator of a comparison per message.
	AckedBatches, AckedMessages int64
	// Path is the file <node>-<kind>-<phase>.pb.gz; empty if there is none.
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
	Merged  []Merged // by node and kind, and by phase in the order of results.Phases
	Split   int      // windows that a border of phases cuts, or outside of all
	Refused []Refused
}

// MergeWindows makes of the windows of a run one profile for each source, kind and phase, with samples labelled by source, role and phase.
// Of snapshots it takes the difference of each two that follow each other; of goroutines, which are a level, the last of the phase. Windows
// stay where they are; a second call gives the same files.
func MergeWindows(o MergeOptions) (MergeReport, error) {
	if o.PhaseOf == nil {
		return MergeReport{}, errors.New("merge windows: they need to know the phases")
	}
	if o.SamplesMin == 0 {
		o.SamplesMin = samplesMinDefault
	}
	if o.Go == "" {
		o.Go = runtime.Version()
	}
	files, err := windowFiles(o.Dir)
	if err != nil {
		return MergeReport{}, err
	}
	m := merger{options: o, groups: map[groupKey]*group{}}
	for _, file := range files {
		if err := m.sort(file); err != nil {
			return m.report, err
		}
	}
	for _, key := range groupKeys(m.groups) {
		merged, err := m.groups[key].finish(o, key)
		if err != nil {
			return m.report, fmt.Errorf("%s of %s, phase %s: %w", key.kind, key.source, key.phase, err)
		}
		m.report.Merged = append(m.report.Merged, merged)
	}
	return m.report, nil
}

// merger sorts windows into groups.
type merger struct {
	options  MergeOptions
	report   MergeReport
	groups   map[groupKey]*group
	snapshot *Profile // the one before, of the same source and kind; nil: none
}

// sort puts a window to its source, kind and phase, or says why not.
func (m *merger) sort(file windowFile) error {
	p, err := file.read(m.options.Go)
	if err == nil && file.kind.snapshot() && file.kind != Goroutine {
		p, err = m.since(p)
	}
	if err != nil {
		m.report.Refused = append(m.report.Refused, Refused{file.path, err.Error()})
		return nil
	}
	if p == nil { // the first snapshot of a process
		return nil
	}
	w := p.meta.Windows[0]
	phase, ok := m.options.PhaseOf(w.FromNs, w.ToNs)
	if !ok {
		m.report.Split++
		return nil
	}
	key := groupKey{file.source, file.kind, phase}
	g := m.groups[key]
	if g == nil {
		g = &group{first: p}
		m.groups[key] = g
	}
	if err := fit(g.first, p); err != nil {
		m.report.Refused = append(m.report.Refused, Refused{file.path, err.Error()})
		return nil
	}
	if m.options.Acked != nil {
		w.AckedBatches, w.AckedMessages = m.options.Acked(w.FromNs, w.ToNs)
	}
	p.pb.SetLabel(LabelPhase, []string{string(phase)})
	p.meta.Phase, p.meta.Windows = phase, []Window{w}
	return g.add(newProfile(p.pb, p.meta))
}

// since is what happened between the snapshot before and this one; nil if there is none before of the same process.
func (m *merger) since(p *Profile) (*Profile, error) {
	before := m.snapshot
	m.snapshot = p
	if before == nil || before.meta.Node != p.meta.Node || before.meta.Kind != p.meta.Kind {
		return nil, nil
	}
	if broken := m.options.Broken; broken != nil && broken(p.meta.Node, before.meta.Windows[0].FromNs, p.meta.Windows[0].ToNs) {
		return nil, nil
	}
	return Since(before, p)
}

// groupKey is what windows are merged by.
type groupKey struct {
	source string
	kind   Kind
	phase  results.Phase
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
	if p.Kind() == Goroutine {
		g.pending = []*Profile{p}
		return nil
	}
	for _, before := range g.pending {
		before.dropLevels() // what was held then is not held beside what is held now
	}
	if g.pending = append(g.pending, p); len(g.pending) < pendingMax {
		return nil
	}
	sum, err := Merge(g.pending...)
	g.pending = []*Profile{sum}
	return err
}

// dropLevels sets memory in use to zero.
func (p *Profile) dropLevels() {
	for i, t := range p.pb.SampleType {
		if !held(t.Type) {
			continue
		}
		for _, s := range p.pb.Sample {
			s.Value[i] = 0
		}
	}
}

func (g *group) finish(o MergeOptions, key groupKey) (Merged, error) {
	p, err := Merge(g.pending...)
	if err != nil {
		return Merged{}, err
	}
	m := Merged{Node: key.source, Kind: key.kind, Phase: key.phase, Role: p.meta.Role(), Windows: g.windows, Samples: p.Samples(), DurationNs: p.DurationNs()}
	m.AckedBatches, m.AckedMessages = p.meta.Acked()
	path := filepath.Join(o.Dir, fmt.Sprintf("%s-%s-%s.pb.gz", key.source, key.kind, key.phase))
	if m.Samples < o.SamplesMin && key.kind != Goroutine {
		m.NoData = fmt.Sprintf("%v: %d samples, at least %d are needed", ErrNoData, m.Samples, o.SamplesMin)
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // of an earlier call with other phases
			return Merged{}, fmt.Errorf("remove what is no data now: %w", err)
		}
		return m, nil
	}
	m.Path = path
	return m, p.WriteFile(path)
}

func groupKeys(groups map[groupKey]*group) []groupKey {
	order := func(phase results.Phase) int { return slices.Index(results.Phases(), phase) }
	return slices.SortedFunc(maps.Keys(groups), func(a, b groupKey) int {
		return cmp.Or(cmp.Compare(a.source, b.source), cmp.Compare(a.kind, b.kind), order(a.phase)-order(b.phase), cmp.Compare(a.phase, b.phase))
	})
}
