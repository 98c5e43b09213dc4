package profiles

import (
	"fmt"
	"math"
	"strings"

	"github.com/google/pprof/profile"
)

// Per is what the two sides of a difference are divided by.
type Per string

const (
	PerSecond  Per = "second"
	PerMessage Per = "message"
)

// FlameGraph is one self-contained HTML page, drawn by pprof itself: no listener, no network, no Graphviz. value is a name of
// Profile.Values; "" is the kind's own.
func FlameGraph(p *Profile, value string) ([]byte, error) {
	if p == nil || p.empty() {
		return nil, fmt.Errorf("draw flame graph: %w: there are no samples", ErrNoData)
	}
	if p.subtracted() {
		return nil, fmt.Errorf("draw flame graph: %w", ErrSubtracted)
	}
	i, err := p.valueIndex(value)
	if err != nil {
		return nil, fmt.Errorf("draw flame graph: %w", err)
	}
	page, err := drawFlames(p.drawable(), nil, p.Values()[i])
	if err != nil {
		return nil, fmt.Errorf("draw flame graph: %w", err)
	}
	return asFile(page, plainNote), nil
}

// DiffFlameGraph is the page of changed minus base: orange is what the new one costs more, blue what it costs less. The base is brought to
// the time or the work of the other first, so that widths are those of the other. It refuses what Compare refuses, and levels.
func DiffFlameGraph(base, changed Side, per Per, value string) ([]byte, error) {
	scaled, err := base.On(changed, per)
	if err != nil {
		return nil, fmt.Errorf("draw flame graph of a difference: %w", err)
	}
	i, err := changed.Profile.valueIndex(value)
	if err != nil {
		return nil, fmt.Errorf("draw flame graph of a difference: %w", err)
	}
	if name := changed.Profile.Values()[i]; held(name) {
		return nil, fmt.Errorf("draw flame graph of a difference: %w: %s is a level, which is not subtracted; draw each by itself", ErrUnlike, name)
	}
	page, err := drawFlames(changed.Profile.drawable(), scaled.drawable(), changed.Profile.Values()[i])
	if err != nil {
		return nil, fmt.Errorf("draw flame graph of a difference: %w", err)
	}
	return asFile(page, diffNotes[per]), nil
}

// On brings this side to the time or the work of another, so that the raw values of both can be subtracted, also by `go tool pprof`. It
// refuses what Compare refuses. Values are rounded to whole units.
func (s Side) On(other Side, per Per) (*Profile, error) {
	if err := checkSides(s, other); err != nil {
		return nil, err
	}
	var ratio float64
	switch per {
	case PerSecond:
		ratio = float64(other.DurationNs) / float64(s.DurationNs)
	case PerMessage:
		ratio = float64(other.AckedMessages) / float64(s.AckedMessages)
	default:
		return nil, fmt.Errorf("%w: a difference is per %s or per %s, not per %q", ErrDenominator, PerSecond, PerMessage, per)
	}
	pb := s.Profile.pb.Copy()
	var factors []float64
	for _, name := range s.Profile.Values() {
		if held(name) {
			factors = append(factors, 1)
		} else {
			factors = append(factors, ratio)
		}
	}
	scale(pb, factors)
	pb.DurationNanos = int64(math.Round(float64(s.DurationNs) * ratio))
	return newProfile(pb, s.Profile.Meta()), nil
}

// scale multiplies all values. profile.ScaleN would drop samples whose scaled values are zero while others are not.
func scale(p *profile.Profile, factors []float64) {
	for _, s := range p.Sample {
		for i := range s.Value {
			s.Value[i] = int64(math.Round(float64(s.Value[i]) * factors[i]))
		}
	}
}

// drawable is a copy that the driver may change. It matches stacks by address within a mapping, so the two builds' addresses, mappings
// and lines are taken away and only names stay; a mapping without a build id is the same in both.
func (p *Profile) drawable() *profile.Profile {
	pb := p.pb.Copy()
	file := "profile"
	if p.meta.Node != "" {
		file = p.meta.Node
	}
	if p.meta.Phase != "" {
		file += " " + string(p.meta.Phase)
	}
	m := &profile.Mapping{ID: 1, File: file, HasFunctions: true}
	pb.Mapping, pb.Function = []*profile.Mapping{m}, nil
	byName := map[string]*profile.Function{}
	named := func(name string) *profile.Function {
		if byName[name] == nil {
			byName[name] = &profile.Function{ID: uint64(len(pb.Function) + 1), Name: name}
			pb.Function = append(pb.Function, byName[name])
		}
		return byName[name]
	}
	for _, l := range pb.Location {
		var lines []profile.Line
		for _, name := range locationNames(l) {
			lines = append(lines, profile.Line{Function: named(name)})
		}
		l.Mapping, l.Address, l.Line = m, 0, lines
	}
	return pb
}

// DiffCommand is the command line that shows the difference of two files in pprof: changed minus base. The files are subtracted as they
// are: write the base by Side.On first, unless both took the same time or did the same work.
func DiffCommand(base, changed string) string {
	return "go tool pprof -http=: -diff_base " + quoted(base) + " " + quoted(changed)
}

// quoted makes a path one word of a POSIX shell, and no flag.
func quoted(path string) string {
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+=:,@"
	if path != "" && strings.Trim(path, plain) == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
