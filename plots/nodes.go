package plots

import (
	"cmp"
	"image/color"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
)

// nodeLook is a replica's colour and dash, the same in every figure and every run.
type nodeLook struct {
	color  color.NRGBA
	dashes []vg.Length
}

// nodeLooks tell replicas apart; a cluster of more than five repeats them.
var nodeLooks = []nodeLook{{blue, solid}, {vermillion, dashed}, {green, dashDot}, {purple, dotted}, {black, []vg.Length{10, 4}}}

// lookOf goes by the name alone, so that a node that is missing in one figure moves no other node's colour.
func lookOf(node string) nodeLook { return nodeLooks[LookNumber(node)] }

// nodeNumber is 3 for "n3"; false for a name of another kind.
func nodeNumber(node string) (int, bool) {
	digits, ok := strings.CutPrefix(node, "n")
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil && n >= 0
}

// CompareNodes orders n2 before n10, and names of another kind last.
func CompareNodes(a, b string) int {
	numberA, okA := nodeNumber(a)
	numberB, okB := nodeNumber(b)
	switch {
	case okA && okB:
		return cmp.Or(cmp.Compare(numberA, numberB), strings.Compare(a, b))
	case okA:
		return -1
	case okB:
		return 1
	}
	return strings.Compare(a, b)
}

// LookNumber chooses a node's colour and dash, so that pages give it the look that figures do.
func LookNumber(node string) int {
	n, ok := nodeNumber(node)
	if !ok {
		for _, b := range []byte(node) {
			n += int(b)
		}
	}
	return n % len(nodeLooks)
}
