package profiles

import (
	"cmp"
	"slices"
)

// FunctionTotal is what one function took of a profile's value: by itself, and with all that it called.
type FunctionTotal struct {
	Function  string
	Flat, Cum int64
}

// Top are the functions of a profile, the one that took most by itself first, with the sum over all samples and the unit of all of them; value
// as in Total.
func (p *Profile) Top(value string) (functions []FunctionTotal, total int64, unit string, err error) {
	i, err := p.valueIndex(value)
	if err != nil {
		return nil, 0, "", err
	}
	costs, total := functionCosts(p.pb, i)
	for name, c := range costs {
		functions = append(functions, FunctionTotal{Function: oneLine(name), Flat: c.flat, Cum: c.cum})
	}
	slices.SortFunc(functions, func(a, b FunctionTotal) int {
		return cmp.Or(cmp.Compare(b.Flat, a.Flat), cmp.Compare(b.Cum, a.Cum), cmp.Compare(a.Function, b.Function))
	})
	return functions, total, p.pb.SampleType[i].Unit, nil
}
