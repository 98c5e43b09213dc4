package builtin

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/valyala/fasthttp"

	"rejoin/loadgen"
	"rejoin/server/wire"
)

// answerBytesMax bounds the answer to an append or a registration.
const answerBytesMax = 64 << 10

// producer is one client with one session.
type producer struct {
	target  *Target
	links   []*link // by address
	client  clientID
	session uint64 // 0: none

	// frame is the request in hand, encoded for frameOf; its header is what an acknowledgement is
	// held against.
	frame   []byte
	frameOf identity
	header  frameHeader

	// places are where the messages of a batch lie in frame when all have the greatest size; whole is
	// that frame, its messages' prefixes drawn. nil when a batch of another shape has been there.
	places [][]byte
	whole  []byte
}

// lay draws a frame of messages that have one size.
func (p *producer) lay(messages, bytes int) {
	p.whole = p.frame[:wire.HeaderBytes]
	for range messages {
		p.whole = wire.AppendMessage(p.whole, wire.Message{Payload: make([]byte, bytes)})
		p.places = append(p.places, p.whole[len(p.whole)-bytes:len(p.whole):len(p.whole)])
	}
}

// Places implements loadgen.Placer.
func (p *producer) Places() [][]byte { return p.places }

// inPlace tells whether a batch's messages lie in the frame already.
func (p *producer) inPlace(messages [][]byte) bool {
	if len(messages) != len(p.places) {
		return false
	}
	for i, m := range messages {
		if len(m) != len(p.places[i]) || len(m) == 0 || &m[0] != &p.places[i][0] {
			return false
		}
	}
	return true
}

// identity is what a frame was encoded from. A retry sends the same bytes.
type identity struct{ session, request, sequence uint64 }

// Close implements loadgen.Producer.
func (p *producer) Close() error {
	var errs []error
	for _, l := range p.links {
		errs = append(errs, l.close())
	}
	return errors.Join(errs...)
}

// Register implements loadgen.Producer: it opens a session. Each call opens one of its own, also
// when an earlier one succeeded and its answer was lost; the last one counts.
func (p *producer) Register(address int, deadline time.Time) loadgen.TryResult {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:], p.client.Hi)
	binary.BigEndian.PutUint64(id[8:], p.client.Lo)
	response, failed := p.links[address].do(nil, request{
		method: fasthttp.MethodPost, path: p.target.sessions, lines: "Content-Type: application/json\r\n",
		body: []byte(`{"client":"` + hex.EncodeToString(id[:]) + `"}`), answerBytesMax: answerBytesMax,
	}, deadline)
	if failed != nil {
		return failed.result()
	}
	if response.StatusCode() != fasthttp.StatusOK {
		return p.target.refused(response)
	}
	var answer struct {
		Session uint64 `json:"session"`
	}
	if err := json.Unmarshal(response.Body(), &answer); err != nil || answer.Session == 0 {
		return loadgen.NotAcked(loadgen.TryUnknown, loadgen.CauseAnswer, fmt.Errorf("registration: no session in %q", clip(response.Body())))
	}
	p.session = answer.Session
	return loadgen.Acked(0)
}

var errNoSession = errors.New("the producer has no session: register first")

// Try implements loadgen.Producer.
func (p *producer) Try(a loadgen.Attempt) loadgen.TryResult {
	if p.session == 0 {
		result := loadgen.NotAcked(loadgen.TryNotAppended, loadgen.CauseAnswer, errNoSession)
		result.Unregistered, result.Final = true, true
		return result
	}
	p.encode(a)
	response, failed := p.links[a.Address].do(nil, request{
		method: fasthttp.MethodPost, path: p.target.batches,
		lines: "Content-Type: " + mediaFrame + "\r\nAccept: " + mediaFrame + "\r\n",
		body:  p.frame, answerBytesMax: answerBytesMax,
	}, a.Deadline)
	if failed != nil {
		return failed.result()
	}
	if response.StatusCode() != fasthttp.StatusOK {
		result := p.target.refused(response)
		if result.Unregistered {
			p.session = 0
		}
		return result
	}
	return p.acknowledged(response.Body())
}

// encode fills the frame, unless it holds this very request already.
func (p *producer) encode(a loadgen.Attempt) {
	of := identity{p.session, a.Request, a.Batch.Sequence}
	if of == p.frameOf {
		return
	}
	if p.inPlace(a.Batch.Messages) {
		p.frame = p.whole
	} else {
		if p.places != nil { // they are not written over: the messages may lie there otherwise
			p.places, p.frame = nil, make([]byte, wire.HeaderBytes, cap(p.whole))
		}
		p.frame = p.frame[:wire.HeaderBytes]
		for _, m := range a.Batch.Messages {
			p.frame = wire.AppendMessage(p.frame, wire.Message{Payload: m})
		}
	}
	wire.SealRequest(p.frame, p.client, p.session, a.Request, uint32(len(a.Batch.Messages)))
	header, err := wire.ParseHeader(p.frame)
	if err != nil {
		panic(fmt.Sprintf("builtin target: a frame of its own is refused: %v", err))
	}
	p.header, p.frameOf = header, of
}

// acknowledged holds the stamped header of an answer against what was sent: an acknowledgement of
// anything else is none.
func (p *producer) acknowledged(stamped []byte) loadgen.TryResult {
	h, err := wire.ParseSealed(stamped)
	if err == nil && len(stamped) != wire.HeaderBytes {
		err = fmt.Errorf("%d bytes follow the header", len(stamped)-wire.HeaderBytes)
	}
	if err != nil {
		return loadgen.NotAcked(loadgen.TryUnknown, loadgen.CauseAnswer, fmt.Errorf("acknowledgement: %w", err))
	}
	sent := p.header
	if h.Kind != sent.Kind || h.Client != sent.Client || h.Session != sent.Session || h.Request != sent.Request ||
		h.BodySum != sent.BodySum || h.BodyBytes != sent.BodyBytes || h.MessageCount != sent.MessageCount {
		return loadgen.NotAcked(loadgen.TryUnknown, loadgen.CauseAnswer,
			fmt.Errorf("acknowledgement of request %d of session %d, sent was request %d of session %d, or its body differs",
				h.Request, h.Session, sent.Request, sent.Session))
	}
	return loadgen.Acked(h.BaseOffset)
}

// clip keeps an error's text short whatever a server sent.
func clip(b []byte) []byte { return b[:min(len(b), 200)] }
