package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rejoin/loadgen"
	"rejoin/results"
)

type dumpCommand struct {
	Path string `arg:"" help:"A segment (.seg), its index (.idx), a client table (.tab), state file (node.state, state, mark, start), ledger (.ledger), interval log (.hlog), profile (.pb.gz), lines of JSON (.ndjson: events, status, rates), or a file of JSON (run.json, summary.json, proof.json and the like)."`
	Max  int    `help:"Print at most so many records, headings not counted; 0 is all." default:"0" placeholder:"N"`
}

// Help is shown by bench dump --help.
func (dumpCommand) Help() string {
	return `The kind of a file is told by its name. Damage is shown where it stands.

Examples:
  bench dump results/latest/ledger/p0000.ledger --max 20
  bench dump results/latest/summary.json
  bench dump results/latest/profiles/n0-cpu-steady.pb.gz --max 15`
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
	if c.Max < 0 {
		return usage("--max %d: pass how many records to print, or 0 for all", c.Max)
	}
	title := func(format string, args ...any) { fmt.Fprintf(env.out, format+"\n", args...) }
	err := dumpFile(c.Path, title, say)
	if err != nil && !errors.Is(err, errEnough) {
		return usage("dump %s: %w", c.Path, err)
	}
	return nil
}

// sayer prints one record.
type sayer func(format string, args ...any) error

// titler prints what stands above the records.
type titler func(format string, args ...any)

func dumpFile(path string, title titler, say sayer) error {
	name := filepath.Base(path)
	switch ext := filepath.Ext(name); {
	case ext == segmentSuffix:
		return dumpSegment(path, say)
	case ext == ".ledger":
		return dumpLedger(path, title, say)
	case ext == ".hlog":
		return dumpHlog(path, say)
	case ext == ".ndjson":
		return dumpEvents(path, say)
	case ext == ".json":
		return dumpJSON(path, say)
	case strings.HasSuffix(name, ".pb.gz") || ext == ".pb" || ext == ".pprof":
		return dumpProfile(path, title, say)
	case ext == ".idx":
		return dumpIndex(path, title, say)
	case ext == ".tab":
		return dumpTable(path, say)
	case name == "node.state" || name == "state" || name == "mark" || name == "start":
		return dumpCopies(path, say)
	}
	return unknownKind(path)
}

// unknownKind says what can be printed, and what to do with a file that cannot.
func unknownKind(path string) error {
	advice := ""
	switch info, err := os.Stat(path); {
	case err == nil && info.IsDir():
		advice = "; this is a folder: name a file in it"
	case slices.Contains([]string{".txt", ".log", ".md", ".yaml"}, filepath.Ext(path)):
		advice = "; this one is text as it stands"
	case slices.Contains([]string{".html", ".svg", ".png"}, filepath.Ext(path)):
		advice = "; this one is for a browser"
	}
	return fmt.Errorf(`by its name it is none of the files that bench dump can print%s. It prints
  of a run       *.ledger  *.hlog  *.ndjson  *.json  *.pb.gz
  of a node      *.seg (segment)  *.idx (its index)  *.tab (client table)  node.state  state  mark  start`, advice)
}

func dumpLedger(path string, title titler, say sayer) error {
	r, err := loadgen.OpenLedger(path)
	if err != nil {
		return err
	}
	defer r.Close()
	h := r.Head()
	title("producer %d of %d, run id %d, batches of %d messages of %d bytes; sent and latency count from when a batch was due",
		h.Producer, h.Producers, h.RunID, h.BatchMessages, h.MessageBytes)
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if err := say("%s", recordText(rec)); err != nil {
			return err
		}
	}
	if r.Torn() {
		return say("the file ends inside a block: its writer was killed")
	}
	return nil
}

// recordText tells a batch's story. What was not acknowledged has no latency, only a time at which it was given up, and no offset.
func recordText(r loadgen.Record) string {
	text := fmt.Sprintf("batch %d  %v  due %.6f s", r.Sequence, r.Outcome, float64(r.DueNs)/1e9)
	if r.Tries > 0 {
		text += fmt.Sprintf("  sent +%.3f ms", float64(r.SentNs-r.DueNs)/1e6)
	}
	took := float64(r.DoneNs-r.DueNs) / 1e6
	switch {
	case r.Outcome == loadgen.OutcomeOK:
		return text + fmt.Sprintf("  latency %.3f ms  tries %d  offset %d", took, r.Tries, r.Offset)
	case r.Late:
		return text + fmt.Sprintf("  acknowledged too late, +%.3f ms  tries %d  offset %d", took, r.Tries, r.Offset)
	}
	return text + fmt.Sprintf("  given up +%.3f ms  tries %d", took, r.Tries)
}

func dumpHlog(path string, say sayer) error {
	f, err := results.OpenRegular(path)
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

// dumpEvents prints the events of a run, or a node's own file as it stands; and the other files of lines, which have no kind.
func dumpEvents(path string, say sayer) error {
	f, err := results.OpenRegular(path)
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

// eventText puts time, source or node, and kind first and the rest in the order of their names.
func eventText(e map[string]any) string {
	at := "          "
	if ns, ok := e["t_ns"].(float64); ok {
		at = fmt.Sprintf("%9.3f s", ns/1e9)
	} else if ns, ok := e["t_mono_ns"].(float64); ok {
		at = fmt.Sprintf("%.3f s", ns/1e9)
	}
	text, shown := at, []string{"t_ns", "t_mono_ns"}
	for _, column := range []struct {
		keys  []string
		width int
	}{{[]string{"source", "node"}, 8}, {[]string{"kind"}, 18}} {
		if key := firstOf(e, column.keys...); key != "" {
			text += fmt.Sprintf("  %-*v", column.width, e[key])
			shown = append(shown, key)
		}
	}
	for _, key := range sortedKeys(e) {
		if !slices.Contains(shown, key) {
			text += fmt.Sprintf("  %s %v", key, plain(e[key]))
		}
	}
	return plainLine(strings.TrimRight(text, " "))
}
