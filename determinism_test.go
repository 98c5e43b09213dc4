package house

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// undetermined are functions of which two calls differ, by package; "*" stands for all but those in seeded.
var undetermined = map[string][]string{
	"time":                  {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"},
	"context":               {"WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause"},
	"os":                    {"Getpid", "Getenv", "LookupEnv", "Environ", "Hostname"},
	"runtime":               {"NumGoroutine", "SetFinalizer", "AddCleanup"},
	"golang.org/x/sys/unix": {"ClockGettime", "Gettimeofday", "Time", "Getrandom", "Nanosleep"},
	"syscall":               {"Syscall", "Syscall6", "RawSyscall", "RawSyscall6"}, // whatever they call
	"math/rand":             {"*"},
	"math/rand/v2":          {"*"},
	"crypto/rand":           {"*"},
	"hash/maphash":          {"*"},
}

// seeded make a source of random numbers from a seed.
var seeded = []string{"New", "NewSource", "NewPCG", "NewChaCha8", "NewZipf"}

// mayDiffer are exceptions: path:function -> reason.
var mayDiffer = map[string]string{
	"server/wire/clock.go:MonoNow": "the node's clock; the simulator has one of its own",
}

// TestSimulatedCodeIsDetermined reads each simulated package with its types.
func TestSimulatedCodeIsDetermined(t *testing.T) {
	imports := exported(t)
	byDir := map[string][]source{}
	for _, s := range sources(t) {
		if !s.test && under(s.dir, simulated...) {
			byDir[s.dir] = append(byDir[s.dir], s)
		}
	}
	used := map[string]bool{}
	for dir, files := range byDir {
		fset := token.NewFileSet()
		var parsed []*ast.File
		for _, s := range files {
			file, err := parser.ParseFile(fset, s.path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			parsed = append(parsed, file)
		}
		for _, f := range determinism(t, fset, module+"/"+dir, parsed, imports) {
			if used[f.where] = true; mayDiffer[f.where] == "" {
				t.Error(f)
			}
		}
	}
	for _, room := range simulated {
		if len(byDir[room]) == 0 {
			t.Errorf("package %s is simulated and has no files: rename it in simulated", room)
		}
	}
	for where := range mayDiffer {
		if !used[where] {
			t.Errorf("the exception %s is not needed any more: remove it", where)
		}
	}
}

// TestEachKindIsFound plants each thing that the rule is about, and what it must let pass.
func TestEachKindIsFound(t *testing.T) {
	imports := exported(t)
	for planted, want := range map[string]string{
		"func f() { go f() }": "a go statement",
		"func f(a, b chan int) { select { case <-a: case <-b: } }":             "a select",
		"func f() { select {} }":                                               "a select",
		"type r struct{ m map[int]int }; func (x *r) f() { for range x.m {} }": "a range over a map",
		"type named map[int]int; func f(m named) { for range m {} }":           "a range over a map",
		"func g() map[int]int { return nil }; func f() { for range g() {} }":   "a range over a map",
		"func f[M map[K]int, K comparable](m M) { for range m {} }":            "a range over a map",
		`import "maps"; func f(m map[int]int) { for range maps.Keys(m) {} }`:   "maps.Keys without slices.Sorted",
		`import "maps"; var keys = maps.Keys[map[int]int]`:                     "maps.Keys without slices.Sorted",
		`import "sync"; func f(m *sync.Map) { m.Range(nil) }`:                  "Range of a sync.Map",
		`import "reflect"; func f(v reflect.Value) { v.MapKeys() }`:            "MapKeys of a reflect.Value",
		`import "time"; var t = time.Now()`:                                    "time.Now",
		`import clock "time"; func f() { clock.Sleep(1) }`:                     "time.Sleep",
		`import "time"; func f() { <-time.NewTimer(1).C }`:                     "time.NewTimer",
		`import "time"; var later = time.AfterFunc`:                            "time.AfterFunc",
		`import "math/rand/v2"; func f() int { return rand.IntN(3) }`:          "math/rand/v2.IntN",
		`import "math/rand"; func f() { rand.Shuffle(3, nil) }`:                "math/rand.Shuffle",
		`import "crypto/rand"; func f(b []byte) { rand.Read(b) }`:              "crypto/rand.Read",
		`import "hash/maphash"; var s = maphash.MakeSeed()`:                    "hash/maphash.MakeSeed",
		`import "os"; var p = os.Getpid()`:                                     "os.Getpid",

		"func f(s []int) { for range s {} }": "",
		`import ("maps"; "slices"); func f(m map[int]int) { for range slices.Sorted(maps.Keys(m)) {} }`: "",
		`import "math/rand/v2"; func f() int { return rand.New(rand.NewPCG(1, 2)).IntN(3) }`:            "",
		`import "time"; const d = 3 * time.Second`:                                                      "",
	} {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "planted.go", "package p\n"+planted, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, f := range determinism(t, fset, "p", []*ast.File{file}, imports) {
			found = append(found, f.what)
		}
		if all := strings.Join(found, "; "); all != want {
			t.Errorf("%s: found %q, want %q", planted, all, want)
		}
	}
}

// finding is something that makes two runs of the same inputs differ.
type finding struct {
	at    token.Position
	where string // path:function
	what  string
}

func (f finding) String() string {
	return fmt.Sprintf("%v: %s: package %s is simulated, so the same inputs must give the same outputs: take time, chance and order from the caller, walk a map by slices.Sorted(maps.Keys(m)), and leave goroutines to package server",
		f.at, f.what, filepath.ToSlash(filepath.Dir(f.at.Filename)))
}

// reader looks through one file.
type reader struct {
	fset     *token.FileSet
	info     *types.Info
	sorted   map[ast.Node]bool // keys of maps that are sorted at once
	function string
	found    []finding
}

func determinism(t *testing.T, fset *token.FileSet, path string, files []*ast.File, imports types.Importer) (found []finding) {
	t.Helper()
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	if _, err := (&types.Config{Importer: imports}).Check(path, fset, files, info); err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		r := &reader{fset: fset, info: info, sorted: map[ast.Node]bool{}}
		for _, d := range file.Decls {
			r.function = ""
			if f, ok := d.(*ast.FuncDecl); ok {
				r.function = f.Name.Name
			}
			ast.Inspect(d, r.node)
		}
		found = append(found, r.found...)
	}
	return found
}

func (r *reader) find(n ast.Node, format string, args ...any) {
	at := r.fset.Position(n.Pos())
	r.found = append(r.found, finding{at, filepath.ToSlash(at.Filename) + ":" + r.function, fmt.Sprintf(format, args...)})
}

func (r *reader) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		r.find(n, "a go statement")
	case *ast.SelectStmt:
		r.find(n, "a select")
	case *ast.RangeStmt:
		if isMap(r.info.TypeOf(n.X)) {
			r.find(n, "a range over a map")
		}
	case *ast.CallExpr:
		if r.object(n.Fun, "slices", "Sorted", "SortedFunc", "SortedStableFunc") && len(n.Args) > 0 {
			if keys, ok := n.Args[0].(*ast.CallExpr); ok && r.object(keys.Fun, "maps", "Keys", "Values", "All") {
				r.sorted[keys.Fun.(*ast.SelectorExpr).Sel] = true
			}
		}
	case *ast.Ident:
		r.use(n)
	}
	return true
}

