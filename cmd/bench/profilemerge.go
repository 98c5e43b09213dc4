package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rejoin/loadgen"
	"rejoin/profiles"
	"rejoin/results"
)

// recordProfiles writes when which process was profiled, now that nothing is measured any more.
func (r *session) recordProfiles() {
	if r.profiler == nil {
		return
	}
	r.profiler.wait()
	for _, problem := range r.profiler.problems() {
		r.warn("profiles: %s", problem)
	}
	for _, c := range r.profiler.captured() {
		write := func(kind results.Kind, fromNs, toNs int64, role, reason, detail string) {
			r.record.write(results.Event{TMonoNs: r.run.StartMonoNs + toNs, Kind: kind, Node: c.Node, Role: role, DurationNs: new(toNs - fromNs),
				Reason: reason, Detail: detail})
		}
		for _, w := range c.Windows {
			write(results.KindProfileWindow, w.FromNs, w.ToNs, w.Role, string(profiles.CPU), "")
		}
		for _, s := range c.Snapshots {
			write(results.KindProfileWindow, s.FromNs, s.ToNs, s.Role, string(s.Kind), "snapshot")
		}
		for _, l := range c.Lost {
			write(results.KindProfileLost, l.FromNs, l.ToNs, "", l.Reason, counted(int64(l.Windows), "window"))
		}
	}
}

// mergeProfiles makes profiles/index.json and all that it names of what was captured. What fails costs the run its profiles, not its verdict.
func (r *session) mergeProfiles(timeline *results.Timeline, acks loadgen.Acks) {
	if r.profiler == nil {
		return
	}
	spans := timeline.Spans(r.outcome.StopNs)
	index := profileIndex{folder: r.folder, captured: r.profiler.captured(), phases: phasesOf(timeline, r.outcome.StopNs), phaseAt: timeline.PhaseAt, spans: spans}
	if r.profiling.windows || len(r.profiling.snapshots()) > 0 {
		report, err := profiles.MergeWindows(profiles.MergeOptions{Dir: r.folder.Profiles(), PhaseOf: profiles.PhaseOfSpans(spans),
			Acked: func(fromNs, toNs int64) (int64, int64) {
				batches := int64(acks.Before(toNs) - acks.Before(fromNs))
				return batches, batches * int64(r.scenario.BatchMessages)
			},
			Broken: brokenBy(timeline.Kills)})
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // no window at all was taken
			r.warn("profiles: %v", err)
		}
		for _, refused := range report.Refused {
			r.warn("profile window %s: %s", filepath.Base(refused.Path), refused.Reason)
		}
		if r.profiling.windows {
			index.addPhases(profiles.CPU, report)
		}
		for _, kind := range r.profiling.snapshots() {
			index.addPhases(kind, report)
		}
	}
	index.addLives(r.profiling.mode)
	if r.profiler.flight != nil {
		index.entries = append(index.entries, r.profiler.flight.entries()...)
	}
	for _, problem := range index.problems {
		r.warn("profiles: %s", problem)
	}
	if err := r.folder.WriteProfileIndex(index.entries); err != nil {
		r.warn("profiles: %v", err)
	}
}

// brokenBy tells whether a process of a node ended or began in a time.
func brokenBy(kills []results.Kill) func(node string, fromNs, toNs int64) bool {
	return func(node string, fromNs, toNs int64) bool {
		within := func(at int64) bool { return at >= fromNs && at <= toNs }
		return slices.ContainsFunc(kills, func(k results.Kill) bool {
			return k.Node == node && (within(k.AtNs) || k.RestartNs != nil && within(*k.RestartNs))
		})
	}
}

// profileIndex grows to profiles/index.json.
type profileIndex struct {
	folder   results.Folder
	captured []profiles.Captured
	phases   []results.Phase
	phaseAt  func(ns int64) results.Phase
	spans    []results.Span
	entries  []results.ProfileEntry
	problems []string
}

// addPhases adds a line for every source and phase, also where there is nothing, and draws CPU profiles.
func (x *profileIndex) addPhases(kind profiles.Kind, report profiles.MergeReport) {
	for _, c := range x.captured {
		for _, phase := range x.phases {
			e := results.ProfileEntry{Source: c.Node, Kind: string(kind), Phase: phase, Note: x.whyNone(phase)}
			for _, m := range report.Merged {
				if m.Node == c.Node && m.Kind == kind && m.Phase == phase {
					e.Role, e.Samples, e.SecondsCovered = m.Role, m.Samples, float64(m.DurationNs)/1e9
					e.AckedBatches, e.AckedMessages, e.Note = m.AckedBatches, m.AckedMessages, m.NoData
					x.addFiles(&e, m.Path)
				}
			}
			if lost := x.lostIn(c, phase); lost != "" && kind == profiles.CPU {
				e.Note = strings.TrimPrefix(e.Note+"; "+lost, "; ")
			}
			x.entries = append(x.entries, e)
		}
	}
}

