package main

import (
	"os"
	"testing"
)

// TestMain lets this binary be a node too: the harness starts nodes from its own executable, so nodes
// of a test are the code under test, with the race detector where the test has it.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "node" {
		main()
		return
	}
	os.Exit(m.Run())
}
