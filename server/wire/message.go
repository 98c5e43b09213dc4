package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"rejoin/server/vsr"
)

// A message between replicas is an envelope, its slots, and then its payload: one frame after a
// prepare or fetched, a run of whole frames after a chunk, nothing after any other kind. An
// envelope, little-endian:
//
//	  0  magic          u32  "RJE1"
//	  4  version        u16  3
//	  6  zero           u16
//	  8  sum            u64  XXH3-64 of everything from byte 16 to the end of the lives
//	 16  kind           u8   vsr.MessageKind
//	 17  from           u8   replica
//	 18  to             u8   replica
//	 19  zero           u8
//	 20  group          u32
//	 24  flags          u32  bits from 0: starting, waiting, missing, fit, restarted, disk_full, bulk, leading, staged
//	 28  slots          u32  at most 1,024
//	 32  payload_bytes  u64
//	 40  boot           u64  the sender's incarnation
//	 48  nonce          u64
//	 56  view           u64  the sender's current one
//	 64  log_view       u64
//	 72  commit         u64 op, u64 sum
//	 88  round          u64
//	 96  head           u64 op, u64 sum
//	112  ack            u64 op, u64 sum
//	128  from_op        u64
//	136  to_op          u64
//	144  window         u64
//	152  progress       u64
//	160  goal           u64
//	168  slots: u8 known (0 or 1), then a stamped frame header of 128 bytes, all zero if not known
//	     lives: of a do_view_change or tell_head, u64 for each of 5 replicas
//
// The sum is there because the checksum of TCP is weak; a payload has the sums of its frames.
// A prepare's Header is not in the envelope: it is the first 128 bytes of the payload.
const (
	EnvelopeBytes     = 168
	EnvelopeSlotBytes = 1 + HeaderBytes
	EnvelopeSlotsMax  = 1024 // four times the pipeline of vsr
	EnvelopeMagic     = uint32('R') | uint32('J')<<8 | uint32('E')<<16 | uint32('1')<<24
	EnvelopeVersion   = 3
	ChunkBytesMax     = 64 << 20 // payload of one chunk

	envelopeSummedFrom = 16
	livesBytes         = 8 * vsr.ReplicasMax
)

// ErrEnvelope is wrapped by every complaint about the form of an envelope; a checksum that does
// not match is ErrSum.
var ErrEnvelope = errors.New("malformed message between replicas")

const (
	flagStarting uint32 = 1 << iota
	flagWaiting
	flagMissing
	flagFit
	flagRestarted
	flagDiskFull
	flagBulk
	flagLeading
	flagStaged
	flagsEnd
)

// AppendEnvelope appends m's envelope with all that belongs to it to dst; payloadBytes will follow them. It panics
// on what ParseEnvelope would refuse for its form: a sender that makes such a message is broken.
func AppendEnvelope(dst []byte, m *vsr.Message, payloadBytes int) []byte {
	at := len(dst)
	le := binary.LittleEndian
	dst = le.AppendUint32(dst, EnvelopeMagic)
	dst = le.AppendUint16(dst, EnvelopeVersion)
	dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) // zero, and the sum for now
	dst = append(dst, byte(m.Kind), m.From, m.To, 0)
	dst = le.AppendUint32(dst, m.Group)
	dst = le.AppendUint32(dst, packFlags(m))
	dst = le.AppendUint32(dst, uint32(len(m.Slots)))
	for _, v := range [...]uint64{uint64(payloadBytes), m.Incarnation.Boot, m.Incarnation.Nonce, m.View, m.LogView,
		m.Commit.Op, m.Commit.Sum, m.Round, m.Head.Op, m.Head.Sum, m.Ack.Op, m.Ack.Sum,
		m.FromOp, m.ToOp, m.Window, m.Progress, m.Goal} {
		dst = le.AppendUint64(dst, v)
	}
	if err := checkEnvelope(m, uint64(len(m.Slots)), uint64(payloadBytes)); err != nil {
		panic(fmt.Sprintf("wire: append %s of replica %d: %v", m.Kind, m.From, err))
	}
	for i := range m.Slots {
		dst = appendSlot(dst, &m.Slots[i])
	}
	if m.Kind.CarriesLives() {
		for _, boot := range m.Lives {
			dst = le.AppendUint64(dst, boot)
		}
	}
	le.PutUint64(dst[at+8:], Sum(dst[at+envelopeSummedFrom:]))
	return dst
}