// windowLeast is what the runtime needs to begin a window and to say what it saw: a shorter phase can hold none.
const windowLeast = 100 * time.Millisecond

// whyNone says why no window of a process lies in a phase.
func (x *profileIndex) whyNone(phase results.Phase) string {
	longest := time.Duration(0)
	for _, s := range x.spans {
		if s.Phase == phase && s.ToNs != nil {
			longest = max(longest, time.Duration(*s.ToNs-s.FromNs))
		}
	}
	if longest < windowLeast {
		return fmt.Sprintf("no data: %s lasted %v at a stretch at most, and a window needs %v to begin and end", phase, longest.Round(time.Millisecond), windowLeast)
	}
	return fmt.Sprintf("no data: no window lies in %s by nine tenths (longest stretch %v); the process was gone then, or came and went within it", phase,
		longest.Round(10*time.Millisecond))
}

// lostIn says what of a source was lost that began in a phase; empty: nothing.
func (x *profileIndex) lostIn(c profiles.Captured, phase results.Phase) string {
	var texts []string
	for _, l := range c.Lost {
		if x.phaseAt(l.FromNs) == phase {
			texts = append(texts, fmt.Sprintf("%s lost at %.1f s: %s", counted(int64(l.Windows), "window"), float64(l.ToNs)/1e9, l.Reason))
		}
	}
	return strings.Join(texts, "; ")
}

// addFiles names the file of an entry, and draws it if it is a CPU profile.
func (x *profileIndex) addFiles(e *results.ProfileEntry, path string) {
	if path == "" {
		return
	}
	e.File = new(x.relative(path))
	if e.Kind != string(profiles.CPU) {
		return
	}
	page := strings.TrimSuffix(path, ".pb.gz") + ".html"
	if err := drawFlame(path, page); err != nil {
		x.problems = append(x.problems, err.Error())
		return
	}
	e.HTML = new(x.relative(page))
}

func (x *profileIndex) relative(path string) string {
	name, err := filepath.Rel(x.folder.Profiles(), path)
	if err != nil {
		return filepath.Base(path)
	}
	return filepath.ToSlash(name)
}

func drawFlame(path, page string) error {
	p, err := profiles.ReadFile(path)
	if err != nil {
		return err
	}
	html, err := profiles.FlameGraph(p, "")
	if err != nil {
		return err
	}
	return writePage(page, html)
}

// addLives adds the profiles over the life of each process that pkg/profile wrote; a process that was killed left none.
func (x *profileIndex) addLives(mode profiles.Mode) {
	if mode == "" {
		return
	}
	for _, c := range x.captured {
		e := results.ProfileEntry{Source: c.Node, Kind: string(mode.Kind()), Note: "over the life of its last process"}
		path := filepath.Join(x.folder.Profiles(), c.Node, mode.File())
		_, err := os.Stat(path)
		if err == nil && mode != "trace" {
			var p *profiles.Profile
			if p, err = profiles.ReadFile(path); err == nil {
				e.Samples, e.SecondsCovered = p.Samples(), float64(p.DurationNs())/1e9
			}
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			e.Note = "no data: the process was killed, and pkg/profile writes when a process is stopped"
		case err != nil:
			e.Note = fmt.Sprintf("no data: %v", err)
		default:
			e.File = new(x.relative(path))
		}
		x.entries = append(x.entries, e)
	}
}

// profileTexts say where the profiles are, and how to open the one that people look at first.
func (r *session) profileTexts() []string {
	entries, err := r.folder.ReadProfileIndex()
	if err != nil {
		return nil
	}
	files, pages, first, most := 0, 0, "", int64(0)
	for _, e := range entries {
		if e.File != nil {
			files++
		}
		if e.HTML != nil {
			pages++
		}
		if e.HTML == nil || e.Phase != results.Steady {
			continue
		}
		if e.Samples > most { // the primary, as a rule
			most = e.Samples
			first = filepath.Join(r.folder.Profiles(), filepath.FromSlash(*e.File))
		}
	}
	switch {
	case !r.profiling.any():
		return []string{"profiles: none, as --profile none asked"}
	case files == 0:
		return []string{fmt.Sprintf("profiles: none; %s says why", r.folder.ProfileIndex())}
	}
	texts := []string{fmt.Sprintf("profiles: %s, %s in %s", counted(int64(files), "file"), counted(int64(pages), "flame graph"), r.folder.Profiles())}
	if first != "" {
		texts = append(texts, fmt.Sprintf("profiles: open %s, or go tool pprof -http=: %s", strings.TrimSuffix(first, ".pb.gz")+".html", first))
	}
	return texts
}
