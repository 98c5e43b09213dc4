package main

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// digester is digestOf.
type digester func(index uint64, body []byte) uint64

// sum is what somebody has of the batches: how many, their digests added up, and the index of the last.
type sum struct {
	Batches   int64  `json:"batches"`
	Digest    uint64 `json:"digest"`
	LastIndex uint64 `json:"last_index"`
}

func (s *sum) add(digest digester, index uint64, body []byte) {
	s.Batches++
	s.Digest += digest(index, body)
	s.LastIndex = max(s.LastIndex, index)
}

// state is what a node applies batches to. It is a raft.BatchingFSM.
type state struct {
	digest digester

	mutex     sync.Mutex
	sum       sum
	snapshots int // that were asked for

	changed chan struct{} // holds one word, which is enough for the one who waits
}

func newState(digest digester) *state {
	return &state{digest: digest, changed: make(chan struct{}, 1)}
}

// ApplyBatch applies a group of entries.
func (s *state) ApplyBatch(entries []*raft.Log) []any {
	s.mutex.Lock()
	for _, entry := range entries {
		if entry.Type == raft.LogCommand {
			s.sum.add(s.digest, entry.Index, entry.Data)
		}
	}
	s.mutex.Unlock()
	select {
	case s.changed <- struct{}{}:
	default:
	}
	return make([]any, len(entries))
}

// Apply applies one entry.
func (s *state) Apply(entry *raft.Log) any { return s.ApplyBatch([]*raft.Log{entry})[0] }

var errSnapshot = errors.New("no snapshot is taken during a measurement")

// Snapshot refuses, and is counted: a measurement during which one was asked for does not count.
func (s *state) Snapshot() (raft.FSMSnapshot, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.snapshots++
	return nil, errSnapshot
}

// Restore refuses: there is no snapshot.
func (s *state) Restore(io.ReadCloser) error { return errSnapshot }

// applied is what a node has applied.
type applied struct {
	sum
	Snapshots int `json:"snapshots"`
}

func (s *state) now() applied {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return applied{s.sum, s.snapshots}
}

// await returns what is applied as soon as it is as much as wanted, or after a time.
func (s *state) await(wanted sum, limit time.Duration) applied {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		a := s.now()
		if a.Batches >= wanted.Batches && a.LastIndex >= wanted.LastIndex {
			return a
		}
		select {
		case <-s.changed:
		case <-timer.C:
			return s.now()
		}
	}
}
