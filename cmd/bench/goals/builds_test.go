package goals

import (
	"slices"
	"strings"
	"testing"
)

func builtBy(n int, commit string, dirty bool, boot string) Sample {
	s := sample(n, 900, 1000)
	s.Series, s.Build = SeriesSustained, Build{Commit: commit, Dirty: dirty, BootID: boot}
	return s
}

// TestBuildsOf: samples keep the build that made them, whichever build makes the table.
func TestBuildsOf(t *testing.T) {
	samples := []Sample{builtBy(1, "abc", false, "x"), builtBy(2, "def", true, "y"), builtBy(3, "abc", false, "y"), builtBy(4, "", false, "")}
	builds := BuildsOf(samples)
	if want := []SamplesOf{{"abc", false, 2, 2}, {"def", true, 1, 1}, {"", false, 1, 0}}; !slices.Equal(builds, want) {
		t.Errorf("%+v, want %+v", builds, want)
	}
	if CommitOf(builds) != "" || CommitOf(builds[:1]) != "abc" || CommitOf(nil) != "" {
		t.Error("the commit of all samples")
	}
	if got := BuildsText(builds); got != "3 builds: abc (2 samples); def, dirty (1 samples); unknown (1 samples)" {
		t.Errorf("%q", got)
	}
	if got := BuildsText(builds[1:2]); got != "commit def, dirty" {
		t.Errorf("%q", got)
	}
	row := rowNamed(t, "saturated batches/s to the shape, sustained")
	if o := Judge(row, samples); !strings.Contains(o.Why, "3 builds: abc") || o.N != 4 {
		t.Errorf("%+v", o)
	}
	if o := Judge(row, samples[:1]); strings.Contains(o.Why, "builds") {
		t.Errorf("%+v", o)
	}
}

// TestBuildWarnings: of another build, and of one that no commit names.
func TestBuildWarnings(t *testing.T) {
	builds := []SamplesOf{{"abc", false, 2, 1}, {"def", true, 3, 1}}
	for _, test := range []struct {
		commit string
		dirty  bool
		builds []SamplesOf
		want   []string
	}{
		{"abc", false, builds[:1], nil},
		{"abc", true, builds[:1], []string{"2 of 2 samples are of another build than this one, which is abc, dirty"}},
		{"abc", false, builds, []string{"3 of 5 samples are of another build", "3 of 5 samples are of a build that no commit names"}},
		{"def", true, builds[1:], []string{"3 of 3 samples are of a build that no commit names"}},
	} {
		got := BuildWarnings(test.builds, test.commit, test.dirty)
		if len(got) != len(test.want) {
			t.Errorf("%+v: %q", test, got)
			continue
		}
		for i, want := range test.want {
			if !strings.HasPrefix(got[i], want) {
				t.Errorf("%q, want %q", got[i], want)
			}
		}
	}
}
