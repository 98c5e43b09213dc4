package wire

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"rejoin/server/vsr"
)

const (
	// slotAlign keeps every buffer on pages of its own, on machines with pages of up to 64 KiB too.
	slotAlign = 64 << 10

	// SlotBytes is the room of one buffer: the largest frame, rounded up.
	SlotBytes = (FrameBytesMax + slotAlign - 1) / slotAlign * slotAlign

	// residentBytes of a free buffer stay with the process; what was used beyond goes back to the
	// kernel, so that a burst of large batches does not raise the process's memory for good.
	residentBytes = 64 << 10

	// poolBuffersMax keeps the slab's size far inside an address space of 47 bits.
	poolBuffersMax = 1 << 16

	poison = 0xdb
)

// Pool is a fixed number of counted frame buffers in one anonymous mapping outside the Go heap.
// Get never allocates: an empty pool gives nil, and the caller refuses its work. All methods are
// safe for concurrent use.
type Pool struct {
	slab    []byte
	buffers []Buffer
	checked bool

	mu   sync.Mutex
	free []int32 // indexes of free buffers; last in, first out: the top one is warm

	misses      atomic.Uint64
	copiedBytes atomic.Uint64
	references  [ownerCount]atomic.Int64
}

// PoolStats is a snapshot of a pool.
type PoolStats struct {
	Buffers     int
	Free        int
	Misses      uint64            // Gets that found the pool empty
	CopiedBytes uint64            // bytes that Adopt had to copy
	References  [ownerCount]int64 // by Owner
}

// NewPool maps room for so many buffers. Memory is used only once a buffer is written.
func NewPool(buffers int) (*Pool, error) {
	if err := validatePoolSize(buffers); err != nil {
		return nil, err
	}
	slab, err := unix.Mmap(-1, 0, buffers*SlotBytes, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("map %d frame buffers: %w", buffers, err)
	}
	// With huge pages the first byte of a buffer would cost 2 MiB. A kernel that knows no such advice
	// has no huge pages.
	_ = unix.Madvise(slab, unix.MADV_NOHUGEPAGE)
	return newPool(slab, buffers, false), nil
}

// NewCheckedPool is a pool for tests: it remembers who holds a buffer, poisons released memory,
// panics when that memory was written or when somebody releases what it does not hold, and lists
// Leaks. Its slab lies in the Go heap, because the race detector sees nothing elsewhere.
func NewCheckedPool(buffers int) (*Pool, error) {
	if err := validatePoolSize(buffers); err != nil {
		return nil, err
	}
	return newPool(make([]byte, buffers*SlotBytes), buffers, true), nil
}

func validatePoolSize(buffers int) error {
	if buffers < 1 || buffers > poolBuffersMax {
		return fmt.Errorf("a pool of %d frame buffers: the number must be from 1 to %d", buffers, poolBuffersMax)
	}
	return nil
}

func newPool(slab []byte, buffers int, checked bool) *Pool {
	p := &Pool{slab: slab, buffers: make([]Buffer, buffers), checked: checked, free: make([]int32, 0, buffers)}
	for i := buffers - 1; i >= 0; i-- {
		b := &p.buffers[i]
		b.pool, b.index, b.touched = p, int32(i), -1
		b.data = slab[i*SlotBytes : (i+1)*SlotBytes : (i+1)*SlotBytes]
		p.free = append(p.free, int32(i))
	}
	return p
}

// Get takes a buffer with one reference, held by owner; nil when the pool is empty.
func (p *Pool) Get(owner Owner) *Buffer {
	b := p.GetSparing(owner, 0)
	if b == nil {
		p.misses.Add(1)
	}
	return b
}

// GetSparing is Get for who can wait: it leaves so many buffers to the others, and is no miss.
func (p *Pool) GetSparing(owner Owner, left int) *Buffer {
	p.mu.Lock()
	last := len(p.free) - 1
	if last < left {
		p.mu.Unlock()
		return nil
	}
	b := &p.buffers[p.free[last]]
	p.free = p.free[:last]
	p.mu.Unlock()

	if p.checked {
		b.checkPoison()
	}
	b.refs.Store(1)
	b.hold(owner)
	return b
}

