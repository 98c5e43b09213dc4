package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// peerProgram is where make peers puts a program: in the folder peers beside this one.
func peerProgram(name string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the bench binary: %w", err)
	}
	return filepath.Join(filepath.Dir(self), "peers", name), nil
}
