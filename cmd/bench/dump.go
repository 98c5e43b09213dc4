package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"rejoin/loadgen"
	"rejoin/results"
)

type dumpCommand struct {
	Path string `arg:"" help:"A segment (.seg), state or mark file, ledger (.ledger), interval log (.hlog) or event file (.ndjson)."`
	Max  int    `help:"Print at most so many records; 0 is all." default:"0" placeholder:"N"`
}

// Help is shown by bench dump --help.
func (dumpCommand) Help() string {
	return `The kind of a file is told by its name. Damage is shown where it stands.

Example:  bench dump results/latest/ledger/p0000.ledger --max 20`
}

var errEnough = errors.New("enough")

// Run prints the file.
func (c *dumpCommand) Run(env *environment) error {
	if _, err := os.Stat(c.Path); err != nil {
		return usage("%w", err)
	}
	printed := 0
	say := func(format string, args ...any) error {
		if c.Max > 0 && printed >= c.Max {
			return errEnough
		}
		printed++
		_, err := fmt.Fprintf(env.out, format+"\n", args...)
		return err
	}
	err := dumpFile(c.Path, say)
	if err != nil && !errors.Is(err, errEnough) {
		return usage("dump %s: %w", c.Path, err)
	}
	return nil
}

type sayer func(format string, args ...any) error

func dumpFile(path string, say sayer) error {
	name := filepath.Base(path)
	switch ext := filepath.Ext(name); {
	case ext == segmentSuffix:
		return dumpSegment(path, say)
	case ext == ".ledger":
		return dumpLedger(path, say)
	case ext == ".hlog":
		return dumpHlog(path, say)
	case ext == ".ndjson":
		return dumpEvents(path, say)
	case name == "state" || name == "mark":
		return dumpCopies(path, say)
	}
	return fmt.Errorf("its name tells no kind that bench can print: .seg, .ledger, .hlog, .ndjson, state, mark")
}

func dumpLedger(path string, say sayer) error {
	r, err := loadgen.OpenLedger(path)
	if err != nil {
		return err
	}
	defer r.Close()
	h := r.Head()
	if err := say("producer %d of %d, run id %d, batches of %d messages of %d bytes", h.Producer, h.Producers, h.RunID, h.BatchMessages, h.MessageBytes); err != nil {
		return err
	}
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		err = say("batch %d  %v  due %.6f s  sent +%.3f ms  done +%.3f ms  tries %d  offset %d", rec.Sequence, rec.Outcome, float64(rec.DueNs)/1e9,
			float64(rec.SentNs-rec.DueNs)/1e6, float64(rec.DoneNs-rec.SentNs)/1e6, rec.Tries, rec.Offset)
		if err != nil {
			return err
		}
	}
	if r.Torn() {
		return say("the file ends inside a block: its writer was killed")
	}
	return nil
}

func dumpHlog(path string, say sayer) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return results.ReadHlog(f, func(i results.Interval) error {
		h := i.Histogram
		return say("%7.1f s  %-12s %-8s  count %d  p50 %s  p99 %s  max %s", float64(i.FromNs)/1e9, i.Kind, i.Phase, h.Count(),
			h.QuantileText(0.5), h.QuantileText(0.99), nsText(h.MaxNs()))
	})
}

// dumpEvents prints the events of a run, or a node's own file as it stands.
func dumpEvents(path string, say sayer) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := results.NewLineReader[map[string]any](f)
	for {
		e, err := lines.Next()
		var damage *results.LineError
		switch {
		case err == io.EOF:
			return nil
		case errors.As(err, &damage):
			if err := say("%v", damage); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		}
		if err := say("%s", eventText(e)); err != nil {
			return err
		}
	}
}

// eventText puts time, source and kind first and the rest in the order of their names.
func eventText(e map[string]any) string {
	at := "          "
	if ns, ok := e["t_ns"].(float64); ok {
		at = fmt.Sprintf("%9.3f s", ns/1e9)
	} else if ns, ok := e["t_mono_ns"].(float64); ok {
		at = fmt.Sprintf("%.3f s", ns/1e9)
	}
	text := fmt.Sprintf("%s  %-8v %-18v", at, firstOf(e, "source", "node"), e["kind"])
	for _, key := range sortedKeys(e) {
		switch key {
		case "t_ns", "t_mono_ns", "source", "kind":
		default:
			text += fmt.Sprintf("  %s %v", key, plain(e[key]))
		}
	}
	return strings.TrimRight(text, " ")
}
