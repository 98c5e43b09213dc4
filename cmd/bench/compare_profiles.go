package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rejoin/profiles"
	"rejoin/results"
)

// profileComparison is what a comparison of two sets of runs says about profiles.
type profileComparison struct {
	Parts []comparedPart
	// Skipped and Warnings are sentences: what was not compared, and what makes the rest doubtful.
	Skipped  []string
	Warnings []string
}

// comparedPart is one kind in one phase and role. Files lie in the folder of the comparison.
type comparedPart struct {
	profiles.Part
	Diff *profiles.Diff
	// FlameA and FlameB are the two flame graphs; DiffPerMessage and DiffPerSecond those of the difference. Empty: there is none.
	FlameA, FlameB, DiffPerMessage, DiffPerSecond string
	// Commands show the same in pprof: the base is brought to the work, or the time, of B first.
	Commands []string
}

// errNotProfiled: no side has profiles, so there is nothing to compare and nothing wrong.
var errNotProfiled = errors.New("both sides ran without a profiler")

const (
	functionsShown   = 8
	functionsWritten = 50
	functionsNamed   = 5
	profilesText     = "profiles.txt"
)

// compareProfiles holds the profiles of B against those of A, by kind, phase and role, per acknowledged message and per second. A side is
// run folders, or profile files. Pages, profiles for `go tool pprof` and the whole text go into the folder out; the beginning of the tables
// of the steady phase goes to w. Input that does not fit is refused in words; errNotProfiled: there is none on either side.
func compareProfiles(w io.Writer, a, b []string, out string) (profileComparison, error) {
	var c profileComparison
	sides, err := c.readSides(a, b)
	if err != nil {
		return c, fmt.Errorf("profiles: %w", err)
	}
	pairs, skipped, err := profiles.Pairs(sides[0], sides[1])
	if err != nil {
		return c, fmt.Errorf("profiles: %w", err)
	}
	c.Skipped = skipped
	if err := os.MkdirAll(out, 0o755); err != nil {
		return c, fmt.Errorf("profiles: make the folder of the comparison: %w", err)
	}
	for _, pair := range pairs {
		part, err := comparePart(pair, out)
		if err != nil {
			return c, fmt.Errorf("profiles: %v: %w", pair.Part, err)
		}
		c.Parts = append(c.Parts, part)
	}
	c.write(w, c.shown(), functionsShown, false)
	fmt.Fprintf(w, "every phase, more functions, all flame graphs and commands: %s\n", filepath.Join(out, profilesText))
	return c, results.WriteFileAtomic(filepath.Join(out, profilesText), func(w io.Writer) error {
		c.write(w, c.Parts, functionsWritten, true)
		return nil
	})
}

// namesProfiles tells whether the two sides are profile files rather than runs.
func (c *compareCommand) namesProfiles() bool {
	return len(c.Runs) == 2 && !slices.ContainsFunc(c.Runs, func(path string) bool {
		info, err := os.Stat(path)
		return err != nil || !info.Mode().IsRegular()
	})
}

// compareFiles compares two profile files and nothing else.
func (c *compareCommand) compareFiles(env *environment) error {
	out := c.Out
	if out == "" {
		group, err := results.CreateGroup(env.results, "compare", "profiles", time.Now())
		if err != nil {
			return usage("%w", err)
		}
		defer group.Close()
		out = group.Dir
	}
	if _, err := compareProfiles(env.out, c.Runs[:1], c.Runs[1:], out); err != nil {
		if c.Out == "" {
			_ = os.Remove(out) // where nothing was compared it is empty, and otherwise it stays
		}
		return usage("%w", err)
	}
	return nil
}

// shown are the parts that a terminal has room for.
func (c *profileComparison) shown() []comparedPart {
	steady := slices.DeleteFunc(slices.Clone(c.Parts), func(p comparedPart) bool { return p.Phase != results.Steady })
	if len(steady) == 0 {
		return c.Parts
	}
	return steady
}

