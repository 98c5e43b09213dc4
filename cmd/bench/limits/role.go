package limits

import (
	"fmt"
	"os"

	"rejoin/cmd/bench/limits/shape"
)

// Serve is the process of a role, until its standard input ends. Launch of Options must make processes that call it.
func Serve(role, settings string) error {
	if role == roleAppends {
		return serveAppends(settings, os.Stdin, os.Stdout)
	}
	known, err := shape.Serve(role, settings)
	if !known {
		return fmt.Errorf("there is no role %q", role)
	}
	return err
}
