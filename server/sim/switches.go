package sim

import (
	"fmt"
	"strings"

	"rejoin/server/internal/mistake"
)

// Switch is a mistake that a run can let every replica make, to see whether the promises are broken.
type Switch struct {
	Name string
	Text string // what is done wrong
}

// Switches lists them: the four faults of the bug reports first, then the six mistakes of a view change.
func Switches() []Switch {
	var all []Switch
	for _, m := range mistake.All() {
		if m != mistake.EachOkByItself { // breaks no promise by itself
			all = append(all, Switch{m.String(), m.Text()})
		}
	}
	return all
}

// KnowsSwitches tells whether each name is that of a switch.
func KnowsSwitches(names []string) bool {
	_, err := switched(names...)
	return err == nil
}

// switched makes the set of the named mistakes.
func switched(names ...string) (mistake.Set, error) {
	var these []mistake.Mistake
	for _, name := range names {
		m, ok := mistake.Named(name)
		if !ok {
			return mistake.Set{}, fmt.Errorf("no switch is called %q; there are %s", name, strings.Join(switchNames(), ", "))
		}
		these = append(these, m)
	}
	return mistake.Of(these...), nil
}

func switchNames() []string {
	var names []string
	for _, s := range Switches() {
		names = append(names, s.Name)
	}
	return names
}

func mistakeNames() []string {
	var names []string
	for _, m := range mistake.All() {
		names = append(names, m.String())
	}
	return names
}
