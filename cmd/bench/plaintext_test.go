package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rejoin/results"
)

func TestPlainText(t *testing.T) {
	for text, want := range map[string]string{
		"p99 – 3 ms\tof\nn0":    "p99 – 3 ms\tof\nn0",
		"\x1b[31mred\x1b]0;x\a": `\x1b[31mred\x1b]0;x\x07`,
		"\u009b31m\u007f\r":     `\x9b31m\x7f\x0d`,
		"a\u202eb\u2028c":       `a\u202eb\u2028c`,
		"\xff\x9b\ufffd":        `\xff\x9b` + "\ufffd",
	} {
		if got := plainText(text); got != want {
			t.Errorf("plainText(%q) = %q, want %q", text, got, want)
		}
	}
	if got := plainLine("a\nb\tc"); got != `a\nb\tc` {
		t.Errorf("plainLine: %q", got)
	}
}

// TestPlainWriterTakesCharactersInParts: a character may arrive in several writes.
func TestPlainWriterTakesCharactersInParts(t *testing.T) {
	var out bytes.Buffer
	w := &plainWriter{to: &out}
	for _, b := range []byte("€ \x1b\u009b–") {
		if n, err := w.Write([]byte{b}); n != 1 || err != nil {
			t.Fatalf("wrote %d, %v", n, err)
		}
	}
	if got, want := out.String(), `€ \x1b\x9b–`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestNoEscapesReachTheTerminal: reasons, events and scenarios in files of somebody else's are shown, never obeyed, and forge no line.
func TestNoEscapesReachTheTerminal(t *testing.T) {
	const evil = "\x1b]0;owned\a\x1b[2J\u009b31m\npass   forged"
	root := t.TempDir()
	folder, err := results.Create(root, "builtin", "quick", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	asked := results.Asked{Target: evil, ScenarioName: evil, Scenario: json.RawMessage(`{"nodes": "` + `\u001b[31m` + `"}`)}
	if err := folder.WriteRun(results.Run{Status: results.StatusFinished, StartedAt: time.Now(), Asked: asked, Error: evil}); err != nil {
		t.Fatal(err)
	}
	summary := results.Summary{Verdict: results.Verdict(evil), Reasons: []string{evil}}
	if err := folder.WriteSummary(summary); err != nil {
		t.Fatal(err)
	}
	event, err := json.Marshal(map[string]any{"t_ns": 1, "source": evil, "kind": evil, evil: evil})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(folder.Events(), append(event, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
	scenario := filepath.Join(root, "s.yaml")
	if err := os.WriteFile(scenario, []byte("about: \"\x1b[31m\"\nnodes: 9"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"list"}, {"dump", folder.Events()}, {"run", "--from", folder.Dir}, {"run", scenario}, {"verify", folder.Dir},
		{"compare", folder.Dir, folder.Dir}, {"run", "--" + evil}, {"export", folder.Dir, evil}, {"run", evil},
	} {
		var out, errs bytes.Buffer
		run(t.Context(), append(args, "--results", root), &out, &errs)
		said := out.String() + errs.String()
		if strings.ContainsAny(said, "\x1b\a\u009b") {
			t.Errorf("bench %.40q: %q", args, said)
		}
		if (args[0] == "list" || args[0] == "dump") && strings.Contains(said, "\npass") || said == "" {
			t.Errorf("bench %.40q says %q", args, said)
		}
	}
}
