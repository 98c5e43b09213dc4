package main

import (
	"fmt"

	"rejoin/results"
)

type versionCommand struct{}

// Run prints what this binary was built from.
func (versionCommand) Run(env *environment) error {
	found := results.Probe(".")
	commit, state := found.Commit, "clean"
	if commit == "" {
		commit = "unknown commit"
	}
	if found.Dirty {
		state = "dirty"
	}
	fmt.Fprintf(env.out, "bench %s (%s) %s linux/%s\n", commit, state, found.GoVersion, found.Arch)
	return nil
}
