package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"rejoin/server/sim"
)

// exitFound says that a known mistake was found, and not that anything else is wrong.
const exitFound = 1

// found tells whether a campaign has found the mistakes that its replicas made: the property that the
// lowest failing seed broke.
func (c *simCampaign) found(env *environment) error {
	names := strings.Join(c.options.Switches, ", ")
	var f *sim.Failure
	switch {
	case c.failed == nil:
		fmt.Fprintf(env.out, "%s is not found: every promise held in %d runs\n", names, c.sum.Runs)
		return nil
	case !errors.As(c.failed, &f):
		return &exitError{failureCode(c.failed), c.failed}
	}
	fmt.Fprintf(env.out, "%s\n", f.Property)
	return &exitError{exitFound, fmt.Errorf("%s is found by seed %d, after %.1f s: %s\nrepeat: %s", names, f.Seed, time.Since(c.began).Seconds(), f.Summary(), f.Command())}
}
