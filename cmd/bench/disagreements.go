package main

import (
	"fmt"
	"math"
	"strings"

	"rejoin/results"
)

// disagreements compares both sides of a recovery where they tell the same thing. The group commits addedOps while the node comes back, and it may
// fetch those too. polls are those that the node answered: nobody is blamed for what lies between them.
func disagreements(kill int, node string, r *results.Recovery, addedOps int64, polls pollGaps) []results.Disagreement {
	var all []results.Disagreement
	add := func(what, unit string, server, outside *float64, tolerance float64) {
		all = append(all, results.Disagreement{Kill: &kill, Node: node, What: what, Unit: unit, Server: server, Outside: outside, Tolerance: tolerance})
	}
	for _, p := range r.Points() {
		if p.Name == "started" || p.Server == nil || p.Outside == nil { // a process can tell of its start only once it runs
			continue
		}
		tolerance := toleranceMs
		if *p.Outside > *p.Server {
			tolerance += polls.beforeMs(*p.Outside)
		}
		if math.Abs(*p.Server-*p.Outside) > tolerance {
			add(p.Name, "ms", p.Server, p.Outside, tolerance)
		}
	}
	// A repair or transfer that only one side knows: short ones fall between two polls.
	for _, span := range []struct {
		name                                   string
		toldBegin, toldEnd, seenBegin, seenEnd *float64
	}{
		{"repair", r.Server.RepairBegin, r.Server.RepairEnd, r.Outside.RepairBegin, r.Outside.RepairEnd},
		{"transfer", r.Server.TransferBegin, r.Server.TransferEnd, r.Outside.TransferBegin, r.Outside.TransferEnd},
	} {
		begin, end := span.toldBegin, span.toldEnd
		if begin == nil {
			begin, end = span.seenBegin, span.seenEnd
		}
		if begin == nil || span.toldBegin != nil && span.seenBegin != nil {
			continue
		}
		if tolerance := toleranceMs + polls.longestMs(*begin, end); end == nil || *end-*begin > tolerance {
			add(span.name+"_begin", "ms", span.toldBegin, span.seenBegin, tolerance)
		}
	}
	if s, o := r.Server.ReturnedOps, r.Outside.ReturnedOps; o != nil {
		told := int64(0)
		if s != nil {
			told = *s
		}
		tolerance := max(toleranceOps, toleranceOpShare*float64(max(told, *o)))
		if float64(*o-told) > tolerance || float64(told-*o-addedOps) > tolerance {
			add(results.WhatReturnedOps, "ops", floatOf(s), floatOf(o), tolerance)
		}
	}
	return all
}

func floatOf(n *int64) *float64 {
	if n == nil {
		return nil
	}
	return new(float64(*n))
}

// disagreementsText names the first few, a sentence each.
func disagreementsText(all []results.Disagreement) string {
	const most = 4
	var sentences []string
	for _, d := range all[:min(len(all), most)] {
		sentences = append(sentences, disagreementText(d))
	}
	if rest := len(all) - most; rest > 0 {
		sentences = append(sentences, fmt.Sprintf("%d more stand in proof.json", rest))
	}
	return strings.Join(sentences, "; ")
}

func disagreementText(d results.Disagreement) string {
	switch d.What {
	case results.WhatViewChanges:
		return fmt.Sprintf("the nodes told of %s view changes, from outside %s were seen", countText(d.Server), countText(d.Outside))
	case results.WhatReturnedOps:
		return fmt.Sprintf("%s told that it fetched %s ops, from outside it lacked %s", d.Node, countText(d.Server), countText(d.Outside))
	}
	title := d.Title()
	switch {
	case d.Server == nil:
		return fmt.Sprintf("%s told nothing of %q, from outside it was %s after its end", d.Node, title, msText(d.Outside))
	case d.Outside == nil:
		return fmt.Sprintf("%s told %q %s after its end, from outside it was not seen", d.Node, title, msText(d.Server))
	}
	return fmt.Sprintf("%s told %q %s after its end, from outside it was %s after it", d.Node, title, msText(d.Server), msText(d.Outside))
}

func countText(n *float64) string {
	if n == nil {
		return "no"
	}
	return fmt.Sprintf("%.0f", *n)
}