func appendSlot(dst []byte, s *vsr.Slot) []byte {
	var b [EnvelopeSlotBytes]byte
	if s.Known {
		b[0] = 1
		PutHeader(b[1:], &s.Header)
	}
	return append(dst, b[:]...)
}

// EnvelopeRest tells from the first EnvelopeBytes of a message how many bytes of slots and lives follow
// them and how many of payload follow those. Both are within their limits, yet not proven before
// ParseEnvelope has seen the slots: allocate as the bytes come in.
func EnvelopeRest(fixed []byte) (restBytes, payloadBytes int, err error) {
	m, slots, payload, err := parseFixed(fixed)
	return restOf(m.Kind, slots), payload, err
}

// EnvelopeRestBytes is how many bytes of slots and lives follow the envelope of m.
func EnvelopeRestBytes(m *vsr.Message) int { return restOf(m.Kind, len(m.Slots)) }

func restOf(kind vsr.MessageKind, slots int) int {
	if kind.CarriesLives() {
		return slots*EnvelopeSlotBytes + livesBytes
	}
	return slots * EnvelopeSlotBytes
}

// ParseEnvelope decodes an envelope with its slots and lives, checksum first. The message shares no memory
// with b; the Header of a prepare or fetched stands in the payload.
func ParseEnvelope(b []byte) (m vsr.Message, payloadBytes int, err error) {
	m, slots, payloadBytes, err := parseFixed(b)
	if err != nil {
		return m, 0, err
	}
	if want := EnvelopeBytes + restOf(m.Kind, slots); len(b) != want {
		return m, 0, fmt.Errorf("%w: %d bytes, its %d slots make it %d", ErrEnvelope, len(b), slots, want)
	}
	if said, sum := binary.LittleEndian.Uint64(b[8:]), Sum(b[envelopeSummedFrom:]); said != sum {
		return m, 0, fmt.Errorf("envelope %w: it says %016x, its bytes give %016x", ErrSum, said, sum)
	}
	if m.Kind.CarriesLives() {
		for i := range m.Lives {
			m.Lives[i] = binary.LittleEndian.Uint64(b[len(b)-livesBytes+8*i:])
		}
	}
	if slots > 0 {
		m.Slots, err = parseSlots(b[EnvelopeBytes:], slots, m.Group)
	}
	return m, payloadBytes, err
}

func parseFixed(b []byte) (m vsr.Message, slots, payloadBytes int, err error) {
	if len(b) < EnvelopeBytes {
		return m, 0, 0, fmt.Errorf("%w: %d bytes are less than an envelope", ErrEnvelope, len(b))
	}
	le := binary.LittleEndian
	if magic := le.Uint32(b); magic != EnvelopeMagic {
		return m, 0, 0, fmt.Errorf("%w: magic %08x", ErrEnvelope, magic)
	}
	if v := le.Uint16(b[4:]); v != EnvelopeVersion {
		return m, 0, 0, fmt.Errorf("%w: version %d, this build knows %d", ErrEnvelope, v, EnvelopeVersion)
	}
	flags := le.Uint32(b[24:])
	if b[6] != 0 || b[7] != 0 || b[19] != 0 || flags >= flagsEnd {
		return m, 0, 0, fmt.Errorf("%w: reserved bits are not zero", ErrEnvelope)
	}
	u := func(at int) uint64 { return le.Uint64(b[at:]) }
	m = vsr.Message{
		Kind: vsr.MessageKind(b[16]), From: b[17], To: b[18], Group: le.Uint32(b[20:]),
		Incarnation: vsr.Incarnation{Boot: u(40), Nonce: u(48)}, View: u(56), LogView: u(64),
		Commit: vsr.ID{Op: u(72), Sum: u(80)}, Round: u(88), Head: vsr.ID{Op: u(96), Sum: u(104)}, Ack: vsr.ID{Op: u(112), Sum: u(120)},
		FromOp: u(128), ToOp: u(136), Window: u(144), Progress: u(152), Goal: u(160),
	}
	unpackFlags(&m, flags)
	slotCount, payload := uint64(le.Uint32(b[28:])), u(32)
	if err := checkEnvelope(&m, slotCount, payload); err != nil {
		return m, 0, 0, err
	}
	return m, int(slotCount), int(payload), nil
}

