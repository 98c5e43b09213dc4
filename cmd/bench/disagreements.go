package main

import (
	"fmt"
	"strings"

	"rejoin/results"
)

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
	case whatViewChanges:
		return fmt.Sprintf("the nodes told of %s view changes, from outside %s were seen", countText(d.Server), countText(d.Outside))
	case whatReturnedOps:
		return fmt.Sprintf("%s told that it fetched %s ops, from outside it lacked %s", d.Node, countText(d.Server), countText(d.Outside))
	}
	title := d.What
	for _, p := range (results.Recovery{}).Points() {
		if p.Name == d.What {
			title = p.Title
		}
	}
	switch {
	case d.Server == nil:
		return fmt.Sprintf("%s told nothing of %q, from outside it was %s after the kill", d.Node, title, msText(d.Outside))
	case d.Outside == nil:
		return fmt.Sprintf("%s told %q %s after its kill, from outside it was not seen", d.Node, title, msText(d.Server))
	}
	return fmt.Sprintf("%s told %q %s after its kill, from outside it was %s after it", d.Node, title, msText(d.Server), msText(d.Outside))
}

func countText(n *float64) string {
	if n == nil {
		return "no"
	}
	return fmt.Sprintf("%.0f", *n)
}
