package loadgen

import (
	"encoding/binary"
	"fmt"

	"github.com/zeebo/xxh3"
)

// A message says who sent it and checks itself, so that a reader needs nothing but the payload,
// whatever system carried it. Little-endian:
//
//	 0  4  magic "RJM1"
//	 4  2  index in the batch
//	 6  2  messages in the batch
//	 8  8  run id
//	16  8  batch sequence of the producer, from 0
//	24  4  producer
//	28  4  bytes of the message
//	32  n  filler from the pool; it begins with the key, 8 bytes, if the run has keys
//	-8  8  XXH3-64 of everything before
const (
	messageMagic      = 0x314d4a52
	messageHeadBytes  = 32
	messageSumBytes   = 8
	messageBytesMin   = messageHeadBytes + messageSumBytes
	messageKeyBytes   = 8
	keysMax           = 1 << 40
	batchMessagesMax  = 1<<16 - 1
	producersMax      = 1 << 12
	messageBytesMax   = 1 << 20
	payloadProducers  = 1 << 20 // more producers than any run has; a larger number is not ours
	payloadPoolBytes  = 1 << 20 // of filler; zlib looks back 32 KiB, so repeats are out of its sight
	payloadBlockBytes = 128     // random bytes and constant ones alternate within a block
)

// MessageID is what a message says of itself.
type MessageID struct {
	RunID    uint64
	Producer int
	Sequence uint64
	Index    int
	Count    int // messages in the batch
}

// ParseMessage reads a message's own description. It reports whether the payload is one of ours at
// all, and whether its checksum holds: a damaged message may still say plausible things.
func ParseMessage(message []byte) (id MessageID, ours, intact bool) {
	if len(message) < messageBytesMin || binary.LittleEndian.Uint32(message) != messageMagic {
		return MessageID{}, false, false
	}
	id = MessageID{
		Index:    int(binary.LittleEndian.Uint16(message[4:])),
		Count:    int(binary.LittleEndian.Uint16(message[6:])),
		RunID:    binary.LittleEndian.Uint64(message[8:]),
		Sequence: binary.LittleEndian.Uint64(message[16:]),
		Producer: int(binary.LittleEndian.Uint32(message[24:])),
	}
	end := len(message) - messageSumBytes
	intact = int(binary.LittleEndian.Uint32(message[28:])) == len(message) &&
		binary.LittleEndian.Uint64(message[end:]) == xxh3.Hash(message[:end])
	return id, true, intact
}

// ProducerOf is the producer that a message names, or -1.
func ProducerOf(message []byte) int {
	id, ours, _ := ParseMessage(message)
	if !ours || id.Producer >= payloadProducers {
		return -1
	}
	return id.Producer
}

// PayloadOptions describe the messages of a run.
type PayloadOptions struct {
	RunID         uint64
	Seed          uint64
	BatchMessages int
	MessageBytes  int // of each message, or of the smallest
	// MessageBytesMax, if above MessageBytes, makes sizes differ: from MessageBytes to MessageBytesMax, by Sizes.
	MessageBytesMax int
	Sizes           Distribution // "" is uniform; zipf prefers the small ones
	// CompressedShare is what zlib leaves of the filler: 1 is incompressible.
	CompressedShare float64
	// Keys, if above 0, gives each message a key from 0 to Keys-1 at the head of its filler, by KeyDistribution.
	Keys            int64
	KeyDistribution Distribution
	ZipfExponent    float64 // of both distributions; 0 is ZipfExponentDefault
}

func (o PayloadOptions) withDefaults() PayloadOptions {
	o.MessageBytesMax = max(o.MessageBytesMax, o.MessageBytes)
	if o.ZipfExponent == 0 {
		o.ZipfExponent = ZipfExponentDefault
	}
	return o
}

func (o PayloadOptions) validate() error {
	switch {
	case o.BatchMessages < 1 || o.BatchMessages > batchMessagesMax:
		return fmt.Errorf("loadgen: %d messages a batch: pass 1 to %d", o.BatchMessages, batchMessagesMax)
	case o.MessageBytes < messageBytesMin || o.MessageBytes > messageBytesMax:
		return fmt.Errorf("loadgen: %d bytes a message: pass %d to %d", o.MessageBytes, messageBytesMin, messageBytesMax)
	case !(o.CompressedShare > 0 && o.CompressedShare <= 1):
		return fmt.Errorf("loadgen: compressed share %g: pass more than 0 and at most 1", o.CompressedShare)
	case o.MessageBytesMax > messageBytesMax:
		return fmt.Errorf("loadgen: messages of up to %d bytes: pass at most %d", o.MessageBytesMax, messageBytesMax)
	case o.Keys < 0 || o.Keys > keysMax:
		return fmt.Errorf("loadgen: %d keys: pass 0 to %d", o.Keys, int64(keysMax))
	case o.Keys > 0 && o.MessageBytes < messageBytesMin+messageKeyBytes:
		return fmt.Errorf("loadgen: %d bytes a message have no room for a key: pass at least %d", o.MessageBytes, messageBytesMin+messageKeyBytes)
	}
	if err := o.Sizes.validate(o.ZipfExponent); err != nil {
		return err
	}
	return o.KeyDistribution.validate(o.ZipfExponent)
}

// PayloadPool is the filler that all producers of a run take from. It is read-only once made.
type PayloadPool struct {
	options PayloadOptions
	filler  []byte // payloadPoolBytes, and a message's worth of the beginning once more
}

