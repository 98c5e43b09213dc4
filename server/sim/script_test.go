package sim

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var updateFlag = flag.Bool("update", false, "write the golden transcripts of the scripts anew")

// scriptFiles are the scripts, by name.
func scriptFiles(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	byName := map[string]string{}
	for _, f := range files {
		byName[strings.TrimSuffix(filepath.Base(f), ".txt")] = f
	}
	return byName
}

func readScript(t *testing.T, name, file string) *Script {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ParseScript(name, file, string(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestScripts plays every script with its mistakes and without. With them the named property must be
// the first to break, without them nothing may; and the situation must have arisen both times.
func TestScripts(t *testing.T) {
	for name, file := range scriptFiles(t) {
		t.Run(name, func(t *testing.T) {
			s := readScript(t, name, file)
			story := ""
			for _, mistaken := range []bool{true, false} {
				played, err := s.Play(mistaken, newArena(t))
				if err != nil {
					t.Fatal(err)
				}
				title := "with " + strings.Join(s.Switches, ", ")
				if !mistaken {
					title = "without"
				}
				story += title + "\n\n" + played.Transcript + "\n"
				for _, m := range played.Missing {
					t.Errorf("%s: the situation did not arise: %s", title, m)
				}
				switch f := played.Failure; {
				case mistaken && f == nil:
					t.Errorf("%s: nothing breaks, %s should", title, s.Property)
				case mistaken && f.Property != s.Property:
					t.Errorf("%s: %s should break: %v", title, s.Property, f)
				case !mistaken && f != nil:
					t.Errorf("%s: %v", title, f)
				}
			}
			compareGolden(t, strings.TrimSuffix(file, ".txt")+".golden", story)
		})
	}
}

func compareGolden(t *testing.T, file, story string) {
	t.Helper()
	if *updateFlag {
		if err := os.WriteFile(file, []byte(story), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if story != string(want) {
		t.Errorf("the story is not that of %s; if it should not be, run go test ./server/sim -run TestScripts -update\n%s", file, story)
	}
}