// readSides reads the profiles of both sides, which must have been taken in the same way.
func (c *profileComparison) readSides(a, b []string) (sides [2]map[profiles.Part]profiles.Side, err error) {
	var read [2]profiledSide
	for i, paths := range [][]string{a, b} {
		for _, path := range paths {
			if err := read[i].add(path); err != nil {
				return sides, err
			}
		}
	}
	if read[0].off() && read[1].off() {
		return sides, errNotProfiled
	}
	names := [2]string{"A", "B"}
	for i, side := range read {
		if side.off() {
			return sides, fmt.Errorf("%s ran without a profiler: %s", names[i], side.why)
		}
	}
	for i, side := range read {
		if len(side.profiles) == 0 {
			return sides, fmt.Errorf("%w: no profile of %s has enough samples; run longer or at a higher rate", profiles.ErrNoData, names[i])
		}
		for _, warning := range side.warnings {
			c.Warnings = append(c.Warnings, names[i]+": "+warning)
		}
		if sides[i], err = profiles.Parts(side.profiles); err != nil {
			return sides, fmt.Errorf("%s: %w", names[i], err)
		}
		if err := side.addRuns(sides[i]); err != nil {
			return sides, fmt.Errorf("%s: %w", names[i], err)
		}
	}
	if m, n := read[0].mode, read[1].mode; m != "" && n != "" && m != n {
		return sides, fmt.Errorf("%w: A was profiled by %s, B by %s, and profilers cost time themselves; run both with the same --profile", profiles.ErrUnlike, m, n)
	}
	if m, n := read[0].phases(), read[1].phases(); m != n {
		return sides, fmt.Errorf("%w: A has the phases %s, B has %s; compare runs of one scenario", profiles.ErrUnlike, m, n)
	}
	return sides, nil
}

// profiledSide is what was read of one side.
type profiledSide struct {
	profiles []*profiles.Profile
	runs     [][]*profiles.Profile // the same by run; of files there are none
	mode     string                // of --profile; empty for files
	why      string                // a sentence about a run that has none
	warnings []string
	inPhases map[results.Phase]bool
}

// addRuns puts what each run gave to a part beside their sum.
func (s *profiledSide) addRuns(sums map[profiles.Part]profiles.Side) error {
	for _, run := range s.runs {
		parts, err := profiles.Parts(run)
		if err != nil {
			return err
		}
		for part, of := range parts {
			if sum, ok := sums[part]; ok && of.AckedMessages > 0 {
				sum.Runs = append(sum.Runs, of)
				sums[part] = sum
			}
		}
	}
	return nil
}

func (s *profiledSide) off() bool { return s.why != "" && len(s.profiles) == 0 }

func (s *profiledSide) phases() string {
	var names []string
	for _, phase := range results.Phases() {
		if s.inPhases[phase] {
			names = append(names, string(phase))
		}
	}
	return strings.Join(names, ", ")
}

// add reads a run folder or a profile file.
func (s *profiledSide) add(path string) error {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		p, err := profiles.ReadFile(path)
		if err != nil {
			return err
		}
		s.profiles = append(s.profiles, p)
		return nil
	}
	folder := results.Folder{Dir: path}
	run, err := folder.ReadRun()
	if err != nil {
		return err
	}
	s.warn(run)
	mode := run.Asked.Profiling.Mode
	if s.mode != "" && mode != s.mode {
		return fmt.Errorf("%w: runs of one side were profiled by %s and by %s", profiles.ErrUnlike, s.mode, mode)
	}
	s.mode = mode
	entries, err := folder.ReadProfileIndex()
	if errors.Is(err, fs.ErrNotExist) || len(entries) == 0 && err == nil {
		s.why = fmt.Sprintf("%s has none (--profile %s)", folder.Name(), cmp.Or(mode, "was not known to the bench that made it"))
		return nil
	}
	if err != nil {
		return err
	}
	return s.addRun(folder, entries)
}

// addRun reads what was measured: the warm-up is not, and what belongs to no phase is of a whole life.
func (s *profiledSide) addRun(folder results.Folder, entries []results.ProfileEntry) error {
	before := len(s.profiles)
	defer func() { s.runs = append(s.runs, s.profiles[before:len(s.profiles):len(s.profiles)]) }()
	for _, e := range entries {
		if e.Phase == "" || e.Phase == results.Warmup {
			continue
		}
		if s.inPhases == nil {
			s.inPhases = map[results.Phase]bool{}
		}
		s.inPhases[e.Phase] = true
		if e.File == nil {
			continue
		}
		p, err := profiles.ReadFile(filepath.Join(folder.Profiles(), filepath.FromSlash(*e.File)))
		if err != nil {
			return err
		}
		s.profiles = append(s.profiles, p)
	}
	return nil
}

