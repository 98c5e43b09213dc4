package sim

import (
	"fmt"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// poolBuffers is far more than a replica of a simulated size holds at once: ring, frames ahead of
// the head and disk queue are a few hundred. What lies beyond its first pages is never touched.
const poolBuffers = 1024

// Arena is the buffer pools of a cluster, one a replica. A run gives back what it took, which the
// run itself checks; after a run that failed the arena must not be used again.
type Arena struct {
	pools   [vsr.ReplicasMax]*wire.Pool
	buffers int // of each
}

// NewArena maps the memory.
func NewArena() (*Arena, error) {
	a := &Arena{buffers: poolBuffers}
	for i := range a.pools {
		p, err := wire.NewPool(poolBuffers)
		if err != nil {
			return nil, fmt.Errorf("pool of replica %d: %w", i, err)
		}
		a.pools[i] = p
	}
	return a, nil
}

// NewCheckedArena is slower: released memory is poisoned and holders are remembered by name. Its
// memory lies in the Go heap, so that it should have fewer buffers than NewArena takes; a replica
// that finds none drops messages and refuses requests.
func NewCheckedArena(buffers int) (*Arena, error) {
	a := &Arena{buffers: buffers}
	for i := range a.pools {
		p, err := wire.NewCheckedPool(buffers)
		if err != nil {
			return nil, fmt.Errorf("pool of replica %d: %w", i, err)
		}
		a.pools[i] = p
	}
	return a, nil
}

// Close unmaps the memory.
func (a *Arena) Close() error {
	for i, p := range a.pools {
		if err := p.Close(); err != nil {
			return fmt.Errorf("pool of replica %d: %w", i, err)
		}
	}
	return nil
}
