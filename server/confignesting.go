package server

import "bytes"

// nestingMax bounds a file before it is parsed: the parser calls itself for each level.
const nestingMax = 100

// Nesting is how deep brackets and indentation of a YAML file go at most, told without parsing it; a few in a string or a comment do no harm.
// Editors indent by up to eight.
func Nesting(text []byte) int {
	deepest, open := 0, 0
	for line := range bytes.Lines(text) {
		deepest = max(deepest, (len(line)-len(bytes.TrimLeft(line, " -?\t")))/8)
		for _, c := range line {
			switch c {
			case '[', '{':
				open++
				deepest = max(deepest, open)
			case ']', '}':
				open = max(open-1, 0)
			}
		}
	}
	return deepest
}
