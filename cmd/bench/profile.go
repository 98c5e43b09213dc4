package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/pkg/profile"
)

// profileModes are the modes of pkg/profile by the name that the user gives.
func profileMode(name string) (func(*profile.Profile), bool) {
	switch name {
	case "cpu":
		return profile.CPUProfile, true
	case "mem":
		return profile.MemProfile, true
	case "mutex":
		return profile.MutexProfile, true
	case "block":
		return profile.BlockProfile, true
	case "trace":
		return profile.TraceProfile, true
	case "goroutine":
		return profile.GoroutineProfile, true
	case "clock":
		return profile.ClockProfile, true
	}
	return nil, false
}

func profileNames() []string {
	return []string{"cpu", "mem", "mutex", "block", "trace", "goroutine", "clock"}
}

// checkProfile refuses a mode that does not exist; an empty one is none.
func checkProfile(mode string) error {
	if mode != "" && !slices.Contains(profileNames(), mode) {
		return fmt.Errorf("profile mode %q is unknown; there are %s", mode, strings.Join(profileNames(), ", "))
	}
	return nil
}

// startProfile profiles the process from now until the returned function is called, which writes the file. The library's own signal hook
// stays off: it would exit at SIGINT before the node has flushed, and knows no SIGTERM at all. A process killed by SIGKILL leaves nothing.
func startProfile(mode, dir string) (stop func(), err error) {
	if err := checkProfile(mode); err != nil {
		return nil, err
	}
	option, ok := profileMode(mode)
	if !ok {
		return func() {}, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make profile folder: %w", err)
	}
	return profile.Start(option, profile.ProfilePath(dir), profile.NoShutdownHook, profile.Quiet).Stop, nil
}
