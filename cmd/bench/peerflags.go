package main

// PeerFlags say where the programs of other systems are. They are no part of a scenario: paths differ between machines.
type PeerFlags struct {
	NatsServer string `help:"nats-server of the targets nats…; default: the one of make peers, in the folder peers beside bench." name:"nats-server" placeholder:"PATH" type:"path"`
	KafkaHome  string `help:"Kafka distribution of the targets kafka…, the folder that holds libs; default: KAFKA_HOME, else the one of make peers, in the folder peers beside bench." name:"kafka-home" placeholder:"DIR" type:"path"`
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
