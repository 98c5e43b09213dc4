package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"rejoin/server/vsr"
)

func sealedHeader(op uint64, group uint32) vsr.Header {
	h := vsr.Header{Kind: vsr.KindBatch, Client: vsr.Client{Hi: 1, Lo: 2}, Session: 3, Request: 4, MessageCount: 1,
		BodyBytes: 12, BodySum: 5, Parent: 6, Cluster: 7, Group: group, View: 8, Op: op, BaseOffset: 9, Timestamp: 10}
	Seal(&h)
	return h
}

func fullMessage(kind vsr.MessageKind) *vsr.Message {
	m := &vsr.Message{Kind: kind, Group: 0x14131211, From: 1, To: 2, Incarnation: vsr.Incarnation{Boot: 3, Nonce: 4},
		View: 5, LogView: 6, Commit: vsr.ID{Op: 7, Sum: 8}, Round: 9, Head: vsr.ID{Op: 10, Sum: 11}, Ack: vsr.ID{Op: 12, Sum: 13},
		FromOp: 14, ToOp: 16, Window: 17, Progress: 18, Goal: 19}
	switch kind {
	case vsr.MsgTellHead:
		m.Lives = vsr.Lives{20, 21, 22, 23, 24}
	case vsr.MsgDoViewChange:
		m.Lives = vsr.Lives{20, 21, 22, 23, 24}
		m.Slots = []vsr.Slot{{Known: true, Header: sealedHeader(8, m.Group)}, {}, {Known: true, Header: sealedHeader(10, m.Group)}}
	case vsr.MsgStartView:
		for op := range uint64(EnvelopeSlotsMax) {
			m.Slots = append(m.Slots, vsr.Slot{Known: true, Header: sealedHeader(op+8, m.Group)})
		}
	}
	return m
}

func payloadOf(kind vsr.MessageKind) int {
	switch kind {
	case vsr.MsgPrepare, vsr.MsgFetched:
		return FrameBytesMax
	case vsr.MsgChunk:
		return 3 * HeaderBytes
	}
	return 0
}

