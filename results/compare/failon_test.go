package compare

import (
	"errors"
	"strings"
	"testing"
)

func TestParseBound(t *testing.T) {
	for text, want := range map[string]Bound{
		"steady.p99>+10%":         {Metric: "steady.p99", Above: true, Kind: Relative, Limit: 0.1},
		" throughput < -5 %":      {Metric: "throughput", Kind: Relative, Limit: -0.05},
		"kill.primary.gap>+200ms": {Metric: "kill.primary.gap", Above: true, Kind: Change, Limit: 200e6},
		"steady.p99 > 5ms":        {Metric: "steady.p99", Above: true, Kind: Level, Limit: 5e6},
		"memory.max>+1.5MiB":      {Metric: "memory.max", Above: true, Kind: Change, Limit: 1.5 * (1 << 20)},
		"throughput<300/s":        {Metric: "throughput", Kind: Level, Limit: 300},
		"cpu.nodes>25us":          {Metric: "cpu.nodes", Above: true, Kind: Level, Limit: 25e3},
		"acked_share<0.999":       {Metric: "acked_share", Kind: Level, Limit: 0.999},
	} {
		want.Text = text
		got, err := ParseBound(text)
		if err != nil || got.Metric != want.Metric || got.Above != want.Above || got.Kind != want.Kind || !near(got.Limit, want.Limit) || got.Text != text {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
}

// TestParseBoundPoints: an error shows where.
func TestParseBoundPoints(t *testing.T) {
	for text, want := range map[string]struct {
		at     int
		reason string
	}{
		"steady.p99":          {10, "needs > or <"},
		"steady.p98>+10%":     {0, "no metric \"steady.p98\""},
		">+10%":               {0, "no metric"},
		"steady.p99>ten":      {11, "no number"},
		"steady.p99>":         {11, "no number"},
		"steady.p99>10%":      {11, "needs its sign"},
		"steady.p99>++10%":    {12, "one sign"},
		"steady.p99>+10MiB":   {14, "no unit of steady.p99"},
		"steady.p99>+10":      {14, "no unit of steady.p99"},
		"steady.p99> +1.2.3%": {12, "no number"},
		"throughput<+5ms":     {13, "no unit of throughput"},
	} {
		_, err := ParseBound(text)
		var wrong *BoundError
		if !errors.As(err, &wrong) || wrong.At != want.at || !strings.Contains(wrong.Reason, want.reason) {
			t.Errorf("%q: %v; want an error at %d with %q", text, err, want.at, want.reason)
			continue
		}
		lines := strings.Split(err.Error(), "\n")
		if caret := lines[len(lines)-1]; strings.Index(caret, "^") != 2+want.at || lines[len(lines)-2] != "  "+text {
			t.Errorf("%q: the caret stands wrong:\n%s", text, err)
		}
	}
}

func FuzzParseBound(f *testing.F) {
	for _, text := range []string{"steady.p99>+10%", "a<", ">", "throughput<–5 %", "steady.p50>1e99%"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := ParseBound(text); err != nil && err.Error() == "" {
			t.Error("an error without words")
		}
	})
}

func TestBoundsAreHeld(t *testing.T) {
	bounds := func(texts ...string) (all []Bound) {
		for _, text := range texts {
			b, err := ParseBound(text)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, b)
		}
		return all
	}
	for name, test := range map[string]struct {
		factor float64
		pairs  int
		bound  string
		want   string
	}{
		"beyond":              {1.3, 8, "steady.p99>+10%", Broken},
		"within":              {1.3, 8, "steady.p99>+60%", Held},
		"other direction":     {0.7, 8, "steady.p99>+10%", Held},
		"below, asked for":    {0.7, 8, "steady.p99<-10%", Broken},
		"absolute":            {1.3, 8, "steady.p99>+0.2ms", Broken},
		"level":               {1.3, 8, "steady.p99>2.2ms", Broken},
		"level held":          {1, 8, "steady.p99>9ms", Held},
		"too few":             {1.3, 3, "steady.p99>+10%", NotJudged},
		"no data":             {1.3, 8, "kill.caught_up>+10%", NotJudged},
		"equal":               {1, 8, "steady.p99>+0%", Held},
		"secondary is judged": {1.3, 8, "steady.p90>+10%", Broken},

		"improvement, found":          {0.7, 8, "steady.p99>-10%", Held},
		"improvement, too small":      {0.7, 8, "steady.p99>-60%", Broken},
		"improvement, got worse":      {1.3, 8, "steady.p99>-10%", Broken},
		"improvement, not told apart": {1, 8, "steady.p99>-10%", NotJudged},
		"absolute, not told apart":    {1, 8, "steady.p99>-0.2ms", NotJudged},
		"more is asked for":           {1, 8, "throughput<+5%", NotJudged},
		"improvement, too few":        {0.7, 3, "steady.p99>-10%", NotJudged},
	} {
		o := newSynthetic(20).pairs(test.pairs, test.factor)
		o.Bounds = bounds(test.bound)
		c := mustCompare(t, o)
		if got := c.Bounds[0]; got.Outcome != test.want || got.Reason == "" {
			t.Errorf("%s: %+v, want %s", name, got, test.want)
		}
		if (len(c.Broken()) == 1) != (test.want == Broken) {
			t.Errorf("%s: broken are %v", name, c.Broken())
		}
	}
}