// Adopt finds the buffer that body lies in and makes body its frame. A lent buffer keeps the
// reference it was lent with, which must be owner's. A foreign body, one that some library
// allocated by itself, is copied into a fresh buffer and counted in CopiedBytes; nil when it does
// not fit or the pool is empty.
func (p *Pool) Adopt(owner Owner, body []byte) *Buffer {
	if b := p.Find(body); b != nil {
		b.SetFrame(len(body))
		return b
	}
	if len(body) > SlotBytes {
		return nil
	}
	b := p.Get(owner)
	if b == nil {
		return nil
	}
	b.SetFrame(copy(b.data, body))
	p.copiedBytes.Add(uint64(len(body)))
	return b
}

// Find maps a slice that begins where a buffer begins, also one of no length, to that buffer by its
// address; nil when it lies outside the slab.
func (p *Pool) Find(body []byte) *Buffer {
	if cap(body) == 0 {
		return nil
	}
	at := uintptr(unsafe.Pointer(unsafe.SliceData(body)))
	base := uintptr(unsafe.Pointer(unsafe.SliceData(p.slab)))
	if at < base || at >= base+uintptr(len(p.slab)) {
		return nil
	}
	distance := at - base
	b := &p.buffers[distance/SlotBytes]
	if distance%SlotBytes != 0 {
		panic(fmt.Sprintf("wire: a slice %d bytes into buffer %d was handed back, the buffer begins at its start", distance%SlotBytes, b.index))
	}
	if b.refs.Load() <= 0 {
		panic(fmt.Sprintf("wire: buffer %d was handed back and nobody holds it", b.index))
	}
	return b
}

// Stats takes a snapshot.
func (p *Pool) Stats() PoolStats {
	p.mu.Lock()
	s := PoolStats{Buffers: len(p.buffers), Free: len(p.free)}
	p.mu.Unlock()
	s.Misses, s.CopiedBytes = p.misses.Load(), p.copiedBytes.Load()
	for i := range p.references {
		s.References[i] = p.references[i].Load()
	}
	return s
}

// Free is the number of free buffers.
func (p *Pool) Free() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.free)
}

// Leaks lists the buffers that are out, with their holders, one sentence each. Only a checked pool
// knows the holders.
func (p *Pool) Leaks() []string {
	var leaks []string
	for i := range p.buffers {
		if b := &p.buffers[i]; b.refs.Load() > 0 {
			leaks = append(leaks, fmt.Sprintf("buffer %d, op %d: %s", i, b.Header.Op, b.holdersText()))
		}
	}
	return leaks
}

// ErrBuffersOut says that a pool cannot be unmapped yet.
var ErrBuffersOut = errors.New("frame buffers are still held")

// Close unmaps the slab. It refuses while a buffer is out.
func (p *Pool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if out := len(p.buffers) - len(p.free); out != 0 {
		return fmt.Errorf("close pool: %w: %d of %d", ErrBuffersOut, out, len(p.buffers))
	}
	p.free = p.free[:0]
	if p.checked {
		return nil
	}
	return os.NewSyscallError("munmap", unix.Munmap(p.slab))
}

// Buffer holds one frame. Whoever has a reference may read it; only the one holder of the first
// reference may write, and only before it is shared.
type Buffer struct {
	// Header is the frame's header, decoded. Its owner sets it once, before sharing.
	Header vsr.Header

	pool    *Pool
	data    []byte
	index   int32
	refs    atomic.Int32
	bytes   int // of the frame
	touched int // most bytes that may have been written; -1: nobody said

	mu       sync.Mutex // guards the rest, in a checked pool
	holders  [ownerCount]int32
	poisoned int // bytes poisoned at release
}

// Data is the whole room, SlotBytes long. A reader that fills it says with SetFrame how far.
func (b *Buffer) Data() []byte { return b.data }

// SetFrame says that the first n bytes are the frame.
func (b *Buffer) SetFrame(n int) {
	b.bytes = n
	b.touched = max(b.touched, n)
}

// Frame is the header and body bytes.
func (b *Buffer) Frame() []byte { return b.data[:b.bytes:b.bytes] }