// golden turns a drawing of bytes, spaced for the eye, into bytes.
func golden(t *testing.T, drawing string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(drawing), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestEnvelopeGoldenLayout(t *testing.T) {
	m := fullMessage(vsr.MsgBeat)
	m.Starting, m.Leading = true, true
	want := golden(t, `
		524a4531 0300 0000 f39a763cc0cf51d7
		03 01 02 00 11121314 81000000 00000000 0000000000000000
		0300000000000000 0400000000000000 0500000000000000 0600000000000000
		0700000000000000 0800000000000000 0900000000000000
		0a00000000000000 0b00000000000000 0c00000000000000 0d00000000000000
		0e00000000000000 1000000000000000 1100000000000000 1200000000000000 1300000000000000`)
	got := AppendEnvelope([]byte{0xff}, m, 0)
	if got[0] != 0xff || !bytes.Equal(got[1:], want) {
		t.Errorf("envelope\n got %x\nwant %x", got[1:], want)
	}
}

func TestEnvelopeGoldenSlots(t *testing.T) {
	m := fullMessage(vsr.MsgDoViewChange)
	got := AppendEnvelope(nil, m, 0)
	var header [HeaderBytes]byte
	PutHeader(header[:], &m.Slots[0].Header)
	want := append([]byte{1}, header[:]...)
	want = append(want, make([]byte, EnvelopeSlotBytes)...)
	want = append(want, 1)
	if !bytes.Equal(got[EnvelopeBytes:EnvelopeBytes+len(want)], want) {
		t.Errorf("slots\n got %x\nwant %x", got[EnvelopeBytes:], want)
	}
}

func TestEnvelopeRoundTripOfEachKind(t *testing.T) {
	for kind := vsr.MessageKind(1); kind.Known(); kind++ {
		m := fullMessage(kind)
		b := AppendEnvelope(nil, m, payloadOf(kind))
		slots, payload, err := EnvelopeRest(b[:EnvelopeBytes])
		if err != nil || slots != len(b)-EnvelopeBytes || payload != payloadOf(kind) {
			t.Fatalf("%s: rest %d and %d bytes, %v; want %d and %d", kind, slots, payload, err, len(b)-EnvelopeBytes, payloadOf(kind))
		}
		got, payload, err := ParseEnvelope(b)
		if err != nil || payload != payloadOf(kind) || !reflect.DeepEqual(&got, m) {
			t.Fatalf("%s: got %+v, payload %d, %v; want %+v", kind, got, payload, err, m)
		}
	}
}

func TestEnvelopeFlagsTravelAlone(t *testing.T) {
	flags := []func(*vsr.Message) *bool{
		func(m *vsr.Message) *bool { return &m.Starting }, func(m *vsr.Message) *bool { return &m.Waiting },
		func(m *vsr.Message) *bool { return &m.Missing }, func(m *vsr.Message) *bool { return &m.Fit },
		func(m *vsr.Message) *bool { return &m.Restarted }, func(m *vsr.Message) *bool { return &m.DiskFull },
		func(m *vsr.Message) *bool { return &m.Bulk }, func(m *vsr.Message) *bool { return &m.Leading },
		func(m *vsr.Message) *bool { return &m.Staged },
	}
	for i, flag := range flags {
		m := fullMessage(vsr.MsgPreVote)
		*flag(m) = true
		b := AppendEnvelope(nil, m, 0)
		got, _, err := ParseEnvelope(b)
		if err != nil || b[24] != 1<<i || !reflect.DeepEqual(&got, m) {
			t.Errorf("flag %d: byte %02x, got %+v, %v", i, b[24], got, err)
		}
	}
}

func TestEnvelopeEveryFlippedBitIsSeen(t *testing.T) {
	b := AppendEnvelope(nil, fullMessage(vsr.MsgDoViewChange), 0)
	for bit := range len(b) * 8 {
		b[bit/8] ^= 1 << (bit % 8)
		if _, _, err := ParseEnvelope(b); !errors.Is(err, ErrEnvelope) && !errors.Is(err, ErrSum) {
			t.Fatalf("bit %d of byte %d flipped: %v", bit%8, bit/8, err)
		}
		b[bit/8] ^= 1 << (bit % 8)
	}
}

// resum makes b's checksum fit, as a sender with a mistake of its own would.
func resum(b []byte) []byte {
	binary.LittleEndian.PutUint64(b[8:], Sum(b[16:]))
	return b
}

func TestEnvelopeRefusesWhatItMustNotBelieve(t *testing.T) {
	le := binary.LittleEndian
	cases := []struct {
		name string
		kind vsr.MessageKind
		bend func(b []byte)
	}{
		{"kind 0", vsr.MsgBeat, func(b []byte) { b[16] = 0 }},
		{"kind unknown", vsr.MsgBeat, func(b []byte) { b[16] = 200 }},
		{"replica beyond the largest cluster", vsr.MsgBeat, func(b []byte) { b[17] = vsr.ReplicasMax }},
		{"to itself", vsr.MsgBeat, func(b []byte) { b[18] = b[17] }},
		{"unknown flag", vsr.MsgBeat, func(b []byte) { b[25] = 2 }},
		{"4 GiB of slots", vsr.MsgStartView, func(b []byte) { le.PutUint32(b[28:], math.MaxUint32) }},
		{"one slot too many", vsr.MsgStartView, func(b []byte) { le.PutUint32(b[28:], EnvelopeSlotsMax+1) }},
		{"slots of a beat", vsr.MsgBeat, func(b []byte) { le.PutUint32(b[28:], 1) }},
		{"payload of a beat", vsr.MsgBeat, func(b []byte) { le.PutUint64(b[32:], 1) }},
		{"negative payload", vsr.MsgPrepare, func(b []byte) { le.PutUint64(b[32:], math.MaxUint64) }},
		{"payload less than a header", vsr.MsgPrepare, func(b []byte) { le.PutUint64(b[32:], HeaderBytes-1) }},
		{"payload more than a frame", vsr.MsgPrepare, func(b []byte) { le.PutUint64(b[32:], FrameBytesMax+1) }},
		{"chunk of too many bytes", vsr.MsgChunk, func(b []byte) { le.PutUint64(b[136:], 600); le.PutUint64(b[32:], ChunkBytesMax+1) }},
		{"chunk of all ops", vsr.MsgChunk, func(b []byte) { le.PutUint64(b[128:], 1); le.PutUint64(b[136:], math.MaxUint64) }},
		{"chunk from op 0", vsr.MsgChunk, func(b []byte) { le.PutUint64(b[128:], 0) }},
		{"inverted chunk", vsr.MsgChunk, func(b []byte) { le.PutUint64(b[136:], 13) }},
		{"more frames than bytes", vsr.MsgChunk, func(b []byte) { le.PutUint64(b[136:], 17) }},
		{"known is 2", vsr.MsgDoViewChange, func(b []byte) { b[EnvelopeBytes] = 2 }},
		{"unknown with a header", vsr.MsgDoViewChange, func(b []byte) { b[EnvelopeBytes] = 0 }},
		{"slot of another group", vsr.MsgDoViewChange, func(b []byte) { b[20]++ }},
	}
	for _, c := range cases {
		b := AppendEnvelope(nil, fullMessage(c.kind), payloadOf(c.kind))
		c.bend(b)
		if _, _, err := ParseEnvelope(resum(b)); !errors.Is(err, ErrEnvelope) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	b := AppendEnvelope(nil, fullMessage(vsr.MsgDoViewChange), 0)
	b[EnvelopeBytes+100] ^= 1 // inside a slot's header, whose own sum must be held too
	if _, _, err := ParseEnvelope(resum(b)); !errors.Is(err, ErrSum) {
		t.Errorf("slot with a wrong header sum: %v", err)
	}
}

func TestEnvelopeOfAStrangerAllocatesNothingLarge(t *testing.T) {
	b := AppendEnvelope(nil, fullMessage(vsr.MsgStartView), 0)[:EnvelopeBytes]
	allocs := testing.AllocsPerRun(100, func() {
		if _, _, err := EnvelopeRest(b); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("reading the fixed part allocates %v times", allocs)
	}
}

func TestAppendEnvelopePanicsOnABrokenSender(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a chunk without frames was drawn")
		}
	}()
	AppendEnvelope(nil, fullMessage(vsr.MsgChunk), 0)
}

func FuzzParseEnvelope(f *testing.F) {
	for kind := vsr.MessageKind(1); kind.Known(); kind++ {
		if m := fullMessage(kind); kind != vsr.MsgStartView {
			f.Add(AppendEnvelope(nil, m, payloadOf(kind)))
		}
	}
	f.Add([]byte("RJE1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		b = bytes.Clone(b)
		if len(b) >= EnvelopeBytes {
			resum(b) // without it the fuzzer would never get past the checksum
		}
		m, payload, err := ParseEnvelope(b)
		if err != nil {
			return
		}
		if again := AppendEnvelope(nil, &m, payload); !bytes.Equal(again, b) {
			t.Fatalf("decoded and drawn again\n%x\n%x", b, again)
		}
	})
}
