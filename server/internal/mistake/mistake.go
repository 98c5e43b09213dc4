// Package mistake names mistakes that a replicated log can be made to make again, so that the
// simulator can prove that it would have found them. A Set says which are made; its zero value, which
// is all that a node can have, is none of them. Only package sim makes another one: house_test.go at
// the root holds that.
package mistake

import (
	"math/bits"
	"strings"
)

// Mistake is one of them.
type Mistake uint8

// The four faults of the bug reports, and the six mistakes of a view change.
const (
	InstallBelowHeardCommit Mistake = iota
	OfferGateByView
	RepairNeverFinal
	HollowHead

	LeadAfterRestart
	KeepTailAboveAdopted
	LogViewAtAdoption
	DuplicateStartViewCuts
	ForgottenEndIsReached
	FrameViewIsSender

	// EachOkByItself is no mistake but another way to count: a prepare_ok vouches for its op and for
	// nothing below it. A script needs it to show what one of the others leads to.
	EachOkByItself

	mistakes
)

// described is what a person is told of a mistake.
var described = [mistakes]struct{ name, text string }{
	InstallBelowHeardCommit: {"InstallBelowHeardCommit", "a transfer is refused when it ends below the highest commit that was heard of, and begun anew"},
	OfferGateByView:         {"OfferGateByView", "a replica without a vote raises its view alone, and refuses what peers of lower views offer"},
	RepairNeverFinal:        {"RepairNeverFinal", "a refused repair asks for the same ops again, and never becomes a transfer"},
	HollowHead:              {"HollowHead", "adopting a log moves the head past ops that have not come, and later ones are acknowledged above them"},
	LeadAfterRestart:        {"LeadAfterRestart", "a primary goes on in its own view after a restart"},
	KeepTailAboveAdopted:    {"KeepTailAboveAdopted", "what lies above the end of an adopted log is kept"},
	LogViewAtAdoption:       {"LogViewAtAdoption", "log_view rises when a log is adopted, not when it is held in full"},
	DuplicateStartViewCuts:  {"DuplicateStartViewCuts", "a second start_view of a view is adopted like the first"},
	ForgottenEndIsReached:   {"ForgottenEndIsReached", "after a restart the end of the adopted log, which is forgotten, is taken for reached"},
	FrameViewIsSender:       {"FrameViewIsSender", "the view in a frame is taken for its sender's, so that a late prepare of a deposed primary passes"},
	EachOkByItself:          {"EachOkByItself", "an acknowledgement vouches for its own op only"},
}

// String is the mistake's name.
func (m Mistake) String() string { return described[m].name }

// Text says in one line what is done wrong.
func (m Mistake) Text() string { return described[m].text }

// All lists every mistake, in order.
func All() []Mistake {
	all := make([]Mistake, mistakes)
	for m := range mistakes {
		all[m] = m
	}
	return all
}

// Named finds a mistake by its name.
func Named(name string) (Mistake, bool) {
	for m := range mistakes {
		if described[m].name == name {
			return m, true
		}
	}
	return 0, false
}

// Set is the mistakes that are made. The zero value is none.
type Set struct{ bits uint64 }

// Of makes a set.
func Of(these ...Mistake) Set {
	s := Set{}
	for _, m := range these {
		s.bits |= 1 << m
	}
	return s
}

// Has tells whether m is made.
func (s Set) Has(m Mistake) bool { return s.bits>>m&1 != 0 }

// String lists the names.
func (s Set) String() string {
	var names []string
	for rest := s.bits; rest != 0; rest &= rest - 1 {
		names = append(names, Mistake(bits.TrailingZeros64(rest)).String())
	}
	return strings.Join(names, ", ")
}
