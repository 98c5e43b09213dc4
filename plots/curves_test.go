package plots

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDrawCurves: a line keeps what a log axis holds, and a curve without any says so instead of failing.
func TestDrawCurves(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	line := CurveLine{Label: "messages", Points: []CurvePoint{{0, 5}, {1, 100}, {12, -1}, {1200, 90_000}}}
	if got := line.points(); len(got) != 2 || got[1] != (point{1200, 90_000}) {
		t.Errorf("points %v", got)
	}
	one := CurveLine{Label: "one", Points: []CurvePoint{{1, 1}}}
	err := DrawCurves(dir, []Curve{{Name: "rate", Title: "Producers", XLabel: "producers", YLabel: "a second", Lines: []CurveLine{line}},
		{Name: "one", Title: "One", Lines: []CurveLine{one}, Durations: true}, {Name: "none", Title: "Nothing"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"rate": "producers", "one": "One", "none": "no data"} {
		text, err := os.ReadFile(filepath.Join(dir, name+".svg"))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %q, error %v", name, want, err)
		}
		if info, err := os.Stat(filepath.Join(dir, name+".png")); err != nil || info.Size() == 0 {
			t.Errorf("%s.png: %v", name, err)
		}
	}
}
