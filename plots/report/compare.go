package report

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"rejoin/results"
	"rejoin/results/compare"
)

// Compared is what a comparison page shows.
type Compared struct {
	Comparison compare.Comparison
	// Profiles are the differences of profiles by kind, phase and role; ProfileNotes say in sentences what was not compared, and why.
	Profiles     []ProfileDifference
	ProfileNotes []string
	// Arguments are the command line of the comparison, without the program's name.
	Arguments []string
}

// ProfileDifference is one kind of profile in one phase and role, B against A; not of a level, which is not subtracted.
type ProfileDifference struct {
	Title string
	// Unit is that of all costs: nanoseconds, bytes, count.
	Unit  string
	Total FunctionDifference
	// Judged says that there were enough runs a side to know by how much runs differ.
	Judged bool
	// Functions stand in the order in which they are shown.
	Functions []FunctionDifference
	Notes     []string
	// Flames are files of self-contained pages.
	Flames []FlameFile
	// Commands show the same in pprof.
	Commands []string
}

// FunctionDifference is what one function cost by itself.
type FunctionDifference struct {
	Function                 string
	MessageA, MessageB       float64 // per acknowledged message
	SecondA, SecondB         float64
	CumMessageA, CumMessageB float64 // with what it called
	// Chance: with so few samples, or from run to run where that was judged, two profiles of the same thing differ as much.
	Chance bool
}

// FlameFile is a page on disk. Title says what it shows; Path is where it lies.
type FlameFile struct{ Title, Path string }

// comparePage is comparison.html.
type comparePage struct {
	Frame      frame
	Title      string
	Caption    string
	Head       headline
	Primary    metricSection
	Others     metricSection
	Order      stage
	Trends     table
	Curves     []stage
	OverTime   stage
	Profiles   []profilePart
	Notes      []string
	Facts      table
	Mismatches table
	Runs       []table
	Bounds     table
	HowTo      []string
	Commands   []command
	Problems   []string
}

// ComparisonFile is the page's name in the folder of a comparison.
const ComparisonFile = "comparison.html"

// WriteComparison writes comparison.html into a folder that exists. Runs whose files cannot be read are named on the page and missing from
// its drawings; the error says that the page could not be written.
func WriteComparison(dir string, c Compared) error {
	page := comparePageOf(dir, c)
	return results.WriteFileAtomic(filepath.Join(dir, ComparisonFile), func(w io.Writer) error { return pages().ExecuteTemplate(w, "compare.tmpl", page) })
}

func comparePageOf(dir string, of Compared) *comparePage {
	c := &of.Comparison
	note := fmt.Sprintf("log scale; a line is a run, at most the first %d", readRunsMax)
	read := readSides(side{id: "A", name: "A", title: "p50 by second, runs of A", note: note, runs: c.A.Runs},
		side{id: "B", name: "B", title: "p50 by second, runs of B", note: note, runs: c.B.Runs})
	p := &comparePage{Title: "A: " + c.A.Label + " · B: " + c.B.Label, Caption: compareCaption(c), Head: compareHead(c), Primary: metricsOf(c, true), Others: metricsOf(c, false),
		Order: orderStage(c), Trends: trendsTable(c), Curves: read.curves(), OverTime: read.overTime("Median latency by second of each run, A above B on one scale"), Facts: factsTable(c), Mismatches: mismatchesTable(c),
		Runs: []table{runsTable(c, "A", c.A), runsTable(c, "B", c.B)}, Bounds: boundsTable(c), HowTo: howToRead(c), Notes: of.ProfileNotes, Problems: read.problems}
	flames := p.addProfiles(dir, of.Profiles)
	if len(of.Arguments) > 0 {
		p.Commands = append(p.Commands, command{shellLine(append([]string{"bench"}, of.Arguments...)...), "this comparison again"})
	}
	p.Commands = append(p.Commands, command{shellLine("benchstat", benchFiles(c.A), benchFiles(c.B)), "the first runs of both sides in benchstat"})
	stages := []*stage{&p.Order, &p.OverTime}
	for i := range p.Curves {
		stages = append(stages, &p.Curves[i])
	}
	p.Frame = frameOf("comparison: "+p.Title, dataOf(stages...), flames)
	return p
}

// benchFiles is bench.txt of a side's first run.
func benchFiles(s compare.Side) string {
	if len(s.Runs) == 0 {
		return "bench.txt"
	}
	return filepath.Join(s.Runs[0].Dir, "bench.txt")
}

func compareCaption(c *compare.Comparison) string {
	how := "not paired"
	if c.Paired {
		how = "in pairs"
	}
	return fmt.Sprintf("%s · %s · %s of A, %s of B, %s", c.Target, c.Scenario, counted(int64(len(c.A.Runs)), "run"), counted(int64(len(c.B.Runs)), "run"), how)
}

