package shape

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"rejoin/cmd/bench/limits/child"
)

// NodeSettings are what a node process is told.
type NodeSettings struct {
	Dir       string `json:"dir"`
	FileBytes int64  `json:"file_bytes"`
	Sync      bool   `json:"sync"`
}

// Counters are what a node has done since it began.
type Counters struct {
	Syncs   int64  `json:"syncs"`
	Batches int64  `json:"batches"` // stored
	CPUNs   int64  `json:"cpu_ns"`
	Durable uint64 `json:"durable"` // sequence of the last batch that is synced here
	// Committed is the last one that two of three have synced; 0 at a backup.
	Committed uint64 `json:"committed"`
}

// durable is how far a node has synced; others wait for it.
type durable struct {
	mu       sync.Mutex
	sequence uint64
	rose     chan struct{} // closed at each rise, and made anew
}

func (d *durable) set(sequence uint64) {
	d.mu.Lock()
	d.sequence = sequence
	if d.rose != nil {
		close(d.rose)
		d.rose = nil
	}
	d.mu.Unlock()
}

func (d *durable) get() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sequence
}

// await waits until a batch is durable.
func (d *durable) await(sequence uint64, limit time.Duration) error {
	timeout := time.After(limit)
	for {
		d.mu.Lock()
		if d.sequence >= sequence {
			d.mu.Unlock()
			return nil
		}
		if d.rose == nil {
			d.rose = make(chan struct{})
		}
		rose := d.rose
		d.mu.Unlock()
		select {
		case <-rose:
		case <-timeout:
			return fmt.Errorf("batch %d was not synced within %v of the load's end", sequence, limit)
		}
	}
}

// drainMax is how long after a load the slower backup may need for what the other two have answered.
const drainMax = 10 * time.Second

// node is what primary and backups share.
type node struct {
	store   *store
	pending *handoff
	durable durable
}

func openNode(settings string) (*node, error) {
	var s NodeSettings
	if err := json.Unmarshal([]byte(settings), &s); err != nil {
		return nil, fmt.Errorf("settings of a node: %w", err)
	}
	opened, err := openStore(s.Dir, s.FileBytes, s.Sync)
	if err != nil {
		return nil, err
	}
	return &node{store: opened, pending: newHandoff()}, nil
}

// flush stores group after group. vouch is told the last batch of each once it is durable.
func (n *node) flush(vouch func(sequence uint64)) {
	var group []*batch
	for {
		group = n.pending.group(group)
		if err := n.store.append(group); err != nil {
			die(err)
		}
		last := group[len(group)-1].sequence
		n.durable.set(last)
		vouch(last)
		for _, b := range group {
			b.release()
		}
	}
}

// die ends the process with a word for its parent: a node that cannot go on has nothing else to do.
func die(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// peerError is why a connection to another node broke. When the parent ends all nodes they see each other go, which is no failure.
func peerError(err error) {
	if errors.Is(err, io.EOF) || errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.EPIPE) {
		os.Exit(0)
	}
	die(err)
}

// commands are those that every node knows. committed may be nil.
func (n *node) commands(address string, committed func() uint64) child.Handlers {
	return child.Handlers{
		"address": func(json.RawMessage) (any, error) { return address, nil },
		"counters": func(json.RawMessage) (any, error) {
			c := Counters{Syncs: n.store.syncs.Load(), Batches: n.store.stored.Load(), CPUNs: cpuNs(), Durable: n.durable.get()}
			if committed != nil {
				c.Committed = committed()
			}
			return c, nil
		},
		"read_back": func(argument json.RawMessage) (any, error) {
			var last uint64
			if err := json.Unmarshal(argument, &last); err != nil {
				return nil, err
			}
			if err := n.durable.await(last, drainMax); err != nil {
				return nil, err
			}
			return n.store.readBack()
		},
	}
}

// cpuNs is user and system time of this process.
func cpuNs() int64 {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		panic("shape: getrusage: " + err.Error())
	}
	return used.Utime.Nano() + used.Stime.Nano()
}
