package main

// PeerFlags say where the programs of other systems are. They are no part of a scenario: paths differ between machines.
type PeerFlags struct {
	NatsServer string `help:"nats-server of the targets nats…; default: the one of make peers, in the folder peers beside bench." name:"nats-server" placeholder:"PATH" type:"path"`
}
