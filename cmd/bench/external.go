package main

import (
	"context"
	"errors"

	"rejoin/loadgen"
	"rejoin/loadgen/target/builtin"
	"rejoin/results"
)

// elsewhere is the part of a product whose nodes the user's commands start.
type elsewhere struct{ flags ExternalFlags }

func (elsewhere) prepare(int) error { return nil }

func (elsewhere) program(int) (program, error) {
	return program{}, errors.New("the node runs elsewhere; only commands start it")
}

// nodeEvents: what a node elsewhere records stays there.
func (elsewhere) nodeEvents(*nodeSystem) ([]results.Event, []string) { return nil, nil }

// settings: those of nodes elsewhere are not known; where they are stands beside.
func (e elsewhere) settings() any { return nil }

// newExternalSystem drives nodes that the user's commands start and kill. What keeps it from that lies in what the user told: a refusal.
func newExternalSystem(r *session) (system, error) {
	flags := r.command.ExternalFlags
	p, err := r.scenario.kind().external(r.scenario, flags)
	if err != nil {
		return nil, usage("%w", err)
	}
	return newNodeSystem(r, p, func(poll *poller) control { return newCommands(flags, r.folder, r.record, poll) }), nil
}

// external says whether the nodes of this run were told to the harness and not made by it.
func (r *session) external() bool { return r.command.external() }

// remoteCluster is our log, elsewhere.
type remoteCluster struct {
	elsewhere
	clusterAsker
	log        *builtin.Target
	partitions int
}

func newRemoteCluster(s Scenario, flags ExternalFlags) (product, error) {
	token, err := secretOf(envToken)
	if err != nil {
		return nil, err
	}
	options := builtin.Options{Topic: topicName, Partitions: s.Partitions, Token: token, Durability: s.Durability}
	for i, address := range flags.Addresses {
		options.Nodes = append(options.Nodes, builtin.Node{Name: results.NodeName(i), Client: address})
	}
	log, err := builtin.New(options)
	return &remoteCluster{elsewhere{flags}, newClusterAsker(flags.Addresses, token), log, s.Partitions}, err
}

func (c *remoteCluster) missing(_ context.Context, all []results.Status) string {
	return missingOfCluster(all)
}
func (c *remoteCluster) target() loadgen.Target { return c.log }

// unused implements unusedProduct.
func (c *remoteCluster) unused(ctx context.Context) error {
	for p := range c.partitions {
		if err := refuseUsed(ctx, c.log.Partition(p)); err != nil {
			return err
		}
	}
	return nil
}

// refuseUsed refuses a log that holds something before the load. The verifier reads from the beginning, and would call it foreign: a run that lost
// nothing would end as if it had.
func refuseUsed(ctx context.Context, source loadgen.Source) error {
	errUsed := errors.New("used")
	for _, replica := range source.Replicas() {
		_, err := source.ReadReplica(ctx, replica, func(loadgen.ReadBatch) error { return errUsed })
		if errors.Is(err, errUsed) {
			return usage("%s holds messages already, perhaps of an earlier run, and every replica is verified from its beginning: start the nodes on empty data directories", replica)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *remoteCluster) rounds(s *nodeSystem, _ *loadgen.Verifier) ([]verifyRound, error) {
	return s.liveRounds(c.log), nil
}

func (c *remoteCluster) close() error {
	c.closeIdle()
	return c.log.Close()
}
