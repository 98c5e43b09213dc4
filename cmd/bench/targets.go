package main

import (
	"fmt"
	"slices"
	"strings"

	"rejoin/loadgen"
	"rejoin/loadgen/target/builtin"
	"rejoin/profiles"
	"rejoin/results"
	"rejoin/server"
	"rejoin/server/wire"
)

// durabilityReplicated is the setting in which an acknowledged batch is not yet synced.
const durabilityReplicated = server.DurabilityReplicated

// Targets that `bench run` can drive.
const (
	targetBuiltin = "builtin"
	targetMemory  = "memory"
)

// targetKind is what the harness knows of a target before it is made.
type targetKind struct {
	name string

	// ports that each node needs; 0: there are no nodes.
	ports int

	// diskFactor is how many bytes each replica keeps for a byte of a batch.
	diskFactor float64

	// tails: replicas can be read while they grow, so that consumers can run beside the load.
	tails bool

	// forgetful: the system knows no producers. A batch that was given up may still land, behind later ones of its producer.
	forgetful bool

	// own: our log. It takes the scenario's durability and cluster, and its nodes tell of repairs, transfers and changes of view.
	own bool

	// here says why the target's programs cannot be run on this machine, before a run is begun; nil: it needs none of others.
	here func(PeerFlags) error

	open func(r *session, ports []int) (system, error)

	// external makes the product of nodes that run elsewhere; nil: they cannot.
	external func(s Scenario, flags ExternalFlags) (product, error)
}

// needs refuses a target whose programs are not here.
func (k targetKind) needs(flags PeerFlags) error {
	if k.here == nil {
		return nil
	}
	return k.here(flags)
}

// whyNoRepairs says why a target other than ours shows no op that was repaired or transferred.
func (k targetKind) whyNoRepairs() string {
	if k.ports == 0 {
		return "repairs and transfers nothing"
	}
	return "does not tell what it repairs and transfers"
}

// targetKinds are all targets.
func targetKinds() []targetKind {
	kinds := []targetKind{
		{name: targetBuiltin, ports: 3, diskFactor: 1, tails: true, own: true, open: newBuiltinSystem, external: newRemoteCluster},
		{name: targetMemory, tails: true, open: func(r *session, _ []int) (system, error) { return newMemorySystem(r.scenario, r.record) }},
	}
	return append(kinds, peerKinds()...)
}

// kindOf finds a target by its name; false if there is none.
func kindOf(name string) (targetKind, bool) {
	all := targetKinds()
	i := slices.IndexFunc(all, func(k targetKind) bool { return k.name == name })
	if i < 0 {
		return targetKind{}, false
	}
	return all[i], true
}

// kind is that of the scenario's target, which validate has seen.
func (s Scenario) kind() targetKind {
	k, _ := kindOf(s.Target)
	return k
}

// targetNames are all names, as a sentence has them.
func targetNames() string {
	var names []string
	for _, k := range targetKinds() {
		names = append(names, k.name)
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// frameBytesOf is the size of one of our frames.
func frameBytesOf(messages, payloadBytes int) int64 {
	return wire.HeaderBytes + bodyBytesOf(messages, payloadBytes)
}

// bodyBytesOf is the size of such a frame without its header.
func bodyBytesOf(messages, payloadBytes int) int64 {
	return int64(messages) * (wire.MessagePrefixBytes + int64(payloadBytes))
}

// bodyBytesMax is the largest body that the nodes of the scenario take.
func (s Scenario) bodyBytesMax() int64 {
	if s.Cluster.BatchBytes > 0 {
		return int64(min(s.Cluster.BatchBytes, wire.BodyBytesMax))
	}
	return wire.BodyBytesMax
}

// builtinSystem is our log: node processes of this binary, driven by the adapter. Beside what every system of nodes has, its nodes can be
// profiled.
type builtinSystem struct {
	*nodeSystem
	cluster *cluster
}

func newBuiltinSystem(r *session, ports []int) (system, error) {
	c, err := newCluster(r, ports)
	if err != nil {
		return nil, err
	}
	return &builtinSystem{newProcessSystem(r, c), c}, nil
}

func (b *builtinSystem) adminPlanes() []profiles.NodeAddress {
	var all []profiles.NodeAddress
	for i, n := range b.cluster.config.Nodes {
		all = append(all, profiles.NodeAddress{Name: results.NodeName(i), Admin: n.Dial.Admin})
	}
	return all
}

func newBuiltinTarget(s Scenario, addresses []string) (*builtin.Target, error) {
	options := builtin.Options{Topic: topicName, Partitions: s.Partitions, Durability: s.Durability}
	for i, address := range addresses {
		options.Nodes = append(options.Nodes, builtin.Node{Name: results.NodeName(i), Client: address})
	}
	return builtin.New(options)
}

// offlineSource reads the nodes' files, each partition up to an offset of its own: one without an acknowledgement, up to 0, is not read at all.
func offlineSource(folder results.Folder, nodes int, upTo []uint64) (loadgen.Source, error) {
	var partitions loadgen.Partitions
	for p, end := range upTo {
		options := builtin.FilesOptions{Topic: topicName, Partition: p, UpTo: &end}
		for i := range nodes {
			options.Replicas = append(options.Replicas, builtin.ReplicaDir{Name: results.NodeName(i), Dir: folder.DataDir(i)})
		}
		files, err := builtin.NewFiles(options)
		if err != nil {
			return nil, err
		}
		partitions = append(partitions, files)
	}
	if len(partitions) == 1 {
		return partitions[0], nil
	}
	return partitions, nil
}

// liveSource reads nodes that run by a cluster file, which must be that of the run.
func liveSource(file string, nodes, partitions int) (loadgen.Source, error) {
	config, err := server.LoadConfig(file)
	if err != nil {
		return nil, err
	}
	if len(config.Nodes) != nodes {
		return nil, fmt.Errorf("%s has %d nodes, the run had %d: name the cluster file of that run", file, len(config.Nodes), nodes)
	}
	topic := slices.IndexFunc(config.Topics, func(t server.TopicConfig) bool { return t.Name == topicName && t.Partitions == max(partitions, 1) })
	if topic < 0 {
		return nil, fmt.Errorf("%s has no topic %s of %s, which the run wrote to: name the cluster file of that run", file, topicName, counted(int64(max(partitions, 1)), "partition"))
	}
	token, err := secretOf(envToken)
	if err != nil {
		return nil, err
	}
	options := builtin.Options{Topic: topicName, Partitions: partitions, Token: token, Durability: config.Topics[topic].Durability}
	for i, n := range config.Nodes {
		options.Nodes = append(options.Nodes, builtin.Node{Name: results.NodeName(i), Client: n.Dial.Client})
	}
	return builtin.New(options)
}
