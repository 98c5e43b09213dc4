package goals

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Build is what made a sample, and the life of the machine in which it did.
type Build struct {
	Commit string `json:"commit"` // empty: not known
	Dirty  bool   `json:"dirty"`  // the checkout had changes that the commit does not name
	BootID string `json:"boot_id"`
}

// SamplesOf is how many samples a build made.
type SamplesOf struct {
	Commit  string `json:"commit"`
	Dirty   bool   `json:"dirty"`
	Samples int    `json:"samples"`
	Boots   int    `json:"boots"` // of the machine, or machines; 0: not known
}

// BuildsOf counts samples by their build, most first.
func BuildsOf(samples []Sample) []SamplesOf {
	type build struct {
		commit string
		dirty  bool
	}
	counts, boots := map[build]int{}, map[build]map[string]bool{}
	for _, s := range samples {
		b := build{s.Build.Commit, s.Build.Dirty}
		counts[b]++
		if boots[b] == nil {
			boots[b] = map[string]bool{}
		}
		if s.Build.BootID != "" {
			boots[b][s.Build.BootID] = true
		}
	}
	all := []SamplesOf{}
	for b, n := range counts {
		all = append(all, SamplesOf{Commit: b.commit, Dirty: b.dirty, Samples: n, Boots: len(boots[b])})
	}
	slices.SortFunc(all, func(a, b SamplesOf) int { return cmp.Or(b.Samples-a.Samples, cmp.Compare(a.text(), b.text())) })
	return all
}

func (s SamplesOf) text() string {
	text := cmp.Or(s.Commit, "unknown")
	if s.Dirty {
		text += ", dirty"
	}
	return text
}

// CommitOf is the commit of all samples; empty if there are none, or of several builds.
func CommitOf(builds []SamplesOf) string {
	if len(builds) != 1 {
		return ""
	}
	return builds[0].Commit
}

// BuildsText names the builds.
func BuildsText(builds []SamplesOf) string {
	switch len(builds) {
	case 0:
		return "commit –"
	case 1:
		return "commit " + builds[0].text()
	}
	var texts []string
	for _, b := range builds {
		texts = append(texts, fmt.Sprintf("%s (%d samples)", b.text(), b.Samples))
	}
	return fmt.Sprintf("%d builds: %s", len(builds), strings.Join(texts, "; "))
}

// BuildWarnings say which samples the build that looks at them did not make, and which belong to no commit.
func BuildWarnings(builds []SamplesOf, commit string, dirty bool) (warnings []string) {
	all, others, unnamed := 0, 0, 0
	for _, b := range builds {
		all += b.Samples
		if b.Commit != commit || b.Dirty != dirty {
			others += b.Samples
		}
		if b.Commit == "" || b.Dirty {
			unnamed += b.Samples
		}
	}
	if others > 0 {
		warnings = append(warnings, fmt.Sprintf("%d of %d samples are of another build than this one, which is %s: --again measures them anew", others, all,
			SamplesOf{Commit: commit, Dirty: dirty}.text()))
	}
	if unnamed > 0 {
		warnings = append(warnings, fmt.Sprintf("%d of %d samples are of a build that no commit names: commit, build and measure them anew", unnamed, all))
	}
	return warnings
}
