package peer

import (
	"encoding/binary"
	"fmt"
	"io"

	"rejoin/server/vsr"
)

// A record of the handshake, little-endian:
//
//	 0  magic       u32  "RJP1"
//	 4  version     u16  1
//	 6  type        u8
//	 7  zero        u8
//	 8  body_bytes  u32  at most 512
//	12  body
//
// The bodies, by type, in the order in which they are sent:
//
//	1 hello      dialer    u8 purpose, u8 from, u8 to, 5 zero, 32 bytes nonce
//	2 challenge  acceptor  32 bytes nonce
//	3 proof      dialer    facts, mac
//	4 answer     acceptor  facts with a verdict, words, mac
//	5 final      dialer    facts with a verdict, words, mac
//	6 refusal    either    u8 reason, words; in place of any of the others, unproven
//
//	facts: u64 cluster, u64 nodes, u64 fixed, u64 boot, u64 nonce of the incarnation,
//	       u64 highest boot known of the other side, u8 format, u8 verdict (0: welcome), 6 zero
//	mac:   HMAC-SHA256 over every byte that both sides have sent so far, this record's included
//
// The twelve bytes of the head stay as they are in every later version, so that two versions can
// tell each other why they part.
const (
	recordMagic        = uint32('R') | uint32('J')<<8 | uint32('P')<<16 | uint32('1')<<24
	recordVersion      = 1
	recordHeadBytes    = 12
	recordBodyBytesMax = 512

	nonceBytes = 32
	helloBytes = 8 + nonceBytes
	macBytes   = 32
	factsBytes = 56
	wordsMax   = recordBodyBytesMax - factsBytes - macBytes
)

type recordType uint8

const (
	recordHello recordType = iota + 1
	recordChallenge
	recordProof
	recordAnswer
	recordFinal
	recordRefusal
)

// purpose of a link.
type purpose uint8

const (
	purposeProtocol purpose = iota + 1
	purposeBulk
)

// facts are what the two sides compare.
type facts struct {
	cluster, nodes, fixed uint64
	incarnation           vsr.Incarnation
	knownBoot             uint64
	format                Format
	verdict               Refusal // 0: welcome
}

func appendRecord(dst []byte, kind recordType, body []byte) []byte {
	le := binary.LittleEndian
	dst = le.AppendUint32(dst, recordMagic)
	dst = le.AppendUint16(dst, recordVersion)
	dst = append(dst, byte(kind), 0)
	dst = le.AppendUint32(dst, uint32(len(body)))
	return append(dst, body...)
}

// readRecord reads one record, whose length is checked before anything is allocated for it.
func readRecord(r io.Reader) (kind recordType, record []byte, err error) {
	var head [recordHeadBytes]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	le := binary.LittleEndian
	magic, version, body := le.Uint32(head[:]), le.Uint16(head[4:]), le.Uint32(head[8:])
	kind = recordType(head[6])
	switch {
	case magic != recordMagic:
		return 0, nil, &RefusedError{Peer: -1, Reason: RefusedMalformed, Text: fmt.Sprintf("what connected is no node: it began with %x", head[:4])}
	case version != recordVersion && kind != recordRefusal:
		return 0, nil, &RefusedError{Peer: -1, Reason: RefusedVersion, Text: fmt.Sprintf("handshake version %d met version %d; run one build on all nodes", recordVersion, version)}
	case body > recordBodyBytesMax || head[7] != 0:
		return 0, nil, &RefusedError{Peer: -1, Reason: RefusedMalformed, Text: fmt.Sprintf("a handshake record of %d bytes, the limit is %d", body, recordBodyBytesMax)}
	}
	record = make([]byte, recordHeadBytes+int(body))
	copy(record, head[:])
	_, err = io.ReadFull(r, record[recordHeadBytes:])
	return kind, record, err
}

func appendFacts(dst []byte, f *facts) []byte {
	le := binary.LittleEndian
	for _, v := range [...]uint64{f.cluster, f.nodes, f.fixed, f.incarnation.Boot, f.incarnation.Nonce, f.knownBoot} {
		dst = le.AppendUint64(dst, v)
	}
	return append(dst, byte(f.format), byte(f.verdict), 0, 0, 0, 0, 0, 0)
}

func parseFacts(b []byte) facts {
	le := binary.LittleEndian
	return facts{cluster: le.Uint64(b), nodes: le.Uint64(b[8:]), fixed: le.Uint64(b[16:]),
		incarnation: vsr.Incarnation{Boot: le.Uint64(b[24:]), Nonce: le.Uint64(b[32:])},
		knownBoot:   le.Uint64(b[40:]), format: Format(b[48]), verdict: Refusal(b[49])}
}
