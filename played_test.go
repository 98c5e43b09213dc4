package house

import (
	"go/ast"
	"go/build/constraint"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// gateTargets are the targets of the Makefile that .ci/run makes.
var gateTargets = []string{"test", "sim", "check"}

// testLine is one `go test` of the Makefile.
type testLine struct {
	text        string
	module      string   // folder of the module whose packages it tests; "" is the root
	patterns    []string // of packages, from there
	tags        []string
	race, short bool
	run, skip   *regexp.Regexp // nil: not given
}

// plays tells whether the line plays a test.
func (l *testLine) plays(p played) bool {
	matches := func(pattern string) bool {
		whole := path.Join(l.module, strings.TrimPrefix(pattern, "./"))
		room, below := strings.CutSuffix(whole, "...")
		return whole == p.dir || below && (room == "" || under(p.dir, strings.TrimSuffix(room, "/")))
	}
	return l.module == moduleOf(p.dir) && slices.ContainsFunc(l.patterns, matches) && (p.tag == "" || slices.Contains(l.tags, p.tag)) && !(l.short && p.notShort) &&
		(l.run == nil || l.run.MatchString(p.name)) && (l.skip == nil || !l.skip.MatchString(p.name))
}

// played is a test function.
type played struct {
	dir, name string
	tag       string // that its file asks for
	notShort  bool   // it leaves itself out under -short
}

// moduleOf is the folder of the module that a package is of: the nearest one with a go.mod.
func moduleOf(dir string) string {
	for ; dir != "" && dir != "."; dir = path.Dir(dir) {
		if _, err := os.Stat(path.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	return ""
}

var variable = regexp.MustCompile(`\$\(([A-Z_]+)\)`)

// testLines reads what the given targets test.
func testLines(t *testing.T, targets []string) (lines []*testLine) {
	t.Helper()
	text, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	variables, target := map[string]string{}, ""
	for line := range strings.Lines(string(text)) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), " := "); found && !strings.HasPrefix(line, "\t") {
			variables[name] = value
		}
	}
	for line := range strings.Lines(string(text)) {
		command, isCommand := strings.CutPrefix(line, "\t")
		if name, _, found := strings.Cut(line, ":"); found && !isCommand {
			target = name
		}
		if isCommand && slices.Contains(targets, target) && strings.HasPrefix(command, "go test ") {
			expanded := variable.ReplaceAllStringFunc(command, func(v string) string { return variables[v[2:len(v)-1]] })
			lines = append(lines, parseTestLine(t, strings.ReplaceAll(expanded, "$$", "$")))
		}
	}
	return lines
}

// parseTestLine reads the flags that choose tests, and the packages.
func parseTestLine(t *testing.T, text string) *testLine {
	l, words := &testLine{text: strings.TrimSpace(text)}, strings.Fields(text)
	for i, word := range words {
		value := ""
		if i+1 < len(words) {
			value = strings.Trim(words[i+1], `'"`)
		}
		switch word {
		case "-C":
			l.module = value
		case "-race":
			l.race = true
		case "-short":
			l.short = true
		case "-tags":
			l.tags = strings.Split(value, ",")
		case "-run":
			l.run = regexp.MustCompile(value)
		case "-skip":
			l.skip = regexp.MustCompile(value)
		default:
			if strings.HasPrefix(word, "./") {
				l.patterns = append(l.patterns, word)
			}
		}
	}
	if len(l.patterns) == 0 {
		t.Fatalf("Makefile: %q names no package", l.text)
	}
	return l
}

// testsOf are the tests of a file.
func testsOf(s source) (all []played) {
	tag := ""
	for _, group := range s.file.Comments {
		for _, c := range group.List {
			if expr, err := constraint.Parse(c.Text); err == nil && !expr.Eval(func(string) bool { return false }) {
				tag = expr.String()
			}
		}
	}
	for _, d := range s.file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil || f.Name.Name == "TestMain" || !strings.HasPrefix(f.Name.Name, "Test") {
			continue
		}
		p := played{dir: s.dir, name: f.Name.Name, tag: tag}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && (id.Name == "Short" || id.Name == "playedOnce") {
				p.notShort = true
			}
			return true
		})
		all = append(all, p)
	}
	return all
}

// TestEveryTestIsPlayed: whatever the Makefile leaves out somewhere is played elsewhere, and the names in its groups are names of tests.
func TestEveryTestIsPlayed(t *testing.T) {
	lines, names := testLines(t, gateTargets), map[string]bool{}
	for _, s := range sources(t) {
		if !s.test {
			continue
		}
		for _, p := range testsOf(s) {
			names[p.name] = true
			if !slices.ContainsFunc(lines, func(l *testLine) bool { return l.plays(p) }) {
				t.Errorf("%s.%s is played by no `go test` of the targets %v in the Makefile", path.Join(module, p.dir), p.name, gateTargets)
			}
		}
	}
	if len(names) < 300 || len(lines) < 6 {
		t.Fatalf("%d tests and %d lines were found", len(names), len(lines))
	}
	group := regexp.MustCompile(`\bTest[A-Z]\w+`)
	for _, l := range lines {
		for _, name := range group.FindAllString(l.text, -1) {
			if !names[name] {
				t.Errorf("the Makefile names %s, and there is no such test: %s", name, l.text)
			}
		}
	}
}

// TestALinePlaysItsModule: "./..." ends where another module begins, in both directions.
func TestALinePlaysItsModule(t *testing.T) {
	inside, outside := played{dir: "peers/raft", name: "TestThreeNodes"}, played{dir: "server/vsr", name: "TestScripts"}
	for text, plays := range map[string][2]bool{"go test ./...": {false, true}, "go test -C peers/raft ./...": {true, false}, "go test ./peers/...": {false, false}} {
		if l := parseTestLine(t, text); l.plays(inside) != plays[0] || l.plays(outside) != plays[1] {
			t.Errorf("%s plays the test of the module inside: %v, of the root: %v", text, l.plays(inside), l.plays(outside))
		}
	}
}

// TestGoroutinesMeetTheRaceDetector: a package that starts goroutines is tested with the race detector.
func TestGoroutinesMeetTheRaceDetector(t *testing.T) {
	lines, tests, starts := testLines(t, gateTargets), map[string][]played{}, map[string]string{}
	for _, s := range sources(t) {
		if s.test {
			tests[s.dir] = append(tests[s.dir], testsOf(s)...)
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, isCall := n.(*ast.CallExpr)
			if isCall {
				selector, ok := call.Fun.(*ast.SelectorExpr)
				isCall = ok && selector.Sel.Name == "Go"
			}
			if _, isGo := n.(*ast.GoStmt); isGo || isCall {
				starts[s.dir] = s.path
			}
			return true
		})
	}
	if len(starts) < 8 {
		t.Fatalf("only %d packages start goroutines: the search is broken", len(starts))
	}
	for dir, file := range starts {
		raced := slices.ContainsFunc(tests[dir], func(p played) bool {
			return slices.ContainsFunc(lines, func(l *testLine) bool { return l.race && l.plays(p) })
		})
		if len(tests[dir]) > 0 && !raced {
			t.Errorf("%s starts goroutines and no test of its package runs with the race detector: add it to RACE in the Makefile", file)
		}
	}
}
