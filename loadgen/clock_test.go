package loadgen

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// wallReaders are the ways by which a duration would come to follow the wall clock: a point in time without its monotonic part.
var wallReaders = map[string]bool{"Unix": true, "UnixNano": true, "UnixMicro": true, "UnixMilli": true, "Round": true, "Truncate": true,
	"UTC": true, "Local": true, "In": true, "AddDate": true, "MarshalJSON": true}

// mayReadWall says where such a call is right, and why.
var mayReadWall = map[string]string{
	"../loadgen/options.go":               "tells a time without its monotonic part, to refuse it",
	"../loadgen/timerfd.go":               "a deadline long past, to end a wait",
	"../loadgen/target/builtin/link.go":   "a deadline long past, to end a read",
	"../loadgen/target/kafka/producer.go": "the date that a record batch carries by its format",
	"../results/ndjson.go":                "shortens a buffer, no point in time",
	"../results/hlog.go":                  "the date in the file's head, which no reader adds up",
	"../results/hlogread.go":              "rounds a length read from a file, no point in time",
	"../results/folder.go":                "the date in the folder's name",
	"../results/group.go":                 "the date in the folder's name",
}

// Trap 12: TestWallClockStepMovesNothing steps the clock of the one point in time that a load counts from. What is held here is that nobody reads
// the wall clock anywhere: all times of the load and of the record are differences of monotonic ones. A base without a monotonic part is refused (TestOptionsAreChecked),
// a negative difference is an error and no sample (TestByPhaseAddsUp), and an event's wall-clock end cannot leave the span between two
// monotonic readings (TestPausesArePlacedBetweenReadings in server/events).
func TestNobodyReadsTheWallClock(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../loadgen/*.go", "../loadgen/target/*/*.go", "../results/*.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	seen := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.SelectorExpr)
			if !ok || !wallReaders[call.Sel.Name] {
				return true
			}
			if pkg, ok := call.X.(*ast.Ident); ok && (pkg.Name == "math" || pkg.Name == "unix") {
				return true
			}
			seen[name] = true
			if mayReadWall[name] == "" {
				t.Errorf("%s: %s loses the monotonic part of a time: keep times as they come from time.Now and subtract them", fset.Position(call.Pos()), call.Sel.Name)
			}
			return true
		})
	}
	if len(files) < 30 || !seen["../loadgen/options.go"] {
		t.Errorf("%d files were looked at, exceptions met: %v: the search is broken", len(files), seen)
	}
}
