package sim

import (
	"fmt"
	"strings"
)

// Script is a schedule for a small cluster: what is written, who falls, which messages are lost. It
// drives the same world as a seed does, in which every delay is its mean. One that is about
// a mistake is played twice, with it and without; docs/simulator-scripts.md tells the language.
type Script struct {
	Name     string
	Switches []string // mistakes that are made in one of its two plays; none: it has but one
	Property string   // what breaks then

	with   []string // mistakes that are made in both
	mute   []string // properties that may break
	setup  setup
	arises []condition
	steps  []step
}

// step is one line that does something.
type step struct {
	at   string
	text string
	do   func(*scriptRun)
}

// ParseScript reads a script. An error names file and line, and what was expected there.
func ParseScript(name, file, text string) (script *Script, err error) {
	defer func() {
		if x := recover(); x != nil {
			wrong, ok := x.(lineError)
			if !ok {
				panic(x)
			}
			script, err = nil, fmt.Errorf("%s", wrong.text)
		}
	}()
	s := &Script{Name: name, setup: scriptSetup()}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		line, _, _ = strings.Cut(line, "#")
		w := &words{at: fmt.Sprintf("%s:%d", file, i+1), rest: strings.Fields(line)}
		if len(w.rest) > 0 {
			s.line(w, strings.Join(w.rest, " "))
		}
	}
	switch {
	case s.Property != "" && len(s.Switches) == 0:
		return nil, fmt.Errorf("%s:%d: expected a line \"switch NAME\" somewhere, found none", file, len(lines))
	case s.Property == "" && len(s.Switches) > 0:
		return nil, fmt.Errorf("%s:%d: expected a line \"property NAME\" somewhere, found none", file, len(lines))
	case len(s.steps) == 0:
		return nil, fmt.Errorf("%s:%d: expected a step somewhere, found none", file, len(lines))
	}
	return s, nil
}

// line reads a line: a word of the head, or a step.
func (s *Script) line(w *words, text string) {
	verb := w.next("a word")
	if s.head(w, verb) {
		w.end()
		if len(s.steps) > 0 {
			panic(lineError{fmt.Sprintf("%s: expected a step, found %q, which belongs above the first one", w.at, verb)})
		}
		return
	}
	read, ok := stepReaders[verb]
	if !ok {
		w.back("a word of the head (" + strings.Join(headWords, ", ") + ") or a step (" + strings.Join(stepWords(), ", ") + ")")
	}
	do := read(w)
	w.end()
	s.steps = append(s.steps, step{w.at, text, do})
}

var headWords = []string{"switch", "property", "with", "mute", "replicas", "pipeline", "ring", "keep", "chunk", "bulk", "suspect", "arises"}

// head reads what is said once, before the first step; false: verb is none of its words.
func (s *Script) head(w *words, verb string) bool {
	c := &s.setup.config
	switch verb {
	case "switch":
		s.Switches = append(s.Switches, w.oneOf("a switch", switchNames()))
	case "with":
		s.with = append(s.with, w.oneOf("a mistake", mistakeNames()))
	case "property":
		s.Property = w.next("a property such as S5")
	case "mute":
		s.mute = append(s.mute, w.next("a property such as S5"))
	case "replicas":
		n := w.number()
		if n != 1 && n != 3 && n != 5 {
			w.back("1, 3 or 5")
		}
		s.setup.replicas = int(n)
		c.Replicas = s.setup.replicas
	case "pipeline":
		c.PipelineOps = w.number()
	case "ring":
		c.RingOps = w.number()
	case "keep":
		s.keep(w)
	case "chunk":
		s.setup.chunkOps = w.number()
	case "bulk":
		s.setup.slowBulk = w.duration()
		w.must("a")
		w.must("KiB")
	case "suspect":
		c.SuspectTicks = uint64(w.duration() / tickNs)
		c.SuspectTicksMax = 4 * c.SuspectTicks
	case "arises":
		s.arises = append(s.arises, w.seen())
	default:
		return false
	}
	return true
}

// keep lets a replica retain its last ops only: each has a segment of its own, and the ring is what
// is never trimmed.
func (s *Script) keep(w *words) {
	n := w.number()
	if n < 2 {
		w.back("2 or more")
	}
	s.setup.config.RingOps = n - 1
	s.setup.segmentBytes, s.setup.retention, s.setup.checkpoint = 1, 1, 1
}