// checkEnvelope holds what may be allocated or waited for against the limits of the kind.
func checkEnvelope(m *vsr.Message, slots, payloadBytes uint64) error {
	switch {
	case !m.Kind.Known():
		return fmt.Errorf("%w: kind %d", ErrEnvelope, uint8(m.Kind))
	case m.From >= vsr.ReplicasMax || m.To >= vsr.ReplicasMax || m.From == m.To:
		return fmt.Errorf("%w: from replica %d to replica %d", ErrEnvelope, m.From, m.To)
	case slots > EnvelopeSlotsMax:
		return fmt.Errorf("%w: %d slots, the limit is %d", ErrEnvelope, slots, EnvelopeSlotsMax)
	case slots > 0 && m.Kind != vsr.MsgDoViewChange && m.Kind != vsr.MsgStartView && m.Kind != vsr.MsgTable:
		return fmt.Errorf("%w: a %s carries no slots", ErrEnvelope, m.Kind)
	}
	least, most, err := payloadLimits(m)
	if err == nil && (payloadBytes < least || payloadBytes > most) {
		err = fmt.Errorf("%w: a %s with a payload of %d bytes, expected from %d to %d", ErrEnvelope, m.Kind, payloadBytes, least, most)
	}
	return err
}

func payloadLimits(m *vsr.Message) (least, most uint64, err error) {
	switch m.Kind {
	case vsr.MsgPrepare, vsr.MsgFetched:
		return HeaderBytes, FrameBytesMax, nil
	case vsr.MsgChunk:
		// The difference, not the count: ToOp - FromOp + 1 wraps for a range over all numbers.
		if m.FromOp == 0 || m.ToOp < m.FromOp || m.ToOp-m.FromOp >= ChunkBytesMax/HeaderBytes {
			return 0, 0, fmt.Errorf("%w: a chunk of ops %d to %d", ErrEnvelope, m.FromOp, m.ToOp)
		}
		frames := m.ToOp - m.FromOp + 1
		return frames * HeaderBytes, min(frames*FrameBytesMax, ChunkBytesMax), nil
	}
	return 0, 0, nil
}

func parseSlots(b []byte, count int, group uint32) ([]vsr.Slot, error) {
	slots := make([]vsr.Slot, count)
	for i := range slots {
		slot := b[i*EnvelopeSlotBytes : (i+1)*EnvelopeSlotBytes]
		if err := parseSlot(slot, &slots[i]); err != nil {
			return nil, fmt.Errorf("slot %d: %w", i, err)
		}
		if slots[i].Known && slots[i].Header.Group != group {
			return nil, fmt.Errorf("%w: slot %d is of group %d, the message of %d", ErrEnvelope, i, slots[i].Header.Group, group)
		}
	}
	return slots, nil
}

func parseSlot(b []byte, s *vsr.Slot) (err error) {
	switch b[0] {
	case 0:
		if [HeaderBytes]byte(b[1:]) != [HeaderBytes]byte{} {
			return fmt.Errorf("%w: a header stands where none is known", ErrEnvelope)
		}
	case 1:
		s.Known = true
		s.Header, err = ParseSealed(b[1:])
	default:
		err = fmt.Errorf("%w: known is %d", ErrEnvelope, b[0])
	}
	return err
}

func packFlags(m *vsr.Message) (flags uint32) {
	for i, set := range [...]bool{m.Starting, m.Waiting, m.Missing, m.Fit, m.Restarted, m.DiskFull, m.Bulk, m.Leading, m.Staged} {
		if set {
			flags |= 1 << i
		}
	}
	return flags
}

func unpackFlags(m *vsr.Message, flags uint32) {
	m.Starting, m.Waiting = flags&flagStarting != 0, flags&flagWaiting != 0
	m.Missing, m.Fit = flags&flagMissing != 0, flags&flagFit != 0
	m.Restarted, m.DiskFull = flags&flagRestarted != 0, flags&flagDiskFull != 0
	m.Bulk, m.Leading, m.Staged = flags&flagBulk != 0, flags&flagLeading != 0, flags&flagStaged != 0
}
