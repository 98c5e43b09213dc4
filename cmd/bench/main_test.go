package main

import (
	"os"
	"testing"
)

// TestMain lets this binary be a node, or a part of a measurement, too: the harness starts them from its own executable, so those
// of a test are the code under test, with the race detector where the test has it.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "node" || os.Args[1] == limitsPartName) {
		main()
		return
	}
	os.Exit(m.Run())
}
