package wire

import (
	"encoding/binary"
	"fmt"

	"rejoin/server/vsr"
)

// A message inside a body, little-endian; a body is messages back to back:
//
//	 0  length           u32  bytes that follow this field
//	 4  timestamp_delta  u32  ms before the frame's timestamp
//	 8  key_bytes        u16
//	10  headers_bytes    u16  opaque to the server
//	12  key, headers, payload
const (
	messageLengthBytes = 4
	MessagePrefixBytes = 12 // bytes of a message before its key
)

// Message is one message of a batch. Its slices lie inside the body they were parsed from.
type Message struct {
	TimestampDelta uint32 // ms
	Key            []byte // at most 65,535 bytes
	Headers        []byte // at most 65,535 bytes
	Payload        []byte
}

// AppendMessage appends m to a body.
func AppendMessage(body []byte, m Message) []byte {
	if len(m.Key) > 0xffff || len(m.Headers) > 0xffff {
		panic("wire: key or headers of a message exceed 65,535 bytes")
	}
	le := binary.LittleEndian
	length := MessagePrefixBytes - messageLengthBytes + len(m.Key) + len(m.Headers) + len(m.Payload)
	body = le.AppendUint32(body, uint32(length))
	body = le.AppendUint32(body, m.TimestampDelta)
	body = le.AppendUint16(body, uint16(len(m.Key)))
	body = le.AppendUint16(body, uint16(len(m.Headers)))
	body = append(body, m.Key...)
	body = append(body, m.Headers...)
	return append(body, m.Payload...)
}

// NextMessage takes the first message off a body and returns what follows it.
func NextMessage(body []byte) (m Message, rest []byte, err error) {
	if len(body) < MessagePrefixBytes {
		return m, nil, fmt.Errorf("%w: %d bytes left where a message begins", ErrFormat, len(body))
	}
	le := binary.LittleEndian
	length := uint64(le.Uint32(body))
	m.TimestampDelta = le.Uint32(body[4:])
	key, headers := uint64(le.Uint16(body[8:])), uint64(le.Uint16(body[10:]))
	end := messageLengthBytes + length
	if end > uint64(len(body)) || MessagePrefixBytes+key+headers > end {
		return m, nil, fmt.Errorf("%w: message of %d bytes with key %d and headers %d, %d bytes are left", ErrFormat, length, key, headers, len(body))
	}
	at := uint64(MessagePrefixBytes)
	m.Key = body[at : at+key : at+key]
	m.Headers = body[at+key : at+key+headers : at+key+headers]
	m.Payload = body[at+key+headers : end : end]
	return m, body[end:], nil
}

// CheckBody holds a body against its header: length, checksum, and messages that fill it exactly.
func CheckBody(h *vsr.Header, body []byte) error {
	if uint64(len(body)) != uint64(h.BodyBytes) {
		return fmt.Errorf("%w: body of %d bytes, the header says %d", ErrFormat, len(body), h.BodyBytes)
	}
	if sum := Sum(body); h.BodySum != sum {
		return fmt.Errorf("body %w: the header says %016x, its bytes give %016x", ErrSum, h.BodySum, sum)
	}
	for i := range h.MessageCount {
		_, rest, err := NextMessage(body)
		if err != nil {
			return fmt.Errorf("message %d of %d: %w", i, h.MessageCount, err)
		}
		body = rest
	}
	if len(body) != 0 {
		return fmt.Errorf("%w: %d bytes follow the last of %d messages", ErrFormat, len(body), h.MessageCount)
	}
	return nil
}

// CheckRequest holds a producer's frame against the rules before it may be stamped: kind batch, a
// whole body, and zero in every field that is not the client's.
func CheckRequest(frame []byte) (vsr.Header, error) {
	h, err := ParseHeader(frame)
	if err != nil {
		return h, err
	}
	asked := vsr.Header{Kind: vsr.KindBatch, Client: h.Client, Session: h.Session, Request: h.Request,
		MessageCount: h.MessageCount, BodyBytes: h.BodyBytes, BodySum: h.BodySum}
	if h != asked {
		return h, fmt.Errorf("%w: kind must be batch, and the fields that the primary stamps must be zero", ErrFormat)
	}
	return h, CheckBody(&h, frame[HeaderBytes:])
}

// SealRequest completes a producer's frame in place: frame is 128 free bytes and the body.
func SealRequest(frame []byte, client vsr.Client, session, request uint64, messages uint32) {
	body := frame[HeaderBytes:]
	PutHeader(frame, &vsr.Header{Kind: vsr.KindBatch, Client: client, Session: session, Request: request,
		MessageCount: messages, BodyBytes: uint32(len(body)), BodySum: Sum(body)})
}