// NewPayloadPool makes the filler of a run from its seed.
func NewPayloadPool(options PayloadOptions) (*PayloadPool, error) {
	options = options.withDefaults()
	if err := options.validate(); err != nil {
		return nil, err
	}
	filler := make([]byte, payloadPoolBytes+options.MessageBytesMax)
	random := splitMix{state: options.Seed}
	perBlock := randomBytesPerBlock(options.CompressedShare)
	owed := 0.0 // random bytes not yet written, so that fractions of a byte add up over the blocks
	for at := 0; at < payloadPoolBytes; at += payloadBlockBytes {
		owed += perBlock
		n := int(owed)
		owed -= float64(n)
		random.fill(filler[at : at+n])
	}
	copy(filler[payloadPoolBytes:], filler)
	return &PayloadPool{options: options, filler: filler}, nil
}

// randomBytesPerBlock is how much of a block is random: zlib cannot shrink that, and spends about
// two bytes on the constant rest.
func randomBytesPerBlock(share float64) float64 {
	const restBytes = 2.2
	if share >= 1 {
		return payloadBlockBytes
	}
	return max(share*payloadBlockBytes-restBytes, 1)
}

// Payload fills the batches of one producer, always in the same memory.
type Payload struct {
	pool   *PayloadPool
	batch  Batch
	random splitMix
	sizes  drawer // what a message has beyond MessageBytes
	keys   drawer
	bytes  int
}

// NewPayload makes the payload of one producer.
func (p *PayloadPool) NewPayload(producer int) *Payload {
	o := p.options
	flat, most := make([]byte, o.BatchMessages*o.MessageBytesMax), o.MessageBytesMax
	places := make([][]byte, o.BatchMessages)
	for i := range places {
		places[i] = flat[i*most : (i+1)*most : (i+1)*most]
	}
	return p.newPayloadIn(producer, places)
}

// newPayloadIn is NewPayload with the memory for each message, all of the greatest size.
func (p *PayloadPool) newPayloadIn(producer int, places [][]byte) *Payload {
	o := p.options
	payload := &Payload{pool: p, batch: Batch{Producer: producer, Messages: make([][]byte, o.BatchMessages)}}
	payload.sizes = newDrawer(o.Sizes, o.ZipfExponent, uint64(o.MessageBytesMax-o.MessageBytes)+1, &payload.random)
	payload.keys = newDrawer(o.KeyDistribution, o.ZipfExponent, uint64(max(o.Keys, 1)), &payload.random)
	for i, m := range places {
		binary.LittleEndian.PutUint32(m, messageMagic)
		binary.LittleEndian.PutUint16(m[4:], uint16(i))
		binary.LittleEndian.PutUint16(m[6:], uint16(o.BatchMessages))
		binary.LittleEndian.PutUint64(m[8:], o.RunID)
		binary.LittleEndian.PutUint32(m[24:], uint32(producer))
		payload.batch.Messages[i] = m
	}
	return payload
}

// fixed tells whether all messages have one size.
func (p *PayloadPool) fixed() bool { return p.options.MessageBytes == p.options.MessageBytesMax }

// Fill makes the batch of a sequence number. It is the same for the same seed, producer and
// sequence, and valid until the next Fill.
func (p *Payload) Fill(sequence uint64) *Batch {
	p.batch.Sequence = sequence
	p.random.state = p.pool.options.Seed ^ uint64(p.batch.Producer)<<40 ^ sequence*0x9e3779b97f4a7c15
	p.bytes = 0
	// One place in the pool for a batch, whose messages take what follows: memory that is read in order is there when it is needed,
	// a place for each message was not, since whatever else runs on these cores drives the pool out of their caches.
	from := p.random.next() % payloadPoolBytes
	for i, m := range p.batch.Messages {
		m = p.resize(m)
		p.batch.Messages[i] = m
		p.bytes += len(m)
		binary.LittleEndian.PutUint64(m[16:], sequence)
		end := len(m) - messageSumBytes
		from = (from + uint64(copy(m[messageHeadBytes:end], p.pool.filler[from:]))) % payloadPoolBytes
		if p.pool.options.Keys > 0 {
			binary.LittleEndian.PutUint64(m[messageHeadBytes:], p.keys.draw())
		}
		binary.LittleEndian.PutUint64(m[end:], xxh3.Hash(m[:end]))
	}
	return &p.batch
}

// resize draws a message's length within its memory.
func (p *Payload) resize(m []byte) []byte {
	m = m[:p.pool.options.MessageBytes+int(p.sizes.draw())]
	binary.LittleEndian.PutUint32(m[28:], uint32(len(m)))
	return m
}

// Bytes is the size of the batch in hand, its messages alone.
func (p *Payload) Bytes() int { return p.bytes }

// KeyOf reads the key of a message of a run with keys.
func KeyOf(message []byte) (key uint64, ok bool) {
	if len(message) < messageBytesMin+messageKeyBytes {
		return 0, false
	}
	return binary.LittleEndian.Uint64(message[messageHeadBytes:]), true
}

// splitMix is the SplitMix64 generator: eight bytes of state, so that each batch can have its own.
type splitMix struct{ state uint64 }

func (s *splitMix) next() uint64 {
	s.state += 0x9e3779b97f4a7c15
	z := s.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (s *splitMix) fill(b []byte) {
	var word [8]byte
	for len(b) > 0 {
		binary.LittleEndian.PutUint64(word[:], s.next())
		b = b[copy(b, word[:]):]
	}
}
