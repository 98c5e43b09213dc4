package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"rejoin/profiles"
	"rejoin/server"
)

// Environment variables that hold secrets, or name files that do. Secrets never come by flag: a command line is public.
const (
	envSecret = "REJOIN_CLUSTER_SECRET"
	envToken  = "REJOIN_TOKEN"
)

// goMaxProcsMin of a node: a goroutine that waits for fdatasync keeps its P for a while.
const goMaxProcsMin = 4

type nodeCommand struct {
	Cluster    string `required:"" help:"Cluster file (YAML): nodes, addresses, topics, limits." type:"existingfile" placeholder:"FILE"`
	ID         int    `required:"" help:"This node's id in the cluster file, from 0." name:"id" placeholder:"N"`
	Data       string `required:"" help:"Data directory; made if it is missing, formatted if it is empty, refused if it holds anything else than a node's data." placeholder:"DIR"`
	Profile    string `help:"Profile the whole life of the node: cpu, mem, mutex, block, trace, goroutine or clock, written at SIGTERM; flight: keep the last seconds of trace for the admin plane. cpu leaves the admin plane none to take." placeholder:"MODE[,flight]"`
	ProfileDir string `help:"Where the profile goes. Default: the present folder." default:"." type:"path" placeholder:"DIR"`
	Log        string `help:"Lowest level of log lines on stderr: debug, info, warn or error." default:"info" enum:"debug,info,warn,error" placeholder:"LEVEL"`
}

// Help is shown by bench node --help.
func (nodeCommand) Help() string {
	return `The node serves until SIGTERM or SIGINT, then answers what is durable, flushes and exits 0 within 5 s.

Secrets come from the environment: REJOIN_CLUSTER_SECRET (or REJOIN_CLUSTER_SECRET_FILE) guards the peer plane, REJOIN_TOKEN (or
REJOIN_TOKEN_FILE) the client plane. Both are needed to listen beyond loopback.

GET /v1/cluster on the client plane tells what this node knows of all: exactly for itself; of the others what they said to it. Backups do not
talk to each other, so a backup shows the other backups as unknown: ask the primary. GET /openapi.yaml describes all calls.

Example:  bench node --cluster cluster.yaml --id 0 --data data/n0`
}

// Run serves until the context ends.
func (c *nodeCommand) Run(env *environment) error {
	if c.Data == "" { // an unset variable of a script, most likely
		return usage("--data is empty; name the node's data directory, or . for the present one")
	}
	c.Data = kong.ExpandPath(c.Data)
	config, err := server.LoadConfig(c.Cluster)
	if err != nil {
		return usage("%w", err)
	}
	if c.ID < 0 || c.ID >= len(config.Nodes) {
		return usage("the cluster file has nodes 0 to %d, not %d; pass one of them as --id", len(config.Nodes)-1, c.ID)
	}
	secret, err := secretOf(envSecret)
	if err != nil {
		return usage("%w", err)
	}
	token, err := secretOf(envToken)
	if err != nil {
		return usage("%w", err)
	}
	if err := config.CheckExposure(c.ID, secret != "", token != ""); err != nil {
		return usage("%w", err)
	}
	if runtime.GOMAXPROCS(0) < goMaxProcsMin {
		runtime.GOMAXPROCS(goMaxProcsMin)
	}
	profiling, err := parseProfiling(c.Profile)
	if err != nil {
		return usage("%w", err)
	}
	profile, err := profiles.Start(profiling.mode, c.ProfileDir)
	if err != nil {
		return usage("%w", err)
	}
	flight, stopFlight, err := startFlight(profiling.flight)
	if err != nil {
		return usage("%w", err)
	}
	defer stopFlight()
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.Log)); err != nil {
		return usage("log level: %w", err)
	}
	logger := slog.New(slog.NewTextHandler(env.errs, &slog.HandlerOptions{Level: level}))
	err = server.Run(env.ctx, server.Options{Config: config, ID: c.ID, Dir: c.Data, Secret: []byte(secret), Token: token, Logger: logger, Flight: flight})
	if _, stopErr := profile.Stop(); stopErr != nil && err == nil {
		err = stopErr
	}
	if err != nil {
		return fmt.Errorf("node %d: %w", c.ID, explain(err, c.Data))
	}
	return nil
}

// withoutSecrets is an environment without the secrets of whoever starts a run. They are for the harness, such as the token of its live page:
// the nodes of a run have a secret of their own, take no token, and would ask one of a load generator that does not know it. Nor is it for the
// user's environment to say with which timer slack the nodes of a run go.
func withoutSecrets(environment []string) []string {
	return slices.DeleteFunc(slices.Clone(environment), func(setting string) bool {
		name, _, _ := strings.Cut(setting, "=")
		name = strings.TrimSuffix(name, "_FILE")
		return name == envSecret || name == envToken || name == envTimerSlack
	})
}

// secretOf reads a secret from its variable or from the file that NAME_FILE names; never both.
func secretOf(name string) (string, error) {
	value, path := os.Getenv(name), os.Getenv(name+"_FILE")
	switch {
	case value != "" && path != "":
		return "", fmt.Errorf("both %s and %s_FILE are set; unset one", name, name)
	case path == "":
		return value, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the secret that %s_FILE names: %w", name, err)
	}
	value = strings.TrimRight(string(text), "\r\n")
	if value == "" {
		return "", fmt.Errorf("the file %s that %s_FILE names is empty; put the secret into it", path, name)
	}
	return value, nil
}

// explain adds to failures of the machine what to do about them; the server does so for its own refusals and for taken ports.
func explain(err error, dir string) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w; the disk under %s is full: free space and start the node again, what was acknowledged is kept", err, dir)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%w; this user may not use %s: correct its owner or pass another --data", err, dir)
	case errors.Is(err, syscall.EMFILE):
		return fmt.Errorf("%w; too few open files are allowed: raise ulimit -n", err)
	}
	return err
}
