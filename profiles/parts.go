package profiles

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"rejoin/results"
)

// Part is what is compared with what: one kind of profile, in one phase, of processes in one role.
type Part struct {
	Kind  Kind
	Phase results.Phase
	Role  string
}

func (p Part) String() string {
	if p.Phase == "" && p.Role == "" {
		return string(p.Kind)
	}
	return fmt.Sprintf("%s, %s, %s", p.Kind, p.Phase, p.Role)
}

// Name is the part as the beginning of a file name.
func (p Part) Name() string {
	name := string(p.Kind)
	for _, more := range []string{string(p.Phase), p.Role} {
		if more != "" {
			name += "-" + more
		}
	}
	return name
}

// rolesCompared are those whose cost can be compared: a node that changed its role within a window belongs to neither.
var rolesCompared = []string{results.RolePrimary, results.RoleBackup, results.RoleGenerator}

// Parts adds up profiles of one side, of several nodes and runs, by kind, phase and role. A part counts the time and the work of all its
// windows, so its costs are those of one process on average: of one backup, not of all. A file of another tool, which says neither phase
// nor role, is a part by itself.
func Parts(all []*Profile) (map[Part]Side, error) {
	groups := map[Part][]*Profile{}
	for _, p := range all {
		if p.subtracted() { // told here: what was taken away may have no role, and would be lost below
			return nil, ErrSubtracted
		}
		if len(p.meta.Windows) == 0 {
			part := Part{Kind: p.Kind()}
			groups[part] = append(groups[part], p)
			continue
		}
		for _, role := range rolesCompared {
			if of := p.OfRole(role); len(of.meta.Windows) > 0 {
				part := Part{p.Kind(), p.meta.Phase, role}
				groups[part] = append(groups[part], of)
			}
		}
	}
	sides := map[Part]Side{}
	for part, group := range groups {
		sum, err := Merge(group...)
		if err != nil {
			return nil, fmt.Errorf("%v: %w", part, err)
		}
		side := Side{Profile: sum, DurationNs: sum.DurationNs()}
		_, side.AckedMessages = sum.meta.Acked()
		sides[part] = side
	}
	return sides, nil
}

// Pair is a part of which both sides have enough.
type Pair struct {
	Part
	Base, Changed Side
}

// Pairs puts the parts of two sides beside each other, in the order of kinds, phases and roles. skipped says which parts one side does not
// have, or has fewer than 100 samples of. It refuses sides that have no part in common.
func Pairs(base, changed map[Part]Side) (pairs []Pair, skipped []string, err error) {
	if len(base) == 0 || len(changed) == 0 {
		return nil, nil, fmt.Errorf("%w: one side is empty", ErrNoData)
	}
	all := maps.Clone(base)
	maps.Copy(all, changed)
	common := false
	for _, part := range sortedParts(all) {
		a, inBase := base[part]
		b, inChanged := changed[part]
		switch {
		case !inBase:
			skipped = append(skipped, fmt.Sprintf("%v: %v in A", part, ErrNoData))
		case !inChanged:
			skipped = append(skipped, fmt.Sprintf("%v: %v in B", part, ErrNoData))
		case !enough(part, a.Profile) || !enough(part, b.Profile):
			common = true
			skipped = append(skipped, fmt.Sprintf("%v: %v: %d samples in A, %d in B, at least %d are needed", part, ErrNoData, a.Profile.Samples(),
				b.Profile.Samples(), samplesMinDefault))
		default:
			pairs = append(pairs, Pair{part, a, b})
		}
	}
	switch {
	case len(pairs) > 0:
		return pairs, skipped, nil
	case common:
		return nil, nil, fmt.Errorf("%w: %s", ErrNoData, strings.Join(skipped, "; "))
	}
	return nil, nil, fmt.Errorf("%w: A has %v, and B has %v", ErrUnlike, sortedParts(base), sortedParts(changed))
}

// enough tells whether a part says anything; what is no window of ours is compared as it is, with a note.
func enough(part Part, p *Profile) bool {
	return part.Kind == Goroutine || part.Role == "" || p.Samples() >= samplesMinDefault
}

func sortedParts(of map[Part]Side) []Part {
	phase := func(p Part) int { return slices.Index(results.Phases(), p.Phase) }
	role := func(p Part) int { return slices.Index(rolesCompared, p.Role) }
	return slices.SortedFunc(maps.Keys(of), func(a, b Part) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), phase(a)-phase(b), role(a)-role(b), cmp.Compare(a.Role, b.Role))
	})
}
