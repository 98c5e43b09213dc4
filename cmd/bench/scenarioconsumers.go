package main

import (
	"rejoin/loadgen"
	"rejoin/results"
)

// Consumers are readers that tail replicas while the load runs.
type Consumers struct {
	Count   int    `yaml:"count,omitempty"`
	Replica string `yaml:"replica,omitempty"` // n0, n1, …; or spread, also where it is left out
}

// replicaSpread gives each consumer the next replica.
const replicaSpread = "spread"

const consumersMax = 64

func (s Scenario) validateConsumers() error {
	c := s.Consumers
	if c.Count < 0 || c.Count > consumersMax {
		return refuseField("consumers.count", "%d; pass 0 to %d", c.Count, consumersMax)
	}
	if c.Count > 0 && !s.kind().tails {
		return refuseField("consumers.count", "target %s is read after the load only; leave consumers out", s.Target)
	}
	if c.Replica == "" || c.Replica == replicaSpread {
		return nil
	}
	if c.Count == 0 {
		return refuseField("consumers.replica", "there is no consumer to read it; say count")
	}
	for i := range s.Nodes {
		if c.Replica == results.NodeName(i) {
			return nil
		}
	}
	return refuseField("consumers.replica", "%q: there are n0 to n%d and %s", c.Replica, s.Nodes-1, replicaSpread)
}

// replicas are what the consumers read, by index.
func (c Consumers) replicas(nodes int) []int {
	var all []int
	for i := range c.Count {
		replica := i % nodes
		for n := range nodes {
			if c.Replica == results.NodeName(n) {
				replica = n
			}
		}
		all = append(all, replica)
	}
	return all
}

// countReads puts the consumers into the summary and returns all that they read.
func (r *session) countReads(s *results.Summary) []results.Read {
	var reads []results.Read
	for _, c := range r.outcome.Consumers {
		one := results.ConsumerSummary{Replica: c.Replica, ReadBatches: int64(len(c.Reads)), Errors: c.Errors, StrangeBatches: c.Strange}
		if c.FirstErr != nil {
			one.FirstErr = c.FirstErr.Error()
		}
		s.Consumers = append(s.Consumers, one)
		reads = append(reads, c.Reads...)
	}
	return reads
}

// consumerOptions adds the consumers to the load's options; the baseline has none.
func (s Scenario) consumerOptions(o loadgen.Options) loadgen.Options {
	o.Consumers = s.Consumers.replicas(s.Nodes)
	return o
}