func compareHead(c *compare.Comparison) headline {
	h := headline{Verdict: "cannot judge", Class: "invalid", Sign: "?", Says: "There is no verdict.", Doubts: c.Warnings}
	sentences := c.Sentences
	if len(sentences) > 0 {
		h.Says, sentences = sentences[0], sentences[1:]
	}
	h.Reasons = sentences
	switch c.Verdict {
	case compare.NoDifference:
		h.Verdict, h.Class, h.Sign = "no difference found", "pass", "="
	case compare.Different:
		h.Verdict, h.Class, h.Sign = differentWord(c)
	}
	return h
}

// differentWord says which way it went.
func differentWord(c *compare.Comparison) (word, class, sign string) {
	worse, better := 0, 0
	for _, m := range c.Findings() {
		if m.Finding == compare.Worse {
			worse++
		} else {
			better++
		}
	}
	switch {
	case better == 0:
		return "B is worse", "fail", "✗"
	case worse == 0:
		return "B is better", "pass", "✓"
	}
	return "B is better and worse", "fail", "≠"
}

func howToRead(c *compare.Comparison) []string {
	test := c.DecidingTest
	if test == "" {
		test = "no test"
	}
	lines := []string{
		"A run is one sample of a metric, however many batches it holds; a kill is one sample of a recovery figure. What is compared are medians over runs, with intervals of at least 95 %.",
		fmt.Sprintf("Only the primary metrics are judged (%s). They were named before a number was seen. Their deciding test is %s; after Holm's correction the chance of one false finding among all of them is at most %s.",
			strings.Join(c.Primary, ", "), test, percentText(&c.Alpha)),
		"A finding also has to exceed the noise floor, which is what runs of one build differ by. It is the gray band in the drawings.",
		"A triangle at the end of a drawing is a difference that lies beyond its axis; the text has it.",
	}
	if c.FloorSource != "" {
		return append(lines, "The noise floor comes from: "+c.FloorSource+".")
	}
	return append(lines, "There is no noise floor here: too few runs of one build were at hand.")
}

func factsTable(c *compare.Comparison) table {
	t := table{ID: "facts", Caption: "What both sides have in common: machine, build and load.", Columns: words("fact", "value")}
	for _, f := range c.Facts {
		t.add(f.Name, f.Value)
	}
	return t
}

func mismatchesTable(c *compare.Comparison) table {
	t := table{ID: "mismatches", Caption: "What differs between the runs and should not.", Columns: words("fact", "value", "runs"), Empty: "Nothing that had to be equal differs."}
	for _, m := range c.Mismatches {
		for _, v := range m.Values {
			t.addIn("bad", m.Fact, v.Value, strings.Join(v.Runs, ", "))
		}
	}
	return t
}

func runsTable(c *compare.Comparison, letter string, s compare.Side) table {
	caption := fmt.Sprintf("Runs of %s: %s, commit %s", letter, s.Label, orNoData(s.Commit))
	if s.Dirty {
		caption += ", with changes that are in no commit"
	}
	t := table{ID: "runs-" + letter, Caption: caption, Columns: append(words("run", "verdict", "began"), numbers("seed")...)}
	for _, r := range s.Runs {
		t.add(r.Name, r.Verdict, timeText(r.StartedAt), fmt.Sprint(r.Seed))
	}
	if len(s.Runs) == 0 {
		t.Empty = noData
	}
	return t
}

func boundsTable(c *compare.Comparison) table {
	t := table{ID: "bounds", Caption: "Bounds of --fail-on.", Columns: append(words("bound"), column{"outcome", "judged"}, column{Text: "why"}), Empty: "None was given."}
	for _, b := range c.Bounds {
		class, sign := "", "– "
		switch b.Outcome {
		case compare.Held:
			class, sign = "ok", "✓ "
		case compare.Broken:
			class, sign = "bad", "✗ "
		}
		t.addIn(class, b.Bound, sign+b.Outcome, b.Reason)
	}
	return t
}

func trendsTable(c *compare.Comparison) table {
	t := table{ID: "trends", Caption: "Does a metric drift over the order of the runs? The difference between A and B is taken out first (Kendall's test).",
		Columns: append(words("metric"), append(numbers("runs", "from first to last", "tau", "p after Holm"), column{"drifts", "judged"})...), Empty: "no data: too few runs"}
	for _, tr := range c.Trends {
		class, text := "", "no"
		if tr.Drifts {
			class, text = "bad", "! yes"
		}
		t.addIn(class, tr.Metric, fmt.Sprint(tr.N), signedPercent(tr.ChangeFraction), fmt.Sprintf("%.2f", tr.Tau), fmt.Sprintf("%.3f", tr.HolmP), text)
	}
	return t
}
