package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/goccy/go-yaml"
	"golang.org/x/sys/unix"

	"rejoin/results"
	"rejoin/server"
)

// Names of the one topic that the harness writes to.
const (
	clusterName = "bench"
	topicName   = "bench"
)

const (
	exitLimit  = 5 * time.Second // a killed process is gone long before; a stopped one must be by then
	readyLimit = 30 * time.Second
)

// cluster is a set of node processes of this run. Each node's process is started, killed, stopped and restarted by its name only here.
type cluster struct {
	folder results.Folder
	config server.Config
	// effective is config as JSON in the words of the cluster file, defaults filled in.
	effective json.RawMessage

	// fileOf is a node's cluster file. All are the same one, but where something stands between nodes.
	fileOf func(node int) string

	record  *recorder
	poll    *poller
	spawn   *spawner
	env     []string
	profile string // mode for `bench node --profile`, or empty

	watchers sync.WaitGroup // one for each process's end, one for each restarted one's port

	closed sync.Once

	mu    sync.Mutex
	lives []*life

	// surprises are nodes that ended without being told to.
	surprises []string
}

// life is a node's present process and what the harness has done to it.
type life struct {
	process  *process
	expected bool // the harness ended it
	kills    int  // of this node so far, by SIGKILL
	paused   bool
}

// newCluster writes cluster.yaml into the run folder.
func newCluster(folder results.Folder, s Scenario, ports []int, record *recorder, status *results.StatusWriter, profile string) (*cluster, error) {
	config, text, err := clusterConfig(s, ports)
	if err != nil {
		return nil, err
	}
	c := &cluster{folder: folder, config: config, record: record, spawn: newSpawner(), profile: profile, lives: make([]*life, s.Nodes)}
	c.fileOf = func(int) string { return c.configPath() }
	if err := os.WriteFile(c.configPath(), text, 0o644); err != nil {
		return nil, fmt.Errorf("write cluster file: %w", err)
	}
	if text, err = yaml.Marshal(c.config); err == nil {
		c.effective, err = yaml.YAMLToJSON(text)
	}
	if err != nil {
		return nil, fmt.Errorf("spell settings: %w", err)
	}
	secret := make([]byte, 32)
	if _, err := rand.Read(secret); err != nil {
		return nil, fmt.Errorf("draw cluster secret: %w", err)
	}
	c.env = []string{envSecret + "=" + hex.EncodeToString(secret)}
	c.poll = newPoller(status, record, c.clientAddresses(), "")
	return c, nil
}

// clusterConfig is the cluster file of a scenario, as text and as a node reads it. Each node takes three ports.
func clusterConfig(s Scenario, ports []int) (server.Config, []byte, error) {
	config := server.Config{Cluster: clusterName, Limits: s.Cluster,
		Topics: []server.TopicConfig{{Name: topicName, Partitions: 1, Durability: s.Durability}}}
	if config.Limits.ClientConnections == 0 {
		config.Limits.ClientConnections = max(256, s.connections())
	}
	for i := range s.Nodes {
		at := func(plane int) string { return fmt.Sprintf("127.0.0.1:%d", ports[3*i+plane]) }
		config.Nodes = append(config.Nodes, server.NodeConfig{ID: i, Listen: server.Addresses{Peer: at(0), Client: at(1), Admin: at(2)}})
	}
	text, err := yaml.Marshal(config)
	if err != nil {
		return server.Config{}, nil, fmt.Errorf("spell cluster file: %w", err)
	}
	effective, err := server.ParseConfig(text)
	if err != nil {
		return server.Config{}, nil, fmt.Errorf("cluster file of the scenario: %w", err)
	}
	return effective, text, nil
}

// connections is how many connections a node may get in a run, when every producer asks it at once: producers, consumers, and some for
// the poller, the verifier and a person who looks.
func (s Scenario) connections() int { return s.Producers + s.Consumers.Count + 16 }

func (c *cluster) configPath() string { return filepath.Join(c.folder.Dir, "cluster.yaml") }

func (c *cluster) clientAddresses() []string {
	var all []string
	for _, n := range c.config.Nodes {
		all = append(all, n.Dial.Client)
	}
	return all
}

// start starts a node's process; it is a restart when the node had one before.
func (c *cluster) start(node int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.lives[node]
	if before != nil && before.process.alive() {
		return fmt.Errorf("start %s: its process %d is still there", results.NodeName(node), before.process.pid)
	}
	file, err := filepath.Abs(c.fileOf(node)) // whole, so that a later run knows its own old processes
	if err != nil {
		return fmt.Errorf("start %s: %w", results.NodeName(node), err)
	}
	args := []string{"node", "--cluster", file, "--id", fmt.Sprint(node), "--data", c.folder.DataDir(node)}
	if c.profile != "" {
		args = append(args, "--profile", c.profile, "--profile-dir", filepath.Join(c.folder.Profiles(), results.NodeName(node)))
	}
	p, err := startProcess(c.spawn, c.folder.Log(node), c.env, args...)
	if err != nil {
		return fmt.Errorf("start %s: %w", results.NodeName(node), err)
	}
	c.lives[node] = &life{process: p}
	if before != nil {
		c.lives[node].kills = before.kills
	}
	c.poll.watch(node, p.pid, p.startedNs, before != nil)
	if before != nil {
		c.record.write(results.Event{TMonoNs: p.startedNs, Kind: results.KindRestart, Node: results.NodeName(node), Pid: p.pid})
	}
	if before != nil {
		c.watchers.Go(func() { c.awaitPort(node, p) })
	}
	l := c.lives[node]
	c.watchers.Go(func() { c.awaitEnd(node, l) })
	return nil
}