// object tells whether e is one of the named objects of a package.
func (r *reader) object(e ast.Expr, pkg string, names ...string) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	o := r.info.Uses[sel.Sel]
	return o != nil && o.Pkg() != nil && o.Pkg().Path() == pkg && slices.Contains(names, o.Name())
}

// use looks at what a name stands for.
func (r *reader) use(n *ast.Ident) {
	f, ok := r.info.Uses[n].(*types.Func)
	if !ok || f.Pkg() == nil {
		return
	}
	path, name := f.Pkg().Path(), f.Name()
	if recv := f.Signature().Recv(); recv != nil {
		switch {
		case path == "sync" && name == "Range":
			r.find(n, "Range of a sync.Map")
		case path == "reflect" && (name == "MapKeys" || name == "MapRange"):
			r.find(n, "%s of a reflect.Value", name)
		}
		return
	}
	bad := undetermined[path]
	switch {
	case path == "maps" && slices.Contains([]string{"Keys", "Values", "All"}, name) && !r.sorted[n]:
		r.find(n, "maps.%s without slices.Sorted", name)
	case slices.Contains(bad, name), slices.Contains(bad, "*") && !slices.Contains(seeded, name):
		r.find(n, "%s.%s", path, name)
	}
}

// isMap tells whether a value of this type is a map, or may be one.
func isMap(t types.Type) bool {
	if t == nil {
		return false
	}
	if p, ok := types.Unalias(t).(*types.TypeParam); ok {
		t = p.Constraint()
	}
	switch u := t.Underlying().(type) {
	case *types.Map:
		return true
	case *types.Interface:
		for e := range u.EmbeddedTypes() {
			if isMap(e) {
				return true
			}
		}
	case *types.Union:
		for term := range u.Terms() {
			if isMap(term.Type()) {
				return true
			}
		}
	}
	return false
}

// exported imports packages from what the compiler has written about them. The packages under test are read from their sources, so a
// result that was kept from an earlier run cannot hide a change of these.
func exported(t *testing.T) types.Importer {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-f", "{{if .Export}}{{.ImportPath}} {{.Export}}{{end}}"}
	for path := range undetermined {
		args = append(args, path)
	}
	args = append(args, "maps", "slices", "sync", "reflect")
	for _, room := range simulated {
		args = append(args, "./"+room+"/...")
	}
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if path, file, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			files[path] = file
		}
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		file, ok := files[path]
		if !ok {
			return nil, fmt.Errorf("nothing is known of package %s", path)
		}
		return os.Open(file)
	})
}
