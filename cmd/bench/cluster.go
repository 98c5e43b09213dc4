package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/goccy/go-yaml"

	"rejoin/loadgen"
	"rejoin/loadgen/target/builtin"
	"rejoin/results"
	"rejoin/server"
)

// Names of the one topic that the harness writes to.
const (
	clusterName = "bench"
	topicName   = "bench"
)

// cluster is our log as a product: nodes of this very binary, driven by the adapter builtin.
type cluster struct {
	clusterAsker

	folder results.Folder
	record *recorder
	config server.Config
	// effective is config as JSON in the words of the cluster file, defaults filled in.
	effective json.RawMessage

	// fileOf is a node's cluster file. All are the same one, but where something stands between nodes.
	fileOf func(node int) string

	env     []string
	profile string // mode for `bench node --profile`, or empty
	log     *builtin.Target
}

// newCluster writes cluster.yaml into the run folder.
func newCluster(r *session, ports []int) (*cluster, error) {
	config, text, err := clusterConfig(r.scenario, ports)
	if err != nil {
		return nil, err
	}
	c := &cluster{folder: r.folder, record: r.record, config: config, profile: r.profiling.nodeFlag()}
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
	c.clusterAsker = newClusterAsker(c.clientAddresses(), "")
	c.log, err = newBuiltinTarget(r.scenario, c.clientAddresses())
	return c, err
}

// clusterConfig is the cluster file of a scenario, as text and as a node reads it. Each node takes three ports.
func clusterConfig(s Scenario, ports []int) (server.Config, []byte, error) {
	config := server.Config{Cluster: clusterName, Limits: s.Cluster,
		Topics: []server.TopicConfig{{Name: topicName, Partitions: s.Partitions, Durability: s.Durability}}}
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

// prepare has nothing to do: a node formats its directory itself.
func (c *cluster) prepare(int) error { return nil }

func (c *cluster) program(node int) (program, error) {
	self, err := os.Executable()
	if err != nil {
		return program{}, fmt.Errorf("find the bench binary: %w", err)
	}
	args := []string{"node", "--cluster", c.fileOf(node), "--id", fmt.Sprint(node), "--data", c.folder.DataDir(node)}
	if c.profile != "" {
		args = append(args, "--profile", c.profile, "--profile-dir", filepath.Join(c.folder.Profiles(), results.NodeName(node)))
	}
	return program{path: self, args: args, env: c.env, address: c.config.Nodes[node].Dial.Client}, nil
}

func (c *cluster) missing(_ context.Context, all []results.Status) string {
	return missingOfCluster(all)
}

// missingOfCluster: all nodes of our log answer and agree on a primary of every partition before load begins.
func missingOfCluster(all []results.Status) string {
	for _, s := range all {
		if !s.Up {
			return s.Node + " does not answer"
		}
	}
	partitions := partitionsOf(all)
	for partition := range partitions {
		where := inPartition(partition, partitions)
		primary, known := leaderOf(all, partition)
		if !known {
			return "no node is primary" + where
		}
		view := all[primary].PartitionViews()[partition]
		for i, s := range all {
			switch {
			case s.State != "normal":
				return fmt.Sprintf("%s is in state %s", s.Node, s.State)
			case s.PartitionCount() != partitions:
				return fmt.Sprintf("%s names %d of %d partitions", s.Node, s.PartitionCount(), partitions)
			case s.PartitionViews()[partition] != view:
				return fmt.Sprintf("%s is in view %d, the primary in view %d%s", s.Node, s.PartitionViews()[partition], view, where)
			case s.Role != results.RolePrimary && s.Role != results.RoleBackup || i != primary && s.Leads(partition):
				return s.Node + " has no role" + where
			}
		}
	}
	return ""
}

func (c *cluster) target() loadgen.Target { return c.log }
func (c *cluster) settings() any          { return c.effective }

func (c *cluster) close() error {
	c.closeIdle()
	return c.log.Close()
}

// rounds: every replica by its own address, every replica alone with the others stopped, and the files of all after a SIGKILL.
func (c *cluster) rounds(s *nodeSystem, verifier *loadgen.Verifier) ([]verifyRound, error) {
	source, err := offlineSource(c.folder, len(c.config.Nodes), verifier.AckedEnds())
	if err != nil {
		return nil, err
	}
	rounds := append([]verifyRound{{name: roundLive, source: c.log}}, s.aloneRounds(c.log)...)
	return append(rounds, verifyRound{name: roundOffline, source: source, prepare: c.endAll(s)}), nil
}

// endAll ends all nodes without warning. Nodes that are profiled are asked to stop instead: a killed one leaves no profile.
func (c *cluster) endAll(s *nodeSystem) func(context.Context) (func() error, error) {
	if c.profile == "" || c.profile == profileFlight {
		return s.killAll
	}
	return func(context.Context) (func() error, error) {
		s.stopPolling()
		return nil, s.control.close()
	}
}

// nodeEvents reads what every node recorded of itself.
func (c *cluster) nodeEvents(s *nodeSystem) (events []results.Event, problems []string) {
	base, _ := c.record.base()
	for i := range c.config.Nodes {
		path := filepath.Join(c.folder.DataDir(i), "events.ndjson")
		files, _ := filepath.Glob(c.folder.DataDir(i) + "-events-*.ndjson") // of directories that were wiped
		damaged := 0
		for _, file := range append(files, path+".1", path) { // a node keeps the file before the present one
			n, err := builtin.ReadEvents(file, base, func(e results.Event) error {
				events = append(events, e)
				return nil
			})
			damaged += n
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				problems = append(problems, err.Error())
			}
		}
		// Each life that was killed may leave one torn line.
		if lives := s.killsOf(i); damaged > lives {
			problems = append(problems, fmt.Sprintf("%s holds %d damaged lines, %d kills explain as many", path, damaged, lives))
		}
	}
	for _, e := range events {
		if e.Kind == results.KindDropped {
			problems = append(problems, fmt.Sprintf("%s had no room for some of its events", e.Source))
		}
	}
	return events, problems
}
