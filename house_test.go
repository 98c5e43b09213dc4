// Package house holds the rules that no compiler knows: who may import whom, how large things may grow, and what deterministic code may
// not contain. Each failure says what to do.
package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "rejoin"

// source is one parsed Go file of the module. Imports are read in this process: a test that asks `go list` is served from the test cache
// over a broken import.
type source struct {
	path  string // slash-separated, from the root
	dir   string // of its package; "" is the root
	test  bool
	file  *ast.File
	fset  *token.FileSet
	lines int
}

func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if skipDir(name, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		s, err := parseSource(name)
		all = append(all, s)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Fatalf("only %d Go files were found: the walk is broken", len(all))
	}
	return all
}

// skipDir leaves out what is no source of ours: runs, binaries, hidden folders, test data.
func skipDir(path, name string) bool {
	if path == "." {
		return false
	}
	return strings.HasPrefix(name, ".") || name == "testdata" || name == "bin" || strings.HasPrefix(path, "results"+string(filepath.Separator)+"2")
}

func parseSource(name string) (source, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return source{}, err
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return source{}, err
	}
	slash := filepath.ToSlash(name)
	dir := path.Dir(slash)
	if dir == "." {
		dir = ""
	}
	return source{path: slash, dir: dir, test: strings.HasSuffix(name, "_test.go"), file: file, fset: fset,
		lines: strings.Count(string(text), "\n")}, nil
}

// imports are the paths that a file imports.
func (s source) imports() []string {
	var all []string
	for _, spec := range s.file.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			all = append(all, p)
		}
	}
	return all
}

