package profiles

import (
	"path"

	"github.com/google/pprof/profile"
)

// cost is what one function took: by itself, and with all that it called.
type cost struct{ flat, cum int64 }

// functionCosts adds up a value by function name. Addresses say nothing across builds, and neither do files: a path changes with the
// folder that a build ran in. Functions that were inlined count as functions. The total is the sum of all samples.
func functionCosts(p *profile.Profile, value int) (byName map[string]cost, total int64) {
	byName = map[string]cost{}
	for _, s := range p.Sample {
		v := s.Value[value]
		total += v
		seen := map[string]bool{} // a function that calls itself counts once a sample
		for depth, name := range frames(s) {
			c := byName[name]
			if depth == 0 {
				c.flat += v
			}
			if !seen[name] {
				seen[name] = true
				c.cum += v
			}
			byName[name] = c
		}
	}
	return byName, total
}

// frames are the names of a sample's stack, the innermost first.
func frames(s *profile.Sample) []string {
	var names []string
	for _, l := range s.Location {
		names = append(names, locationNames(l)...)
	}
	return names
}

// locationNames are the function at a location and, before it, those that were inlined into it.
func locationNames(l *profile.Location) []string {
	if len(l.Line) == 0 {
		return []string{nameless(l)}
	}
	var names []string
	for _, line := range l.Line {
		if line.Function == nil || line.Function.Name == "" {
			names = append(names, nameless(l))
			continue
		}
		names = append(names, line.Function.Name)
	}
	return names
}

func nameless(l *profile.Location) string {
	if l.Mapping == nil || l.Mapping.File == "" {
		return "[unknown function]"
	}
	return "[unknown function in " + path.Base(l.Mapping.File) + "]"
}
