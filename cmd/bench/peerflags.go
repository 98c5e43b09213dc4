package main

import (
	"cmp"

	"rejoin/results"
)

// PeerFlags say where the programs of other systems are. They are no part of a scenario: paths differ between machines.
type PeerFlags struct {
	NatsServer string `help:"nats-server of the targets nats…; default: the one of make peers, in the folder peers beside bench." name:"nats-server" placeholder:"PATH" type:"path"`
	KafkaHome  string `help:"Kafka distribution of the targets kafka…, the folder that holds libs; default: KAFKA_HOME, else the one of make peers, in the folder peers beside bench." name:"kafka-home" placeholder:"DIR" type:"path"`
}

// record is what was named; nil if nothing was.
func (p PeerFlags) record() *results.Programs {
	if p == (PeerFlags{}) {
		return nil
	}
	return &results.Programs{NatsServer: p.NatsServer, KafkaHome: p.KafkaHome}
}

// repeat takes what is not given from an earlier run.
func (p *PeerFlags) repeat(before *results.Programs) {
	if before == nil {
		return
	}
	p.NatsServer = cmp.Or(p.NatsServer, before.NatsServer)
	p.KafkaHome = cmp.Or(p.KafkaHome, before.KafkaHome)
}

// args are the flags for a run in a process of its own.
func (p PeerFlags) args() []string {
	var args []string
	if p.NatsServer != "" {
		args = append(args, "--nats-server", p.NatsServer)
	}
	if p.KafkaHome != "" {
		args = append(args, "--kafka-home", p.KafkaHome)
	}
	return args
}