// Body is the frame without its header.
func (b *Buffer) Body() []byte { return b.data[HeaderBytes:b.bytes:b.bytes] }

// Retain adds a reference, held by owner. The caller must hold one.
func (b *Buffer) Retain(owner Owner) {
	if b.refs.Add(1) < 2 {
		panic(fmt.Sprintf("wire: %s retains buffer %d, which nobody holds", owner, b.index))
	}
	b.hold(owner)
}

// Pass hands a reference on: from held it, to does now. The count stays.
func (b *Buffer) Pass(from, to Owner) {
	b.letGo(from)
	b.hold(to)
}

// Release drops owner's reference. With the last one the memory is the pool's again.
func (b *Buffer) Release(owner Owner) {
	b.letGo(owner)
	switch left := b.refs.Add(-1); {
	case left < 0:
		panic(fmt.Sprintf("wire: %s releases buffer %d, which nobody holds", owner, b.index))
	case left == 0:
		b.giveBack()
	}
}

func (b *Buffer) giveBack() {
	touched := b.touched
	if touched < 0 {
		touched = SlotBytes
	}
	switch {
	case b.pool.checked:
		b.poison(touched)
	case touched > residentBytes:
		// An error would only mean that the memory stays.
		_ = unix.Madvise(b.data[residentBytes:min(roundUp(touched), SlotBytes)], unix.MADV_DONTNEED)
	}
	b.Header, b.bytes, b.touched = vsr.Header{}, 0, -1

	p := b.pool
	p.mu.Lock()
	p.free = append(p.free, b.index)
	p.mu.Unlock()
}

func roundUp(n int) int { return (n + slotAlign - 1) / slotAlign * slotAlign }

// Owner names a holder of references, for statistics and for the sentences of a checked pool.
type Owner uint8

// The owners.
const (
	OwnerRequest   Owner = iota // the client plane: a request being read or answered
	OwnerPartition              // an append on its way into the partition, or a parked one
	OwnerRing                   // the ring of recent ops
	OwnerJournal                // staged for the segment file
	OwnerPeerSend               // queued for, or being written to, a peer
	OwnerPeerRead               // being filled from a peer
	OwnerBeyond                 // received ahead of the head
	OwnerRepair                 // read from a segment to answer a repair
	OwnerTest
	ownerCount
)

var ownerNames = [ownerCount]string{"request", "partition", "ring", "journal", "peer_send", "peer_read", "beyond", "repair", "test"}

// String is the owner's name as it stands in metrics.
func (o Owner) String() string {
	if o >= ownerCount {
		return fmt.Sprintf("owner %d", uint8(o))
	}
	return ownerNames[o]
}

func (b *Buffer) hold(owner Owner) {
	b.pool.references[owner].Add(1)
	if !b.pool.checked {
		return
	}
	b.mu.Lock()
	b.holders[owner]++
	b.mu.Unlock()
}

func (b *Buffer) letGo(owner Owner) {
	b.pool.references[owner].Add(-1)
	if !b.pool.checked {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.holders[owner] == 0 {
		panic(fmt.Sprintf("wire: %s lets go of buffer %d, which it does not hold; held by %s", owner, b.index, b.holdersLocked()))
	}
	b.holders[owner]--
}

func (b *Buffer) holdersText() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return "held by " + b.holdersLocked()
}

func (b *Buffer) holdersLocked() string {
	text := ""
	for owner, n := range b.holders {
		if n > 0 {
			text += fmt.Sprintf("%s x%d ", Owner(owner), n)
		}
	}
	if text == "" {
		return "nobody known"
	}
	return text[:len(text)-1]
}

func (b *Buffer) poison(n int) {
	for i := range b.data[:n] {
		b.data[i] = poison
	}
	b.poisoned = n
}

// checkPoison panics when somebody wrote to the buffer after its last release.
func (b *Buffer) checkPoison() {
	for i, at := range b.data[:b.poisoned] {
		if at != poison {
			panic(fmt.Sprintf("wire: byte %d of buffer %d was written after its release", i, b.index))
		}
	}
}
