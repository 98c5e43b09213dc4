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

// TestScripts plays every script with its mistakes, if it has any, and without. With them the named
// property must be the first to break, without them nothing may; and the situation must have arisen
// both times.
func TestScripts(t *testing.T) {
	for name, file := range scriptFiles(t) {
		t.Run(name, func(t *testing.T) {
			s := readScript(t, name, file)
			story := ""
			plays := []bool{true, false}
			if len(s.Switches) == 0 {
				plays = plays[1:]
			}
			for _, mistaken := range plays {
				played, err := s.Play(mistaken, newArena(t))
				if err != nil {
					t.Fatal(err)
				}
				title := "with " + strings.Join(s.Switches, ", ")
				if !mistaken {
					title = "without a mistake"
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

// TestScriptErrors: an error names the line, and what was expected there.
func TestScriptErrors(t *testing.T) {
	const head = "switch HollowHead\nproperty S5\n"
	for text, want := range map[string]string{
		"":                                     `x.txt:1: expected a step somewhere, found none`,
		"property S5":                          `x.txt:1: expected a line "switch NAME" somewhere, found none`,
		"switch HollowHead\nappend 1":          `x.txt:2: expected a line "property NAME" somewhere, found none`,
		head:                                   `x.txt:3: expected a step somewhere, found none`,
		"switch HollowHat":                     `x.txt:1: after "switch" expected a switch: InstallBelowHeardCommit`,
		head + "appendix 3":                    `x.txt:3: expected a word of the head (switch, property`,
		head + "append":                        `x.txt:3: after "append" expected a number, found the end of the line`,
		head + "append three":                  `x.txt:3: after "append" expected a number, found "three"`,
		head + "append 3 4":                    `x.txt:3: after "append 3" expected the end of the line, found "4"`,
		head + "\n# a note\nkill r7":           `x.txt:5: after "kill" expected a replica, r0 to r4, found "r7"`,
		head + "kill":                          `x.txt:3: after "kill" expected a replica, r0 to r4, found the end of the line`,
		head + "drop prepares to r0":           `x.txt:3: after "drop" expected all, or a kind of message such as prepare_ok, found "prepares"`,
		head + "drop prepare, to r0":           `x.txt:3: after "drop prepare," expected all, or a kind of message such as prepare_ok, found "to"`,
		head + "drop prepare from":             `x.txt:3: after "drop prepare from" expected a replica`,
		head + "delay prepare to r0 2s":        `x.txt:3: after "delay prepare to r0" expected "by", found "2s"`,
		head + "run 2":                         `x.txt:3: after "run" expected a duration such as 200ms, found "2"`,
		head + "until r0 leads view 3 in 2s":   `x.txt:3: after "until r0 leads view 3" expected a field: leads, state, view`,
		head + "until r0 commit forty":         `x.txt:3: after "until r0 commit" expected a number, or one like 40+ for that or more, found "forty"`,
		head + "until r0 leads within soon":    `x.txt:3: after "until r0 leads within" expected a duration`,
		head + "expect saw repair_begins r0":   `x.txt:3: after "expect saw repair_begins" expected "at", found "r0"`,
		head + "append 1\nkeep 8":              `x.txt:4: expected a step, found "keep", which belongs above the first one`,
		head + "keep 1\n":                      `x.txt:3: after "keep" expected 2 or more, found "1"`,
		head + "bulk 40ms per KiB\n":           `x.txt:3: after "bulk 40ms" expected "a", found "per"`,
		head + "replicas 4\nappend 1":          `x.txt:3: after "replicas" expected 1, 3 or 5, found "4"`,
		head + "offer at r0 twice":             `x.txt:3: after "offer at r0" expected the end of the line, found "twice"`,
		head + "load off\nload by 2 every day": `x.txt:4: after "load by 2 every" expected a duration`,
	} {
		_, err := ParseScript("x", "x.txt", text)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q\ngives  %v\nwanted %s", text, err, want)
		}
	}
}

// TestScriptThatCannotBePlayed: what a script waits for or expects in vain is its own mistake, not the
// log's.
func TestScriptThatCannotBePlayed(t *testing.T) {
	const head = "switch HollowHead\nproperty S5\nuntil r1 leads view 1\n"
	for text, want := range map[string]string{
		head + "until r0 leads within 1s":               "x.txt:4: until r0 leads within 1s: after 1 s r0 does not lead",
		head + "expect r0 head 7":                       "x.txt:4: expect r0 head 7: r0 has head 0, not 7",
		head + "kill r0\nexpect r0 state normal":        "x.txt:5: expect r0 state normal: r0 does not run",
		head + "expect saw do_view_change to r0":        "x.txt:4: expect saw do_view_change to r0: do_view_change to r0 was seen 0 times, not 1+",
		head + "kill r4":                                "x.txt:4: kill r4: there is no r4",
		head + "kill r0 r1\nappend 1":                   "x.txt:5: append 1: an op is not acknowledged",
		head + "expect saw view_change_begins at r1 9+": "x.txt:4: expect saw view_change_begins at r1 9+: view_change_begins at r1 was seen 1 times",
	} {
		s, err := ParseScript("x", "x.txt", text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = s.Play(false, newArena(t)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q\ngives  %.200v\nwanted %s", text, err, want)
		}
	}
}
