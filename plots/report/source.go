package report

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"rejoin/plots"
	"rejoin/results"
)

// source is all that a page is made of. What could not be read is empty here and a sentence in problems.
type source struct {
	folder     results.Folder
	run        results.Run
	summary    *results.Summary // nil: summaryErr says why
	summaryErr error            // fs.ErrNotExist: the run goes on, or crashed
	events     []results.Event
	timeline   results.Timeline
	activities []results.Activity
	figures    plots.Figures
	nodes      stretchCollector
	problems   []string
}

// read takes what is in the folder. figures come from plots.FromRun, with whatever it could not read.
func read(f results.Folder, figures plots.Figures) *source {
	s := &source{folder: f, figures: figures}
	var err error
	s.run, err = f.ReadRun()
	s.note("run.json", err)
	summary, err := f.ReadSummary()
	if s.summaryErr = err; err == nil {
		s.summary = &summary
	} else if !errors.Is(err, fs.ErrNotExist) {
		s.note("summary.json", err)
	}
	s.events, err = f.ReadEvents()
	s.note("events.ndjson", err)
	s.timeline = results.TimelineOf(s.events)
	s.activities = results.Activities(s.events)
	s.note("status.ndjson", s.readNodes())
	return s
}

func (s *source) note(what string, err error) {
	if err != nil {
		s.problems = append(s.problems, fmt.Sprintf("%s: %v", what, err))
	}
}

// unread stands in the place of what a file would have told: where it is not there, why says so; otherwise it is damaged.
func unread(file string, err error, why string) string {
	if errors.Is(err, fs.ErrNotExist) {
		return noData + ": " + why
	}
	return noData + ": " + file + " could not be read"
}

// readNodes streams the polls.
func (s *source) readNodes() error {
	s.nodes = stretchCollector{blinkNs: s.figures.EndNs / lagBins, nodes: map[string][]stretch{}}
	r, err := s.folder.OpenStatus()
	if err != nil {
		return err
	}
	defer r.Close()
	var damage error
	for {
		status, err := r.Next()
		var line *results.LineError
		switch {
		case err == io.EOF:
			return damage
		case errors.As(err, &line):
			damage = err // one is enough to say so
		case err != nil:
			return err
		default:
			s.nodes.add(status)
		}
	}
}
