package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"rejoin/results"
	"rejoin/server/wire"
)

const (
	exitLimit  = 5 * time.Second // a killed process is gone long before; a stopped one must be by then
	readyLimit = 30 * time.Second
)

// program is how one node's process is started. The same program is started again after a kill, on what the one before left behind.
type program struct {
	path string // of the binary
	args []string
	env  []string // beside the harness's own

	// address is where clients connect: it is noted when it opens after a restart. Empty: nothing is noted.
	address string

	// stopLimit is how long the process may take from SIGTERM to its end; 0 means 5 s. stopCodes are the exit codes in which it may then
	// end; empty means 0 alone.
	stopLimit time.Duration
	stopCodes []int
}

func (p program) patience() time.Duration {
	if p.stopLimit == 0 {
		return exitLimit
	}
	return p.stopLimit
}

// endedWell says whether the exit after a SIGTERM is one that the program announces.
func (p program) endedWell(status syscall.WaitStatus) bool {
	if len(p.stopCodes) == 0 {
		return status.Exited() && status.ExitStatus() == 0
	}
	return status.Exited() && slices.Contains(p.stopCodes, status.ExitStatus())
}

// crew is a set of node processes of this run, of whatever system. Each node's process is started, killed, stopped and restarted by its
// name only here.
type crew struct {
	folder results.Folder
	record *recorder
	poll   *poller
	spawn  *spawner

	// programOf says how a node is started.
	programOf func(node int) (program, error)

	watchers sync.WaitGroup // one for each process's end, one for each restarted one's port

	closed sync.Once

	mu    sync.Mutex
	lives []*life

	// surprises are nodes that ended without being told to.
	surprises []surprise
}

// life is a node's present process and what the harness has done to it.
type life struct {
	process  *process
	program  program
	expected bool // the harness ended it
	kills    int  // of this node so far, by SIGKILL
	paused   bool
}

func newCrew(folder results.Folder, record *recorder, poll *poller, nodes int, programOf func(int) (program, error)) *crew {
	return &crew{folder: folder, record: record, poll: poll, spawn: newSpawner(), programOf: programOf, lives: make([]*life, nodes)}
}

// start starts a node's process; it is a restart when the node had one before.
func (c *crew) start(node int) error { return c.launch(node, true) }

// revive starts a node that was ended for the verifier's sake.
func (c *crew) revive(node int) error { return c.launch(node, false) }

// launch starts a process. A restart of the run stands in the events, and the poller follows it until it has caught up.
func (c *crew) launch(node int, ofRun bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.lives[node]
	if before != nil && before.process.alive() {
		return fmt.Errorf("start %s: its process %d is still there", results.NodeName(node), before.process.pid)
	}
	how, err := c.programOf(node)
	if err != nil {
		return fmt.Errorf("start %s: %w", results.NodeName(node), err)
	}
	mark, err := filepath.Abs(c.folder.Dir)
	if err != nil {
		return fmt.Errorf("start %s: %w", results.NodeName(node), err)
	}
	p, err := startProcess(c.spawn, c.folder.Log(node), mark, how)
	if err != nil {
		return fmt.Errorf("start %s: %w", results.NodeName(node), err)
	}
	c.lives[node] = &life{process: p, program: how}
	if before != nil {
		c.lives[node].kills = before.kills
	}
	c.poll.watch(node, p.pid, p.startedNs, before != nil && ofRun)
	if before != nil && ofRun {
		c.record.write(results.Event{TMonoNs: p.startedNs, Kind: results.KindRestart, Node: results.NodeName(node), Pid: p.pid})
	}
	if before != nil && ofRun && how.address != "" {
		c.watchers.Go(func() { c.awaitPort(node, how.address, p) })
	}
	l := c.lives[node]
	c.watchers.Go(func() { c.awaitEnd(node, l) })
	return nil
}

// awaitPort notes when a restarted node's client port opens. It ends with the process at the latest.
func (c *crew) awaitPort(node int, address string, p *process) {
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for {
		conn, err := net.DialTimeout("tcp", address, pollTimeout)
		if err == nil {
			conn.Close()
			c.record.write(results.Event{Kind: results.KindPortOpen, Node: results.NodeName(node), Pid: p.pid})
			return
		}
		select {
		case <-p.exited:
			return
		case <-ticker.C:
		}
	}
}

