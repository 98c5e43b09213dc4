package compare

import (
	"cmp"
	"slices"
)

// holm corrects p values of a family for being many (Holm 1979): the chance that any true null hypothesis among them falls below alpha is at
// most alpha, however they depend on one another. The order is kept.
func holm(ps []float64) []float64 {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(ps[i], ps[j]) })
	adjusted := make([]float64, len(ps))
	highest := 0.0
	for k, i := range order {
		highest = max(highest, min(1, float64(len(ps)-k)*ps[i]))
		adjusted[i] = highest
	}
	return adjusted
}
