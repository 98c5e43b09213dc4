package faultfs

import (
	"maps"
	"math"
	"math/rand/v2"
	"path"
)

// Kill ends the process and not the machine: handles die, the page cache stays, and what was not
// synced is still not synced.
func (f *FS) Kill() {
	f.generation++
	f.stopBefore = math.MaxInt
}

// Crash is a power cut. Of the names and pages that are not durable a random part survives. The mood
// of a crash is drawn first: nothing, everything, or each for itself.
func (f *FS) Crash(rng *rand.Rand) {
	keep := []float64{0, 1, 0.5, 0.1, 0.9}[rng.IntN(5)]
	f.crash(rng, keep)
}

// CrashHard is a power cut after which nothing is left that was not synced.
func (f *FS) CrashHard() { f.crash(rand.New(rand.NewPCG(0, 0)), 0) }

func (f *FS) crash(rng *rand.Rand, keep float64) {
	f.Kill()
	nodes := f.liveNodes()
	f.crashNames(rng, keep)
	for _, n := range nodes {
		n.crash(rng, keep)
	}
}

// liveNodes lists every file once, in an order that is the same each time.
func (f *FS) liveNodes() []*node {
	var nodes []*node
	seen := map[*node]bool{}
	for _, names := range []map[string]*node{f.names, f.durable} {
		for _, name := range sortedNames(names) {
			if n := names[name]; !n.dir && !seen[n] {
				seen[n] = true
				nodes = append(nodes, n)
			}
		}
	}
	for _, op := range f.pending {
		if !op.node.dir && !seen[op.node] {
			seen[op.node] = true
			nodes = append(nodes, op.node)
		}
	}
	return nodes
}

// crashNames lets some of the pending changes of names happen: as a journal would, a first part of
// them, or, as a careless file system would, any of them.
func (f *FS) crashNames(rng *rand.Rand, keep float64) {
	inOrder := rng.IntN(2) == 0
	for _, op := range f.pending {
		if rng.Float64() < keep {
			op.apply(f.durable)
		} else if inOrder {
			break
		}
	}
	f.pending = nil
	for _, name := range sortedNames(f.durable) { // parents come before their children
		dir := path.Dir(name)
		if !isRoot(dir) && f.durable[dir] == nil {
			delete(f.durable, name)
		}
	}
	f.names = maps.Clone(f.durable)
}

// crash leaves in a file what the disk holds and a random part of its dirty pages.
func (n *node) crash(rng *rand.Rand, keep float64) {
	n.eachDirty(func(i int) {
		if rng.Float64() >= keep {
			return
		}
		p := at(n.cache, i)
		if rng.IntN(4) == 0 {
			p = torn(rng, at(n.disk, i), p)
		}
		n.disk = put(n.disk, i, p)
	})
	if n.size != n.diskSize && rng.Float64() < keep {
		n.diskSize = n.size
	}
	n.size = n.diskSize
	n.cut()
	clear(n.dirty)
	n.cache = append([]*page(nil), n.disk...)
}

// cut drops from the disk what lies beyond the size.
func (n *node) cut() {
	for i := range n.disk {
		start := int64(i) * pageBytes
		switch {
		case n.disk[i] == nil || start+pageBytes <= n.diskSize:
		case start >= n.diskSize:
			n.disk[i] = nil
		default:
			p := *n.disk[i]
			clear(p[n.diskSize-start:])
			n.disk[i] = &p
		}
	}
}

// torn mixes two pages by sectors.
func torn(rng *rand.Rand, old, new *page) *page {
	if old == nil {
		old = &zeroPage
	}
	if new == nil {
		new = &zeroPage
	}
	mixed := *old
	for s := 0; s < pageBytes; s += sectorBytes {
		if rng.IntN(2) == 0 {
			copy(mixed[s:s+sectorBytes], new[s:])
		}
	}
	return &mixed
}

// Clone returns an independent copy with the same content, the same durability and no faults.
func (f *FS) Clone() *FS {
	c := New()
	c.CapacityBytes, c.ReadOnly, c.StillLent = f.CapacityBytes, f.ReadOnly, f.StillLent
	copies := map[*node]*node{}
	copyOf := func(n *node) *node {
		if copies[n] == nil {
			copies[n] = n.clone()
		}
		return copies[n]
	}
	for _, name := range sortedNames(f.names) {
		c.names[name] = copyOf(f.names[name])
	}
	for _, name := range sortedNames(f.durable) {
		c.durable[name] = copyOf(f.durable[name])
	}
	for _, op := range f.pending {
		op.node = copyOf(op.node)
		c.pending = append(c.pending, op)
	}
	return c
}

func (n *node) clone() *node {
	c := *n
	c.dirty = append([]uint64(nil), n.dirty...)
	c.disk = append([]*page(nil), n.disk...)
	c.cache = make([]*page, len(n.cache))
	for i, p := range n.cache {
		if p == nil || p == at(n.disk, i) {
			c.cache[i] = p // shared pages are never changed
			continue
		}
		own := *p
		c.cache[i] = &own
	}
	return &c
}
