package kafka

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/zeebo/xxh3"
)

// A record batch, format 2, as it travels and as it lies in a segment file; all numbers big-endian:
//
//	 0 base offset i64          8 length i32, of all that follows it
//	12 leader epoch i32        16 magic i8: 2           17 CRC-32C u32, of all that follows it
//	21 attributes i16          23 last offset delta i32
//	27 first timestamp i64     35 max timestamp i64
//	43 producer id i64         51 producer epoch i16    53 base sequence i32
//	57 records i32             61 records: each a varint length and its body
//
// A record's body: attributes i8, timestamp delta varint, offset delta varint, key length varint (-1:
// none), key, value length varint, value, count of headers varint, headers.
const (
	batchHeaderBytes = 61
	batchPrefixBytes = 12 // base offset and length
	batchMagic       = 2

	atLength          = 8
	atMagic           = 16
	atCRC             = 17
	atAttributes      = 21
	atLastOffsetDelta = 23
	atFirstTimestamp  = 27
	atMaxTimestamp    = 35
	atProducerID      = 43
	atProducerEpoch   = 51
	atBaseSequence    = 53
	atRecords         = 57

	attributeCompression = 0x07
	attributeControl     = 0x20

	// recordOverhead bounds what a record takes beside its value.
	recordOverhead = 1 + 5*binary.MaxVarintLen32

	// requestBytesMax is the default of a broker's message.max.bytes.
	requestBytesMax = 1_048_588
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// batchBytesMax is the most that a batch of such messages takes.
func batchBytesMax(messages, messageBytes int) int {
	return batchHeaderBytes + messages*(recordOverhead+messageBytes)
}

// stamp is what a batch says of its producer.
type stamp struct {
	producerID  int64
	epoch       int16
	sequence    int32 // of the first record
	timestampMs int64
}

// appendBatch appends one record batch with one record for each message.
func appendBatch(b []byte, s stamp, messages [][]byte) []byte {
	start := len(b)
	b = append(b, make([]byte, batchHeaderBytes)...)
	for i, m := range messages {
		b = appendRecord(b, i, m)
	}
	h := b[start:]
	order := binary.BigEndian
	order.PutUint32(h[atLength:], uint32(len(h)-batchPrefixBytes))
	order.PutUint32(h[batchPrefixBytes:], 0xffffffff) // leader epoch: the broker's to fill
	h[atMagic] = batchMagic
	order.PutUint32(h[atLastOffsetDelta:], uint32(len(messages)-1))
	order.PutUint64(h[atFirstTimestamp:], uint64(s.timestampMs))
	order.PutUint64(h[atMaxTimestamp:], uint64(s.timestampMs))
	order.PutUint64(h[atProducerID:], uint64(s.producerID))
	order.PutUint16(h[atProducerEpoch:], uint16(s.epoch))
	order.PutUint32(h[atBaseSequence:], uint32(s.sequence))
	order.PutUint32(h[atRecords:], uint32(len(messages)))
	order.PutUint32(h[atCRC:], crc32.Checksum(h[atAttributes:], castagnoli))
	return b
}

func appendRecord(b []byte, index int, value []byte) []byte {
	var head [recordOverhead]byte
	body := append(head[:0], 0)         // attributes
	body = binary.AppendVarint(body, 0) // timestamp delta
	body = binary.AppendVarint(body, int64(index))
	body = binary.AppendVarint(body, -1) // no key
	body = binary.AppendVarint(body, int64(len(value)))
	b = binary.AppendVarint(b, int64(len(body)+len(value)+1))
	b = append(append(b, body...), value...)
	return append(b, 0) // no headers
}

// batch is a stored record batch.
type batch struct {
	base     uint64
	identity uint64 // of all its bytes
	damaged  bool
	control  bool
	messages [][]byte
}

// errPartial says that the bytes end before the batch does.
var errPartial = errors.New("the record batch ends early")

// batchBytes is the length of the batch that b begins with. It looks at no byte beyond its prefix.
func batchBytes(b []byte) (int, error) {
	if len(b) < batchPrefixBytes {
		return 0, errPartial
	}
	length := int64(int32(binary.BigEndian.Uint32(b[atLength:])))
	if length < batchHeaderBytes-batchPrefixBytes || length > batchLengthMax {
		return 0, fmt.Errorf("a record batch of %d bytes", length)
	}
	return int(length) + batchPrefixBytes, nil
}

// batchLengthMax bounds what is read of one batch: far above what the harness sends.
const batchLengthMax = 64 << 20

// parse takes the batch that b begins with apart and returns what follows it. Messages are slices of
// b, gathered in into.
func parse(b []byte, into [][]byte) (batch, []byte, error) {
	size, err := batchBytes(b)
	if err != nil {
		return batch{}, nil, err
	}
	if len(b) < size {
		return batch{}, nil, errPartial
	}
	h, order := b[:size], binary.BigEndian
	if h[atMagic] != batchMagic {
		return batch{}, nil, fmt.Errorf("a record batch of format %d, only %d is read", h[atMagic], batchMagic)
	}
	attributes := order.Uint16(h[atAttributes:])
	if c := attributes & attributeCompression; c != 0 {
		return batch{}, nil, fmt.Errorf("a record batch compressed by codec %d: the harness writes none", c)
	}
	stored := batch{base: order.Uint64(h), identity: xxh3.Hash(h), control: attributes&attributeControl != 0,
		damaged: crc32.Checksum(h[atAttributes:], castagnoli) != order.Uint32(h[atCRC:])}
	stored.messages, err = parseRecords(h[batchHeaderBytes:], order.Uint32(h[atRecords:]), into)
	if err != nil {
		return batch{}, nil, fmt.Errorf("offset %d: %w", stored.base, err)
	}
	return stored, b[size:], nil
}

func parseRecords(b []byte, count uint32, into [][]byte) ([][]byte, error) {
	for i := range count {
		body, rest, err := cutVarint(b)
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", i, err)
		}
		value, err := valueOf(body, int64(i))
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", i, err)
		}
		into, b = append(into, value), rest
	}
	if len(b) > 0 {
		return nil, fmt.Errorf("%d bytes follow the last of %d records", len(b), count)
	}
	return into, nil
}

var errRecord = errors.New("it is no record")

// cutVarint splits b into the bytes whose length stands before them, and the rest. A length of -1 is
// nothing.
func cutVarint(b []byte) (cut, rest []byte, err error) {
	length, n := binary.Varint(b)
	if n <= 0 || length < -1 || length > int64(len(b)-n) {
		return nil, nil, errRecord
	}
	length = max(length, 0)
	return b[n : n+int(length)], b[n+int(length):], nil
}

// valueOf is the value of a record whose offset delta must be its index: nothing is ever compacted
// away from what the harness reads.
func valueOf(body []byte, index int64) ([]byte, error) {
	if len(body) < 1 {
		return nil, errRecord
	}
	b := body[1:]
	var delta int64
	for range 2 { // timestamp delta, offset delta
		value, n := binary.Varint(b)
		if n <= 0 {
			return nil, errRecord
		}
		delta, b = value, b[n:]
	}
	if delta != index {
		return nil, fmt.Errorf("its offset is %d after the first", delta)
	}
	_, b, err := cutVarint(b) // key
	if err != nil {
		return nil, err
	}
	value, _, err := cutVarint(b)
	return value, err
}