// awaitEnd writes the exit of a process, and remembers one that nobody asked for.
func (c *crew) awaitEnd(node int, l *life) {
	<-l.process.exited
	p := l.process
	c.poll.gone(node, p.pid)
	e := results.Event{TMonoNs: p.exitNs, Kind: results.KindExit, Node: results.NodeName(node), Pid: p.pid,
		WaitStatus: new(int64(p.status)), Detail: p.exitWords()}
	if p.status.Signaled() {
		e.Signal = unix.SignalName(p.status.Signal())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !l.expected {
		e.Reason = "nobody of this run asked for it"
		s := surprise{node: results.NodeName(node), atMs: -1, status: p.status, how: p.exitWords(), log: c.folder.Log(node), said: lastLine(c.folder.Log(node))}
		if base, known := c.record.base(); known {
			s.atMs = float64(p.exitNs-base) / 1e6
		}
		c.surprises = append(c.surprises, s)
	}
	c.record.write(e)
}

// lastLine is the last line of a log, where a node that gave up says why.
func lastLine(path string) string {
	const tailBytes = 4 << 10
	file, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > tailBytes {
		if _, err := file.Seek(-tailBytes, io.SeekEnd); err != nil {
			return err.Error()
		}
	}
	text, err := io.ReadAll(io.LimitReader(file, tailBytes))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

// kill sends SIGKILL and waits until the process is gone. It is a fault of the run and stands in the events.
func (c *crew) kill(ctx context.Context, node int, role string) error {
	return c.endBy(ctx, node, role, syscall.SIGKILL)
}

// terminate sends SIGTERM, at which a node closes its files, and waits until the process is gone. It counts among the kills.
func (c *crew) terminate(ctx context.Context, node int, role string) error {
	return c.endBy(ctx, node, role, syscall.SIGTERM)
}

func (c *crew) endBy(ctx context.Context, node int, role string, signal syscall.Signal) error {
	limit := exitLimit
	p, err := c.tell(node, func(l *life) error {
		l.expected = true
		l.kills++
		if signal == syscall.SIGTERM {
			limit = l.program.patience()
		}
		e := results.Event{TMonoNs: wire.MonoNow(), Kind: results.KindKill, Node: results.NodeName(node), Role: role, Pid: l.process.pid,
			Signal: unix.SignalName(signal)}
		if err := l.process.signal(signal); err != nil {
			return err
		}
		c.record.write(e)
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s to %s: %w", unix.SignalName(signal), results.NodeName(node), err)
	}
	return p.awaitExit(ctx, limit)
}

// wipe removes the data directory of a node that is gone, as a disk that was replaced. What the node recorded of itself is kept beside it.
func (c *crew) wipe(node int) error {
	dir := c.folder.DataDir(node)
	for name, part := range map[string]string{"events.ndjson": "", "events.ndjson.1": "-before"} {
		kept := fmt.Sprintf("%s-events-%d%s.ndjson", dir, c.killsOf(node), part)
		err := os.Rename(filepath.Join(dir, name), kept)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("keep the events of %s: %w", results.NodeName(node), err)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("wipe %s: %w", results.NodeName(node), err)
	}
	c.record.write(results.Event{Kind: results.KindWipe, Node: results.NodeName(node)})
	return nil
}

// end is kill for the verifier's sake: no fault of the run.
func (c *crew) end(ctx context.Context, node int) error {
	p, err := c.tell(node, func(l *life) error {
		l.expected = true
		l.kills++
		return l.process.signal(syscall.SIGKILL)
	})
	if err != nil {
		return fmt.Errorf("end %s: %w", results.NodeName(node), err)
	}
	return p.awaitExit(ctx, exitLimit)
}

func (c *crew) restarts() bool { return true }

// killsOf counts the kills of a node.
func (c *crew) killsOf(node int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lives[node] == nil {
		return 0
	}
	return c.lives[node].kills
}

// pause stops a process by SIGSTOP: it keeps its ports, accepts and never answers.
func (c *crew) pause(node int, role string) error {
	return c.freeze(node, role, true, syscall.SIGSTOP, results.KindPause)
}

// resume lets it go on.
func (c *crew) resume(node int) error {
	return c.freeze(node, "", false, syscall.SIGCONT, results.KindResume)
}

func (c *crew) freeze(node int, role string, paused bool, sig syscall.Signal, kind results.Kind) error {
	_, err := c.tell(node, func(l *life) error {
		l.paused = paused
		c.record.write(results.Event{Kind: kind, Node: results.NodeName(node), Role: role, Pid: l.process.pid, Signal: unix.SignalName(sig)})
		return l.process.signal(sig)
	})
	if err != nil {
		return fmt.Errorf("%s %s: %w", kind, results.NodeName(node), err)
	}
	return nil
}

var errNoProcess = errors.New("it has no process")

// tell does something to a node's living process.
func (c *crew) tell(node int, do func(*life) error) (*process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.lives[node]
	if l == nil || !l.process.alive() {
		return nil, errNoProcess
	}
	return l.process, do(l)
}

// up lists the nodes that have a process and are not paused.
func (c *crew) up() []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	var nodes []int
	for i, l := range c.lives {
		if l != nil && l.process.alive() && !l.paused {
			nodes = append(nodes, i)
		}
	}
	return nodes
}

// ended are the ends of nodes that nobody of the run asked for.
func (c *crew) ended() []surprise {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.surprises)
}

// close ends every process by SIGTERM, and by SIGKILL if that does not help. It returns when all are gone and says which did not obey. It
// may be called again.
func (c *crew) close() error {
	var errs []error
	var living []*life
	c.mu.Lock()
	for _, l := range c.lives {
		if l != nil && l.process.alive() {
			l.expected = true
			living = append(living, l)
		}
	}
	c.mu.Unlock()
	for _, l := range living {
		_ = l.process.signal(syscall.SIGCONT) // a stopped process takes no SIGTERM
		_ = l.process.signal(syscall.SIGTERM)
	}
	for _, l := range living {
		if err := l.process.awaitExit(context.Background(), l.program.patience()); err == nil {
			if !l.program.endedWell(l.process.status) {
				errs = append(errs, fmt.Errorf("process %d %s at SIGTERM", l.process.pid, l.process.exitWords()))
			}
			continue
		}
		errs = append(errs, fmt.Errorf("process %d ignored SIGTERM for %v and was killed", l.process.pid, l.program.patience()))
		_ = l.process.signal(syscall.SIGKILL)
		if err := l.process.awaitExit(context.Background(), exitLimit); err != nil {
			errs = append(errs, err)
		}
	}
	c.watchers.Wait()
	c.closed.Do(c.spawn.close)
	return errors.Join(errs...)
}
