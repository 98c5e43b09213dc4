package mutants

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// root of the module, as seen from here.
const root = "../../.."

// mutant is one file of this folder.
type mutant struct {
	name    string
	fear    string
	rare    string // why seeds do not meet it, if they do not
	pkg     string // whose test must fail
	test    string
	changes []change
}

// change is a run of lines of a file and what takes its place.
type change struct {
	file     string
	old, new []string
}

func mutants(t *testing.T) (all []mutant) {
	t.Helper()
	names, err := filepath.Glob("*.txt")
	if err != nil || len(names) == 0 {
		t.Fatalf("no mutants here: %v", err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		m, err := parse(strings.TrimSuffix(name, ".txt"), string(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, m)
	}
	return all
}

func parse(name, text string) (m mutant, err error) {
	m.name = name
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if file, ok := strings.CutPrefix(line, "--- "); ok {
			m.changes = append(m.changes, change{file: file})
			continue
		}
		if len(m.changes) == 0 {
			key, value, ok := strings.Cut(line, ": ")
			switch {
			case ok && key == "fear":
				m.fear = value
			case ok && key == "rare" && value != "":
				m.rare = value
			case ok && key == "test":
				m.pkg, m.test, _ = strings.Cut(value, " ")
			default:
				return m, fmt.Errorf("line %d: %q before the first change", i+1, line)
			}
			continue
		}
		c := &m.changes[len(m.changes)-1]
		if line == "" || !strings.ContainsRune("-+ ", rune(line[0])) {
			return m, fmt.Errorf("line %d: %q begins with neither -, + nor a space", i+1, line)
		}
		if line[0] != '+' {
			c.old = append(c.old, line[1:])
		}
		if line[0] != '-' {
			c.new = append(c.new, line[1:])
		}
	}
	if m.fear == "" || m.pkg == "" || m.test == "" || len(m.changes) == 0 {
		return m, fmt.Errorf("a mutant says fear:, test: with a package and a name, and at least one change")
	}
	return m, nil
}

// apply returns the changed files.
func (m *mutant) apply() (map[string]string, error) {
	files := map[string]string{}
	for i, c := range m.changes {
		text, ok := files[c.file]
		if !ok {
			b, err := os.ReadFile(filepath.Join(root, c.file))
			if err != nil {
				return nil, err
			}
			text = "\n" + string(b)
		}
		old, changed := lines(c.old), lines(c.new)
		if n := strings.Count(text, old); n != 1 || len(c.old) == 0 {
			return nil, fmt.Errorf("change %d: %s holds these lines %d times, not once:%s", i+1, c.file, n, old)
		}
		if old == changed {
			return nil, fmt.Errorf("change %d changes nothing", i+1)
		}
		files[c.file] = strings.Replace(text, old, changed, 1)
	}
	for name, text := range files {
		files[name] = text[1:]
	}
	return files, nil
}

// lines joins whole lines, with the ends of those around them.
func lines(l []string) string {
	if len(l) == 0 {
		return "\n"
	}
	return "\n" + strings.Join(l, "\n") + "\n"
}

// overlay writes what go build takes for -overlay, and returns its name.
func (m *mutant) overlay(t *testing.T) string {
	t.Helper()
	files, err := m.apply()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	replace, temp := map[string]string{}, t.TempDir()
	for name, text := range files {
		to := filepath.Join(temp, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(dir, filepath.FromSlash(name))] = to
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(temp, "overlay.json")
	if err := os.WriteFile(list, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return list
}
