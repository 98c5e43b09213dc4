package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"rejoin/results"
	"rejoin/server/wire"
)

// ExternalFlags let nodes run anywhere: the harness is told where they are, and how one is started, killed and restarted.
type ExternalFlags struct {
	Addresses      []string     `help:"Client addresses of nodes that run elsewhere, in order, instead of starting any here; see docs/targets.md." placeholder:"HOST:PORT,…"`
	Monitors       []string     `help:"With --addresses and a nats target: addresses of the servers' HTTP monitoring, in order." placeholder:"HOST:PORT,…"`
	StartCommand   string       `help:"With --addresses: starts node {node} (0, 1, …; also $REJOIN_NODE) before the load. Without it the nodes run already, and go on afterwards." placeholder:"COMMAND"`
	KillCommand    string       `help:"With --addresses: kills node {node} at once and returns when it is gone." placeholder:"COMMAND"`
	RestartCommand string       `help:"With --addresses: starts node {node} after a kill. Default: the start command." placeholder:"COMMAND"`
	CommandLimit   durationFlag `help:"How long each of these commands may take. Default: 30s." placeholder:"TIME"`
}

// external says whether nodes are told and not made.
func (f ExternalFlags) external() bool { return len(f.Addresses) > 0 }

// record is what of the flags decided the run; nil where the harness starts the nodes itself.
func (f ExternalFlags) record() *results.Elsewhere {
	if !f.external() {
		return nil
	}
	return &results.Elsewhere{Addresses: f.Addresses, Monitors: f.Monitors, StartCommand: f.StartCommand, KillCommand: f.KillCommand,
		RestartCommand: f.RestartCommand, CommandLimitNs: int64(f.limit())}
}

// repeat takes what is not given from an earlier run. Commands belong to the nodes at their addresses: with other addresses none is taken over.
func (f *ExternalFlags) repeat(before *results.Elsewhere) {
	if before == nil || f.external() && !slices.Equal(f.Addresses, before.Addresses) {
		return
	}
	f.Addresses = before.Addresses
	if len(f.Monitors) == 0 {
		f.Monitors = before.Monitors
	}
	f.StartCommand = cmp.Or(f.StartCommand, before.StartCommand)
	f.KillCommand = cmp.Or(f.KillCommand, before.KillCommand)
	f.RestartCommand = cmp.Or(f.RestartCommand, before.RestartCommand)
	if !f.CommandLimit.given && before.CommandLimitNs > 0 {
		f.CommandLimit = durationFlag{true, time.Duration(before.CommandLimitNs)}
	}
}

// validate says what of the flags does not fit the scenario, before anything is started.
func (f ExternalFlags) validate(s Scenario) error {
	commands := f.StartCommand != "" || f.KillCommand != "" || f.RestartCommand != ""
	switch {
	case !f.external() && (commands || len(f.Monitors) > 0):
		return errors.New("commands and --monitors are for nodes that run elsewhere; pass --addresses, too")
	case !f.external():
		return nil
	case len(f.Addresses) != s.Nodes:
		return fmt.Errorf("--addresses names %d nodes and the scenario has %d: pass one address for each", len(f.Addresses), s.Nodes)
	case s.kind().external == nil:
		return fmt.Errorf("target %s cannot run elsewhere", s.Target)
	}
	for i, fault := range s.Faults {
		switch {
		case fault.Kill == "":
			return fmt.Errorf("fault %d: a node that runs elsewhere can be killed and restarted; for %s there is no command, leave it out", i+1, fault.verb())
		case f.KillCommand == "":
			return fmt.Errorf("fault %d kills a node: pass --kill-command, or a scenario without faults (steady)", i+1)
		case !fault.end().Never && f.restart() == "":
			return fmt.Errorf("fault %d restarts a node: pass --restart-command or --start-command", i+1)
		}
	}
	return nil
}

// commandLimit is how long a command may take unless the user says otherwise.
const commandLimit = 30 * time.Second

func (f ExternalFlags) limit() time.Duration {
	if f.CommandLimit.given {
		return f.CommandLimit.length
	}
	return commandLimit
}

func (f ExternalFlags) restart() string {
	if f.RestartCommand != "" {
		return f.RestartCommand
	}
	return f.StartCommand
}

// commands is control by the user's commands. What a command printed is appended to the node's log in the run folder.
type commands struct {
	flags  ExternalFlags
	folder results.Folder
	record *recorder
	poll   *poller

	mu    sync.Mutex
	lives []externalLife
}

// externalLife is what the harness has done to a node.
type externalLife struct {
	started bool // by the harness at least once
	down    bool // killed and not started again
	kills   int
}

func newCommands(flags ExternalFlags, folder results.Folder, record *recorder, poll *poller) *commands {
	return &commands{flags: flags, folder: folder, record: record, poll: poll, lives: make([]externalLife, len(flags.Addresses))}
}

