package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rejoin/results"
)

// TestJSONOutput parses every line that a run prints for programs, by the one schema and nothing beside it.
func TestJSONOutput(t *testing.T) {
	playedOnce(t, "a whole run")
	var out, errs bytes.Buffer
	root := t.TempDir()
	code := run(t.Context(), []string{"--results", root, "run", memoryScenario(t, "demands: {late_p99_max: 1s, canary_change_max: 100}"), "--json"}, &out, &errs)
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, errs.String())
	}
	kinds := map[results.Kind]int{}
	types := map[string]int{}
	var last outputLine
	for line := range strings.Lines(out.String()) {
		decoder := json.NewDecoder(strings.NewReader(line))
		decoder.DisallowUnknownFields()
		var l outputLine
		if err := decoder.Decode(&l); err != nil {
			t.Fatalf("%v\n%s", err, line)
		}
		given := map[string]bool{outputMessage: l.Message != nil, outputEvent: l.Event != nil, outputProgress: l.Progress != nil, outputVerdict: l.Verdict != nil}
		if l.SchemaVersion != outputSchemaVersion || l.TMonoNs <= 0 || !given[l.Type] {
			t.Errorf("%s", line)
		}
		for kind, there := range given {
			if there && kind != l.Type {
				t.Errorf("a line of type %s has %s too: %s", l.Type, kind, line)
			}
		}
		if l.Event != nil {
			kinds[l.Event.Kind]++
		}
		types[l.Type]++
		last = l
	}
	if last.Type != outputVerdict || last.Verdict.ExitCode != 0 || last.Verdict.Verdict != results.Pass || types[outputVerdict] != 1 || last.DroppedLines != 0 {
		t.Errorf("the last line is %+v of %v", last, types)
	}
	if kinds[results.KindKill] != 1 || kinds[results.KindRestart] != 1 || kinds[results.KindLoadStart] != 1 || kinds[results.KindRunEnd] != 1 {
		t.Errorf("events are %v", kinds)
	}
	if types[outputProgress] < 2 || types[outputMessage] < 3 {
		t.Errorf("lines are %v", types)
	}
	if !strings.Contains(errs.String(), "pass (exit code 0)") || strings.Contains(out.String(), "\x1b") {
		t.Errorf("text for people:\n%s", errs.String())
	}
}

// TestJSONOutputNeverWaits: a reader that takes nothing costs lines, which are counted, and no time.
func TestJSONOutputNeverWaits(t *testing.T) {
	reader, writer := io.Pipe()
	o := newEventsOutput(writer)
	began := time.Now()
	for range outputQueue + 500 {
		o.event(results.Event{Kind: results.KindKill})
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	if o.dropped < 400 {
		t.Errorf("%d lines were dropped", o.dropped)
	}
	reader.Close() // nobody will ever read: the run ends all the same
	o.close(nil, func(text string) { t.Errorf("waited: %s", text) })
	o.message("after the end")
}

// TestJSONVerdictIsNeverDropped: a reader that takes nothing until long after the end still gets the verdict, as the last line, and the number of
// lines that it missed.
func TestJSONVerdictIsNeverDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader, writer := io.Pipe()
		o := newEventsOutput(writer)
		const told = outputQueue + 500
		for range told {
			o.event(results.Event{Kind: results.KindKill})
		}
		o.verdict(runVerdict{Verdict: results.Fail, ExitCode: results.ExitLoss, Reasons: []string{"3 batches lost"}})
		o.message("behind the verdict")
		said := 0
		go func() {
			o.close(t.Context().Done(), func(string) { said++ })
			writer.Close()
		}()
		time.Sleep(time.Hour)
		synctest.Wait()
		lines := 0
		var last outputLine
		for decoder := json.NewDecoder(reader); ; lines++ {
			var l outputLine
			if err := decoder.Decode(&l); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			last = l
		}
		if last.Type != outputVerdict || last.Verdict.ExitCode != results.ExitLoss {
			t.Fatalf("the last of %d lines is %+v", lines, last)
		}
		if got := int64(lines-1) + last.DroppedLines; got != told || said != 1 {
			t.Errorf("%d lines and %d dropped, %d were told; a person was told of the wait %d times", lines-1, last.DroppedLines, told, said)
		}
	})
}

// TestInterruptEndsTheWaitForAReader: a person who stops the run is not held up by a program that does not read.
func TestInterruptEndsTheWaitForAReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader, writer := io.Pipe()
		o := newEventsOutput(writer)
		o.verdict(runVerdict{Verdict: results.Interrupted})
		interrupted := make(chan struct{})
		close(interrupted)
		began := time.Now()
		o.close(interrupted, func(string) {})
		if took := time.Since(began); took != 2*outputCloseLimit {
			t.Errorf("took %v", took)
		}
		reader.Close()
	})
}
