package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"rejoin/loadgen"
	"rejoin/loadgen/target/memory"
	"rejoin/results"
	"rejoin/server/wire"
)

// memoryFailover is how long the memory target has no primary after a kill of it.
const memoryFailover = 100 * time.Millisecond

// memorySystem lets the memory target play a cluster: a killed node refuses connections, a stopped one hangs, and another becomes primary.
// It tries the harness, not a log: nothing is ever behind, and nothing is lost but what was planted.
type memorySystem struct {
	log    *memory.Target
	record *recorder
	nodes  int
	plant  *memory.Fault // shown to the verifier by the last replica; nil: none

	mu      sync.Mutex
	primary int
	view    int64
	state   []memory.AddressMode
	elect   sync.WaitGroup
}

func newMemorySystem(s Scenario, record *recorder) (*memorySystem, error) {
	m := &memorySystem{log: memory.New(memory.Options{Replicas: s.Nodes}), record: record, nodes: s.Nodes, view: 1,
		state: make([]memory.AddressMode, s.Nodes)}
	var err error
	m.plant, err = plantedFault(s.Plant)
	return m, err
}

// plantedFault finds a fault of the memory target by its name; nil for none.
func plantedFault(name string) (*memory.Fault, error) {
	if name == "" {
		return nil, nil
	}
	for f := memory.FaultLost; f <= memory.FaultTorn; f++ {
		if f.String() == name {
			return &f, nil
		}
	}
	return nil, fmt.Errorf("the memory target knows no fault %q to plant; there are %v to %v", name, memory.FaultLost, memory.FaultTorn)
}

func (m *memorySystem) start(context.Context) error { return nil }
func (m *memorySystem) target() loadgen.Target      { return m.log }
func (m *memorySystem) askedSince(int64) bool       { return true }
func (m *memorySystem) catchingUp() []string        { return nil }
func (m *memorySystem) surprises() []surprise       { return nil }
func (m *memorySystem) rssMaxOf(int) *int64         { return nil }
func (m *memorySystem) lagOf(int) *int64            { return new(int64(0)) } // all nodes show one log
func (m *memorySystem) dataBytesOf(int) *int64      { return nil }
func (m *memorySystem) settings() any               { return map[string]int{"replicas": m.nodes} }

func (m *memorySystem) nodeEvents() ([]results.Event, []string) { return nil, nil }

func (m *memorySystem) rounds(*loadgen.Verifier) ([]verifyRound, error) {
	if m.plant != nil {
		m.log.Plant(*m.plant, m.log.Replicas()[m.nodes-1])
	}
	return []verifyRound{{name: roundLive, source: m.log}}, nil
}

func (m *memorySystem) status() []results.Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]results.Status, m.nodes)
	commit := int64(m.log.EndOffset())
	for i := range all {
		all[i] = results.Status{Node: results.NodeName(i), Role: results.RoleBackup}
		if m.state[i] != memory.AddressOpen {
			all[i].Role = ""
			continue
		}
		if i == m.primary {
			all[i].Role = results.RolePrimary
		}
		all[i].Up, all[i].State, all[i].View = true, "normal", new(m.view)
		all[i].HeadOp, all[i].CommitOp, all[i].KnownCommit = new(commit), new(commit), new(commit)
	}
	return all
}

func (m *memorySystem) kill(_ context.Context, node int, role string) error {
	m.end(node, role, "SIGKILL", 9)
	return nil
}

// terminate is a kill here: there is nothing to close.
func (m *memorySystem) terminate(_ context.Context, node int, role string) error {
	m.end(node, role, "SIGTERM", 0)
	return nil
}

func (m *memorySystem) end(node int, role, signal string, status int64) {
	m.record.write(results.Event{Kind: results.KindKill, Node: results.NodeName(node), Role: role, Signal: signal})
	m.set(node, memory.AddressRefuses)
	exit := results.Event{Kind: results.KindExit, Node: results.NodeName(node), WaitStatus: new(status)}
	if status != 0 {
		exit.Signal = signal
	}
	m.record.write(exit)
}

func (m *memorySystem) wipe(int) error { return errors.New("the memory target has no data directory") }

func (m *memorySystem) restart(node int) error {
	now := wire.MonoNow()
	m.record.write(results.Event{TMonoNs: now, Kind: results.KindRestart, Node: results.NodeName(node)})
	m.set(node, memory.AddressOpen)
	m.record.write(results.Event{Kind: results.KindCaughtUp, Node: results.NodeName(node), DurationNs: new(wire.MonoNow() - now)})
	return nil
}

func (m *memorySystem) pause(node int, role string) error {
	m.record.write(results.Event{Kind: results.KindPause, Node: results.NodeName(node), Role: role, Signal: "SIGSTOP"})
	m.set(node, memory.AddressHangs)
	return nil
}

func (m *memorySystem) resume(node int) error {
	m.record.write(results.Event{Kind: results.KindResume, Node: results.NodeName(node), Signal: "SIGCONT"})
	m.set(node, memory.AddressOpen)
	return nil
}

// set changes how a node treats its callers; a primary that is gone is replaced a little later.
func (m *memorySystem) set(node int, mode memory.AddressMode) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state[node] = mode
	m.log.SetAddress(node, mode)
	if mode != memory.AddressOpen && node == m.primary {
		m.elect.Go(func() {
			timer := time.NewTimer(memoryFailover)
			defer timer.Stop()
			<-timer.C
			m.electOther()
		})
	}
}

func (m *memorySystem) electOther() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, state := range m.state {
		if state == memory.AddressOpen {
			m.primary = i
			m.view++
			m.log.SetPrimary(i)
			return
		}
	}
}

func (m *memorySystem) stop() error {
	m.elect.Wait()
	return m.log.Close()
}