// run runs one command for a node and writes how it ended. It is ended with all that it started in its process group when its time is over.
func (c *commands) run(ctx context.Context, node int, what, command string) error {
	log, err := os.OpenFile(c.folder.Log(node), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("open node log: %w", err)
	}
	defer log.Close()
	limited, cancel := context.WithTimeout(ctx, c.flags.limit())
	defer cancel()
	number := strconv.Itoa(node)
	cmd := exec.CommandContext(limited, "/bin/sh", "-c", strings.ReplaceAll(command, "{node}", number))
	cmd.Stdout, cmd.Stderr = log, log // a file, so that a node which the command left behind may keep it
	cmd.Env = append(os.Environ(), "REJOIN_NODE="+number, "REJOIN_ADDRESS="+c.flags.Addresses[node])
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	began := wire.MonoNow()
	err = cmd.Run()
	e := results.Event{Kind: results.KindCommand, Node: results.NodeName(node), Reason: what, DurationNs: new(wire.MonoNow() - began)}
	if cmd.ProcessState != nil {
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok {
			e.WaitStatus = new(int64(status))
		}
	}
	if err != nil {
		e.Detail = err.Error()
		if limited.Err() != nil && ctx.Err() == nil {
			e.Detail = fmt.Sprintf("not done within %v", c.flags.limit())
		}
	}
	c.record.write(e)
	if err != nil {
		return fmt.Errorf("%s command of %s: %s; its output ends %s: %s", what, results.NodeName(node), e.Detail, c.folder.Log(node), lastLine(c.folder.Log(node)))
	}
	return nil
}

// start starts a node if there is a command for it; after a kill it is a restart.
func (c *commands) start(node int) error {
	c.mu.Lock()
	restart := c.lives[node].down
	c.mu.Unlock()
	if !restart {
		if err := c.first(node); err != nil {
			return err
		}
		c.poll.watch(node, 0, wire.MonoNow(), false)
		return nil
	}
	began := wire.MonoNow()
	c.record.write(results.Event{TMonoNs: began, Kind: results.KindRestart, Node: results.NodeName(node)})
	c.poll.watch(node, 0, began, true)
	return c.again(node)
}

func (c *commands) first(node int) error {
	if c.flags.StartCommand == "" {
		return nil // it runs already
	}
	c.set(node, func(l *externalLife) { l.started = true })
	return c.run(context.Background(), node, "start", c.flags.StartCommand)
}

func (c *commands) again(node int) error {
	c.set(node, func(l *externalLife) { l.down = false })
	return c.run(context.Background(), node, "restart", c.flags.restart())
}

// revive starts a node that was ended for the verifier's sake.
func (c *commands) revive(node int) error {
	c.poll.watch(node, 0, wire.MonoNow(), false)
	return c.again(node)
}

func (c *commands) set(node int, change func(*externalLife)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.lives[node])
}

// kill is a fault of the run. The node counts as gone when the command returns.
func (c *commands) kill(ctx context.Context, node int, role string) error {
	c.record.write(results.Event{Kind: results.KindKill, Node: results.NodeName(node), Role: role, Detail: "by command"})
	if err := c.end(ctx, node); err != nil {
		return err
	}
	c.record.write(results.Event{Kind: results.KindExit, Node: results.NodeName(node), Detail: "the kill command returned"})
	return nil
}

// end kills a node for the verifier's sake.
func (c *commands) end(ctx context.Context, node int) error {
	if err := c.run(ctx, node, "kill", c.flags.KillCommand); err != nil {
		return err
	}
	c.set(node, func(l *externalLife) { l.down, l.kills = true, l.kills+1 })
	c.poll.gone(node, 0)
	return nil
}

var errNoCommand = errors.New("there is no command for that; a node that runs elsewhere can be killed and restarted")

func (c *commands) terminate(context.Context, int, string) error { return errNoCommand }
func (c *commands) wipe(int) error                               { return errNoCommand }
func (c *commands) pause(int, string) error                      { return errNoCommand }
func (c *commands) resume(int) error                             { return errNoCommand }

func (c *commands) restarts() bool { return c.flags.KillCommand != "" && c.flags.restart() != "" }

func (c *commands) killsOf(node int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lives[node].kills
}

// ended is empty: an end that nobody asked for is seen as a node that does not answer.
func (c *commands) ended() []surprise { return nil }

// close kills what the harness has started.
func (c *commands) close() error {
	var errs []error
	for node := range c.lives {
		c.mu.Lock()
		l := c.lives[node]
		c.mu.Unlock()
		if l.started && !l.down && c.flags.KillCommand != "" {
			errs = append(errs, c.end(context.Background(), node))
		}
	}
	return errors.Join(errs...)
}
