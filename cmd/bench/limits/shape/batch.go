package shape

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"sync"
	"sync/atomic"
)

const (
	headBytes = 64
	magic     = "shap"
	// bodyBytesMax bounds what a node takes for one batch.
	bodyBytesMax = 8 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// batch is one body on its way through a node. It is counted: the last holder gives it back, with its body's memory, for the next one.
type batch struct {
	head     [headBytes]byte
	body     []byte
	sequence uint64
	holders  atomic.Int32
	answered chan struct{} // of capacity 1: the commit never waits for the handler
}

var batches = sync.Pool{New: func() any { return &batch{answered: make(chan struct{}, 1)} }}

func newBatch(holders int) *batch {
	b := batches.Get().(*batch)
	b.holders.Store(int32(holders))
	return b
}

func (b *batch) release() {
	if b.holders.Add(-1) == 0 {
		batches.Put(b)
	}
}

// stamp fills the head for a body.
func (b *batch) stamp(sequence uint64, sum uint32) {
	b.sequence = sequence
	copy(b.head[:], magic)
	binary.LittleEndian.PutUint32(b.head[4:], uint32(len(b.body)))
	binary.LittleEndian.PutUint64(b.head[8:], sequence)
	binary.LittleEndian.PutUint32(b.head[16:], sum)
}

// parseHead reads a head that came from a file or a peer.
func parseHead(head []byte) (bodyBytes int, sequence uint64, sum uint32, err error) {
	bodyBytes = int(binary.LittleEndian.Uint32(head[4:]))
	if string(head[:4]) != magic || bodyBytes > bodyBytesMax {
		return 0, 0, 0, fmt.Errorf("no head of a batch: % x", head[:20])
	}
	return bodyBytes, binary.LittleEndian.Uint64(head[8:]), binary.LittleEndian.Uint32(head[16:]), nil
}

// vectors are heads and bodies of batches, as writev takes them.
func vectors(into [][]byte, pending []*batch) [][]byte {
	into = into[:0]
	for _, b := range pending {
		into = append(into, b.head[:], b.body)
	}
	return into
}