// warn says what makes a run's profiles doubtful (trap 40).
func (s *profiledSide) warn(run results.Run) {
	for _, w := range []struct {
		is   bool
		text string
	}{
		{run.Found.Race, "is a race build: it shows what the race detector costs"},
		{run.Found.Dirty, "was built from a dirty checkout: its commit does not name this code"},
		{run.Status != results.StatusFinished, "did not come to its end"},
	} {
		if w.is {
			s.warnings = append(s.warnings, run.Name+" "+w.text)
		}
	}
}

// comparePart compares one part and writes its files.
func comparePart(pair profiles.Pair, out string) (comparedPart, error) {
	c := comparedPart{Part: pair.Part}
	var err error
	if c.Diff, err = profiles.Compare(pair.Base, pair.Changed, ""); err != nil {
		return c, err
	}
	name := func(end string) string { return filepath.Join(out, pair.Name()+end) }
	changed := name("-b.pb.gz")
	if err := pair.Changed.Profile.WriteFile(changed); err != nil {
		return c, err
	}
	for _, per := range []profiles.Per{profiles.PerMessage, profiles.PerSecond} {
		base, err := pair.Base.On(pair.Changed, per)
		if err != nil {
			return c, err
		}
		path := name("-a-per-" + string(per) + ".pb.gz")
		if err := base.WriteFile(path); err != nil {
			return c, err
		}
		c.Commands = append(c.Commands, profiles.DiffCommand(path, changed))
	}
	return c, c.draw(pair, name)
}

// draw makes the pages of a part.
func (c *comparedPart) draw(pair profiles.Pair, name func(end string) string) error {
	for _, page := range []struct {
		to   *string
		end  string
		draw func() ([]byte, error)
	}{
		{&c.FlameA, "-a.html", func() ([]byte, error) { return profiles.FlameGraph(pair.Base.Profile, "") }},
		{&c.FlameB, "-b.html", func() ([]byte, error) { return profiles.FlameGraph(pair.Changed.Profile, "") }},
		{&c.DiffPerMessage, "-diff-per-message.html", func() ([]byte, error) {
			return profiles.DiffFlameGraph(pair.Base, pair.Changed, profiles.PerMessage, "")
		}},
		{&c.DiffPerSecond, "-diff-per-second.html", func() ([]byte, error) {
			return profiles.DiffFlameGraph(pair.Base, pair.Changed, profiles.PerSecond, "")
		}},
	} {
		if c.Diff.Held && strings.Contains(page.end, "diff") { // a level is not subtracted
			continue
		}
		html, err := page.draw()
		if err != nil {
			return err
		}
		*page.to = name(page.end)
		if err := writePage(*page.to, html); err != nil {
			return err
		}
	}
	return nil
}

func writePage(path string, html []byte) error {
	return results.WriteFileAtomic(path, func(w io.Writer) error {
		_, err := w.Write(html)
		return err
	})
}

// write tells the comparison; whole: with every page and command. What w cannot take is no error of a comparison.
func (c *profileComparison) write(w io.Writer, parts []comparedPart, functions int, whole bool) {
	for _, p := range parts {
		fmt.Fprintf(w, "profile %v: %s\n%s", p.Part, p.Diff.BeyondChance(functionsNamed), p.Diff.Table(functions))
		pages := slices.DeleteFunc([]string{p.DiffPerMessage, p.DiffPerSecond, p.FlameA, p.FlameB}, func(page string) bool { return page == "" })
		commands := p.Commands
		if !whole {
			pages, commands = pages[:1], commands[:1]
		}
		for _, page := range pages {
			fmt.Fprintf(w, "open %s\n", page)
		}
		for _, command := range commands {
			fmt.Fprintln(w, command)
		}
		fmt.Fprintln(w)
	}
	for _, s := range c.Skipped {
		fmt.Fprintf(w, "not compared: %s\n", s)
	}
	for _, s := range c.Warnings {
		fmt.Fprintf(w, "warning: %s\n", s)
	}
}