// awaitPort notes when a restarted node's client port opens. It ends with the process at the latest.
func (c *cluster) awaitPort(node int, p *process) {
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for {
		conn, err := net.DialTimeout("tcp", c.config.Nodes[node].Dial.Client, pollTimeout)
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
func (c *cluster) awaitEnd(node int, l *life) {
	<-l.process.exited
	p := l.process
	c.poll.gone(node, p.pid)
	e := results.Event{TMonoNs: p.exitNs, Kind: results.KindExit, Node: results.NodeName(node), Pid: p.pid,
		WaitStatus: new(int64(p.status)), Detail: p.exitWords()}
	if p.status.Signaled() {
		e.Signal = unix.SignalName(p.status.Signal())
	}
	c.record.write(e)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !l.expected {
		c.surprises = append(c.surprises, fmt.Sprintf("%s %s without being told to; its log %s ends: %s",
			results.NodeName(node), p.exitWords(), c.folder.Log(node), lastLine(c.folder.Log(node))))
	}
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
func (c *cluster) kill(ctx context.Context, node int, role string) error {
	return c.endBy(ctx, node, role, syscall.SIGKILL)
}

// terminate sends SIGTERM, at which a node closes its files, and waits until the process is gone. It counts among the kills.
func (c *cluster) terminate(ctx context.Context, node int, role string) error {
	return c.endBy(ctx, node, role, syscall.SIGTERM)
}

func (c *cluster) endBy(ctx context.Context, node int, role string, signal syscall.Signal) error {
	p, err := c.tell(node, func(l *life) error {
		l.expected = true
		l.kills++
		e := results.Event{TMonoNs: monoNow(), Kind: results.KindKill, Node: results.NodeName(node), Role: role, Pid: l.process.pid,
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
	return p.awaitExit(ctx, exitLimit)
}

// wipe removes the data directory of a node that is gone, as a disk that was replaced. What the node recorded of itself is kept beside it.
func (c *cluster) wipe(node int) error {
	dir := c.folder.DataDir(node)
	kept := fmt.Sprintf("%s-events-%d.ndjson", dir, c.killsOf(node))
	err := os.Rename(filepath.Join(dir, "events.ndjson"), kept)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keep the events of %s: %w", results.NodeName(node), err)
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("wipe %s: %w", results.NodeName(node), err)
	}
	c.record.write(results.Event{Kind: results.KindWipe, Node: results.NodeName(node)})
	return nil
}

// end is kill for the verifier's sake: no fault of the run.
func (c *cluster) end(ctx context.Context, node int) error {
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

// killsOf counts the kills of a node.
func (c *cluster) killsOf(node int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lives[node] == nil {
		return 0
	}
	return c.lives[node].kills
}

// pause stops a process by SIGSTOP: it keeps its ports, accepts and never answers.
func (c *cluster) pause(node int, role string) error {
	return c.freeze(node, role, true, syscall.SIGSTOP, results.KindPause)
}

// resume lets it go on.
func (c *cluster) resume(node int) error {
	return c.freeze(node, "", false, syscall.SIGCONT, results.KindResume)
}

func (c *cluster) freeze(node int, role string, paused bool, sig syscall.Signal, kind results.Kind) error {
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
func (c *cluster) tell(node int, do func(*life) error) (*process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.lives[node]
	if l == nil || !l.process.alive() {
		return nil, errNoProcess
	}
	return l.process, do(l)
}

// up lists the nodes that have a process and are not paused.
func (c *cluster) up() []int {
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

// ended returns sentences about nodes that ended by themselves.
func (c *cluster) ended() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.surprises...)
}

// close ends every process by SIGTERM, and by SIGKILL if that does not help. It returns when all are gone and says which did not obey. It
// may be called again.
func (c *cluster) close() error {
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
		if err := l.process.awaitExit(context.Background(), exitLimit); err == nil {
			if !l.process.status.Exited() || l.process.status.ExitStatus() != 0 {
				errs = append(errs, fmt.Errorf("process %d %s at SIGTERM", l.process.pid, l.process.exitWords()))
			}
			continue
		}
		errs = append(errs, fmt.Errorf("process %d ignored SIGTERM for %v and was killed", l.process.pid, exitLimit))
		_ = l.process.signal(syscall.SIGKILL)
		if err := l.process.awaitExit(context.Background(), exitLimit); err != nil {
			errs = append(errs, err)
		}
	}
	c.watchers.Wait()
	c.closed.Do(c.spawn.close)
	return errors.Join(errs...)
}