// ours cuts the module from an import path; false for others.
func ours(importPath string) (string, bool) {
	if importPath == module {
		return "", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

// under tells whether a package lies in a room or below it.
func under(dir string, rooms ...string) bool {
	return slices.ContainsFunc(rooms, func(room string) bool { return dir == room || strings.HasPrefix(dir, room+"/") })
}

// mayImport is the picture in ARCHITECTURE.md: package -> packages of ours that its code may import. Tests may import more: see
// TestLayers.
var mayImport = map[string][]string{
	"server/internal/mistake":  {},
	"server/vsr":               {"server/internal/mistake"},
	"server/wire":              {"server/vsr"},
	"server/journal":           {"server/vsr", "server/wire"},
	"server/events":            {"server/vsr", "server/wire"},
	"server/peer":              {"server/vsr", "server/wire"},
	"server/api":               {"server/vsr", "server/wire"},
	"server/partition":         {"server/vsr", "server/wire", "server/journal"},
	"server":                   {"server/vsr", "server/wire", "server/journal", "server/events", "server/peer", "server/api", "server/partition"},
	"server/journal/faultfs":   {"server/journal"},
	"server/sim/check":         {"server/vsr"}, // sees what an observer sees: neither what a simulation plants nor how it is made
	"server/sim/mutants":       {},
	"server/sim":               {"server/internal/mistake", "server/vsr", "server/wire", "server/journal", "server/journal/faultfs", "server/partition", "server/sim/check"},
	"results/trend":            {},
	"results":                  {"results/trend"},
	"results/compare":          {"results", "results/trend"},
	"profiles":                 {"results"},
	"plots/axis":               {},
	"plots":                    {"results", "plots/axis"},
	"plots/report":             {"results", "results/compare", "plots", "plots/axis"},
	"plots/report/sample":      {"results", "results/compare"},
	"plots/report/browsertest": {},
	"loadgen/socket":           {},
	"loadgen":                  {"results"},
	"loadgen/targettest":       {"loadgen"},
	"loadgen/target/memory":    {"loadgen"},
	"loadgen/target/builtin":   {"loadgen", "results", "loadgen/socket", "server/wire", "server/vsr"},
	"loadgen/target/kafka":     {"loadgen"},
	"loadgen/target/nats":      {"loadgen", "results"},
	"peers/raft":               {}, // a module of its own
}

// mayImportInTests widens mayImport for files that end in _test.go.
var mayImportInTests = map[string][]string{
	"plots/report":             {"plots/report/sample", "results/compare"},
	"plots/report/browsertest": {"results", "results/compare", "plots", "plots/report", "plots/report/sample", "profiles"},
	"loadgen":                  {"loadgen/target/memory"},
	"loadgen/target/memory":    {"loadgen/targettest"},
	"loadgen/target/builtin":   {"loadgen/targettest"},
	"loadgen/target/kafka":     {"loadgen/targettest"},
	"loadgen/target/nats":      {"loadgen/targettest"},
	"server/journal":           {"server/journal/faultfs"},
	"server/partition":         {"server/journal/faultfs"},
}

func TestLayers(t *testing.T) {
	for _, s := range sources(t) {
		if s.dir == "" || under(s.dir, "cmd/bench") {
			continue // only cmd/bench sees both islands
		}
		allowed, known := mayImport[s.dir]
		if !known {
			t.Errorf("%s: package %s has no place in the picture; give it one in mayImport and in ARCHITECTURE.md", s.path, s.dir)
			continue
		}
		if s.test {
			allowed = append(slices.Clone(allowed), mayImportInTests[s.dir]...)
		}
		for _, p := range s.imports() {
			if target, ok := ours(p); ok && target != s.dir && !slices.Contains(allowed, target) {
				t.Errorf("%s imports %s, which package %s may not: it may import %v; move the shared part down or define an interface at its consumer", s.path, target, s.dir, allowed)
			}
		}
	}
}

// simulated are the packages of which the simulator runs the code, and its own: they start nothing and wait for nothing, and the same inputs
// give the same outputs. determinism_test.go holds them to it.
var simulated = []string{"server/vsr", "server/internal/mistake", "server/wire", "server/journal", "server/journal/faultfs", "server/partition", "server/sim", "server/sim/check"}

// checkers are the files of the simulator that hold the promises of safety. They see what an observer sees: what the simulator plants in
// replicas, and by which script, is none of their business.
var checkers = []string{"server/sim/checker.go", "server/sim/lives.go", "server/sim/shadow.go"}

func TestCheckersKnowNothingOfWhatIsPlanted(t *testing.T) {
	found := 0
	for _, s := range sources(t) {
		if !slices.Contains(checkers, s.path) {
			continue
		}
		found++
		for _, p := range s.imports() {
			if strings.HasSuffix(p, "/mistake") {
				t.Errorf("%s imports %s: a checker that knows the mistake does not find the next one", s.path, p)
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if i, ok := n.(*ast.Ident); ok && slices.Contains([]string{"Mistakes", "switches", "switched", "script", "Switches"}, i.Name) {
				t.Errorf("%v: %s: a checker that knows what is planted does not find the next mistake", s.fset.Position(i.Pos()), i.Name)
			}
			return true
		})
	}
	if found != len(checkers) {
		t.Errorf("%d of %v were found: name them as they are called now", found, checkers)
	}
}

// vsrMayImport is all that the protocol may use: no clock, IO, randomness or goroutine can come in.
var vsrMayImport = []string{module + "/server/internal/mistake", "cmp", "errors", "fmt", "slices", "math", "math/bits", "strings", "strconv", "sort"}

func TestProtocolIsPure(t *testing.T) {
	for _, s := range sources(t) {
		if s.dir != "server/vsr" || s.test {
			continue
		}
		for _, p := range s.imports() {
			if !slices.Contains(vsrMayImport, p) {
				t.Errorf("%s imports %s: server/vsr moves numbers only; pass what you need in as an Input and hand the work out as an Effect", s.path, p)
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if _, ok := n.(*ast.ChanType); ok {
				t.Errorf("%v: a channel: server/vsr is called and returns; use a slice", s.fset.Position(n.Pos()))
			}
			return true
		})
	}
}

// checkerFiles hold the promises in the simulator. What finds a mistake must not know that it is made.
var checkerFiles = []string{"checker", "liveness", "shadow"}

// TestMistakesAreSimulated: a node can have no mistake switched on, because only package sim makes a set that has one.
func TestMistakesAreSimulated(t *testing.T) {
	const mistakes = "server/internal/mistake"
	calls := 0
	for _, s := range sources(t) {
		checks := s.dir == "server/sim" && slices.ContainsFunc(checkerFiles, func(name string) bool { return strings.HasPrefix(path.Base(s.path), name) })
		if checks && slices.Contains(s.imports(), module+"/"+mistakes) {
			t.Errorf("%s imports %s: the checker finds a mistake by what it does, not by its switch", s.path, mistakes)
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if checks && sel.Sel.Name == "Mistakes" {
				t.Errorf("%v: the checker looks at which mistakes are made", s.fset.Position(n.Pos()))
			}
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "mistake" && sel.Sel.Name == "Of" {
				if calls++; s.dir != "server/sim" {
					t.Errorf("%v: package %s makes a set of mistakes: only server/sim may; a node has none", s.fset.Position(n.Pos()), s.dir)
				}
			}
			return true
		})
	}
	if calls == 0 {
		t.Error("nobody calls mistake.Of: the rule looks for the wrong name")
	}
}

// oneImporter are libraries that exactly one package of ours may use, so that replacing one is the work of one package.
var oneImporter = []string{
	"github.com/alecthomas/kong", "github.com/HdrHistogram/hdrhistogram-go", "gonum.org/v1/plot",
	"github.com/nats-io/nats.go", "github.com/synadia-io/orbit.go", "github.com/twmb/franz-go", "golang.org/x/perf",
}

// onlyImporter are libraries whose importer is named, tests included: a process has one CPU profile, and one package knows who takes it.
var onlyImporter = map[string]string{"github.com/pkg/profile": "profiles", "github.com/google/pprof": "profiles", "runtime/pprof": "profiles"}

func TestOnlyTheNamedPackageImports(t *testing.T) {
	used := map[string]bool{}
	for _, s := range sources(t) {
		for _, p := range s.imports() {
			for library, owner := range onlyImporter {
				if !under(p, library) {
					continue
				}
				if used[library] = true; s.dir != owner {
					t.Errorf("%s imports %s, which is for package %s alone: give that package what you need", s.path, p, owner)
				}
			}
		}
	}
	for library, owner := range onlyImporter {
		if !used[library] {
			t.Errorf("package %s does not import %s any more: remove the rule", owner, library)
		}
	}
}

func TestOneImporterOfEachLibrary(t *testing.T) {
	for _, library := range oneImporter {
		importers := map[string]string{}
		for _, s := range sources(t) {
			for _, p := range s.imports() {
				if !s.test && under(p, library) {
					importers[s.dir] = s.path
				}
			}
		}
		if len(importers) > 1 {
			t.Errorf("%s is imported by several packages (%v): give one of them what the others need", library, importers)
		}
	}
}

// TestAdaptersHaveOneImporter: the package that drives load never sees an adapter, only cmd/bench does.
func TestAdaptersHaveOneImporter(t *testing.T) {
	for _, s := range sources(t) {
		for _, p := range s.imports() {
			if target, ok := ours(p); ok && !s.test && under(target, "loadgen/target") && s.dir != "cmd/bench" && s.dir != target {
				t.Errorf("%s imports the adapter %s: only cmd/bench knows adapters; take a loadgen.Target", s.path, target)
			}
		}
	}
}

// unsafeFiles compare addresses of buffers, or make system calls that the scheduler need not know of.
var unsafeFiles = []string{"server/wire/pool.go", "server/api/lend.go", "loadgen/socket/calls.go", "loadgen/timerfd.go", "server/wire/clock.go"}

func TestForbiddenImports(t *testing.T) {
	for _, s := range sources(t) {
		for _, p := range s.imports() {
			if p == "net/http/pprof" && s.dir != "server/api" {
				t.Errorf("%s imports net/http/pprof, which puts handlers on the default mux: profiles are served by the admin plane in server/api", s.path)
			}
			if p == "math/rand" {
				t.Errorf("%s imports math/rand: use math/rand/v2 with a seed that comes from options", s.path)
			}
			if p == "log" && s.dir != "server/api" {
				t.Errorf("%s imports log: take a *slog.Logger by options; only server/api hands one to a library that knows no other", s.path)
			}
			if p == "unsafe" && !s.test && !slices.Contains(unsafeFiles, s.path) {
				t.Errorf("%s imports unsafe: only %v need it, to know a buffer by its address or to make a system call that cannot block", s.path, unsafeFiles)
			}
		}
		for _, bad := range []string{"util", "utils", "common", "helpers", "base", "misc"} {
			if path.Base(s.dir) == bad {
				t.Errorf("%s: a package %s says nothing; name it after what it provides", s.path, bad)
			}
		}
	}
}

const (
	fileLinesMax     = 600
	functionLinesMax = 70
	tableLinesMax    = 100 // of a test function, which may hold a table of cases
)

// oversize are exceptions to the limits: path or path:function -> reason.
var oversize = map[string]string{}

func TestSizes(t *testing.T) {
	used := map[string]bool{}
	excused := func(key string) bool {
		used[key] = true
		return oversize[key] != ""
	}
	for _, s := range sources(t) {
		if s.lines > fileLinesMax && !excused(s.path) {
			t.Errorf("%s has %d lines, the limit is %d: which ideas want a file of their own?", s.path, s.lines, fileLinesMax)
		}
		for _, decl := range s.file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			lines := s.fset.Position(f.End()).Line - s.fset.Position(f.Pos()).Line + 1
			limit := functionLinesMax
			if s.test {
				limit = tableLinesMax
			}
			if key := fmt.Sprintf("%s:%s", s.path, f.Name.Name); lines > limit && !excused(key) {
				t.Errorf("%s: function %s has %d lines, the limit is %d: name its steps and call them", s.path, f.Name.Name, lines, limit)
			}
		}
	}
	for key := range oversize {
		if !used[key] {
			t.Errorf("the exception %s is not needed any more: remove it", key)
		}
	}
}

// TestPackageDocs: every package says what it is for.
func TestPackageDocs(t *testing.T) {
	documented := map[string]bool{}
	for _, s := range sources(t) {
		if !s.test || s.dir == "" {
			documented[s.dir] = documented[s.dir] || s.file.Doc != nil
		}
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("package %q has no comment: say in doc.go what it is for, what a caller must do, what it never does", dir)
		}
	}
}

// TestNoOpenEnds: work that is not done belongs in an issue.
func TestNoOpenEnds(t *testing.T) {
	words := []string{"TO" + "DO", "FIX" + "ME", "XX" + "X"}
	for _, s := range sources(t) {
		for _, group := range s.file.Comments {
			for _, word := range words {
				if strings.Contains(group.Text(), word) {
					t.Errorf("%v: a comment says %s: do it, or file an issue and say what holds today", s.fset.Position(group.Pos()), word)
				}
			}
		}
	}
}
