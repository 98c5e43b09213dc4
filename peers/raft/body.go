package main

import (
	"hash/crc32"
	"math/rand/v2"
)

// bodies are what producers send. Every number has a body of its own, up to bodiesBytes of them, and none can be compressed, nor by what was
// sent shortly before. All are parts of one block that nobody writes to: hashicorp/raft keeps a body as long as a follower may need it.
type bodies struct {
	block []byte
	bytes int // of a body
}

// bodiesBytes is a power of two, so that an odd step meets every place before it comes back to the first.
const bodiesBytes = 64 << 20

func newBodies(bytes int) bodies {
	b := bodies{block: make([]byte, bodiesBytes+bytes), bytes: bytes}
	rand.NewChaCha8([32]byte{1}).Read(b.block) // never fails
	return b
}

func (b bodies) of(number int64) []byte {
	step := int64(b.bytes) | 1 // at least a body long: the next one does not overlap
	at := number * step % bodiesBytes
	return b.block[at : at+int64(b.bytes) : at+int64(b.bytes)]
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// digestOf is the digest of one entry. Those of several are added up, so that producers, who see their own batches only, and nodes, who see all
// of them in order, come to the same sum; the index in it holds the order.
func digestOf(index uint64, body []byte) uint64 {
	return mixed(mixed(index) ^ uint64(len(body))<<32 ^ uint64(crc32.Checksum(body, castagnoli)))
}

// mixed spreads each bit over all of them (the finalizer of SplitMix64; Steele, Lea and Flood, 2014).
func mixed(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
