package main

import (
	"errors"

	"rejoin/server/wire"
)

// Targets that `bench run` can drive.
const (
	targetBuiltin = "builtin"
	targetMemory  = "memory"
)

// frameBytesOf is the size of one of our frames.
func frameBytesOf(messages, payloadBytes int) int64 {
	return wire.HeaderBytes + int64(messages)*int64(wire.MessagePrefixBytes+payloadBytes)
}

// newBuiltinSystem is our log as node processes.
func newBuiltinSystem(*session, []int) (system, error) {
	return nil, errors.New("this build holds no adapter for the builtin target yet; pass --target memory")
}
