package main

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"rejoin/server"
)

func scenarioDocs(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/scenarios.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDocsTellEveryField holds docs/scenarios.md to its promise that every field stands in it, with its default.
func TestDocsTellEveryField(t *testing.T) {
	text := scenarioDocs(t)
	kinds := []reflect.Type{reflect.TypeFor[Scenario](), reflect.TypeFor[PayloadShape](), reflect.TypeFor[LoadStep](), reflect.TypeFor[Fault](),
		reflect.TypeFor[Demands](), reflect.TypeFor[Consumers](), reflect.TypeFor[server.Limits]()}
	for _, kind := range kinds {
		for field := range kind.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
			if !strings.Contains(text, "`"+name+"`") && !strings.Contains(text, "`"+name+":") && !strings.Contains(text, "{"+name+":") && !strings.Contains(text, ", "+name+":") {
				t.Errorf("%s of %s is not explained", name, kind.Name())
			}
		}
	}
	d := scenarioDefaults()
	for name, value := range map[string]any{"producers": d.Producers, "batch_messages": d.BatchMessages, "payload_bytes": d.PayloadBytes,
		"nodes": d.Nodes, "messages_per_s": d.MessagesPerS, "quiet_max": "60s", "duration": "60s", "zipf_exponent": d.Payload.ZipfExponent,
		"arrival": "`" + d.Arrival + "`", "durability": "`" + d.Durability + "`", "target": "`" + d.Target + "`"} {
		row := rowOf(text, name)
		if len(row) < 4 || strings.TrimSpace(row[3]) != fmt.Sprint(value) {
			t.Errorf("%s: the default is %v, the docs say %q", name, value, row)
		}
	}
	if !strings.Contains(text, "| `late_p99_max` | duration, "+lateP99Default.String()+" |") {
		t.Errorf("the default of late_p99_max, %v, is not told", lateP99Default)
	}
	if !strings.Contains(text, `mine.yaml:3:20: faults[0].kill: node "n7"`) {
		t.Error("the example of a refusal is gone; TestScenarioRefusalPointsAtThePlace has it")
	}
}

func rowOf(text, field string) []string {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "| `"+field+"` |") {
			return strings.Split(line, "|")
		}
	}
	return nil
}

// TestDocsExamples: every example is a scenario that --print keeps as it is, and the one that needs no cluster passes.
func TestDocsExamples(t *testing.T) {
	playedOnce(t, "a whole run")
	blocks := strings.Split(scenarioDocs(t), "```yaml\n")[1:]
	if len(blocks) < 3 {
		t.Fatalf("%d examples", len(blocks))
	}
	for i, block := range blocks {
		text, _, _ := strings.Cut(block, "```")
		s, err := parseScenario(fmt.Sprintf("example %d", i+1), []byte(text))
		if err != nil {
			t.Error(err)
			continue
		}
		printed, err := s.toYAML()
		if err != nil {
			t.Fatal(err)
		}
		back, err := parseScenario("printed", printed)
		if err != nil || !reflect.DeepEqual(s, back) {
			t.Errorf("example %d reads back as (%v)\n%+v\n%+v", i+1, err, s, back)
		}
		if s.Target != targetMemory {
			continue
		}
		path := t.TempDir() + "/example.yaml"
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if code, out := bench(t, "--results", t.TempDir(), "run", path); code != 0 {
			t.Errorf("example %d: exit code %d\n%s", i+1, code, out)
		}
	}
}
