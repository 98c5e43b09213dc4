// Package targettest is the conformance suite that every adapter passes: what the load generator and
// the verifier take for granted of a loadgen.Target, tried on a running system.
//
//	func TestConformance(t *testing.T) {
//		targettest.Run(t, func(t *testing.T) targettest.System { … start it, t.Cleanup(stop) … })
//	}
//
// A case that needs something the system cannot do is skipped by name. Bounds on time are generous:
// they catch what hangs, they do not measure.
package targettest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"rejoin/loadgen"
)

// System is a running, empty system under test.
type System struct {
	Target loadgen.Target

	// Sessions: the target knows its producers, answers a repeated request with the same offset, and
	// refuses older ones and strangers.
	Sessions bool

	// Deduplicates: a repeated request gets the offset of the first, though the target knows no sessions. Those have it anyway.
	Deduplicates bool

	// SpeaksFirst: a server begins each connection, and a try sends nothing before that. One that waits for it in vain has appended nothing;
	// elsewhere the request has left, and its outcome is unknown.
	SpeaksFirst bool

	// Evict, if given, makes the target forget all producers.
	Evict func()

	// Freeze, if given, makes an address accept and never answer; Refuse makes it refuse connections.
	Freeze func(address int)
	Refuse func(address int)
}

// patience is how long anything that must come may take.
const patience = 20 * time.Second

const (
	batchMessages = 10
	messageBytes  = 100
	runID         = 0xc0ffee
)

// Run runs the suite; each case has a system of its own.
func Run(t *testing.T, start func(t *testing.T) System) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, *fixture)
	}{
		{"NamesAreUsable", namesAreUsable},
		{"EmptyLogReadsAsEmpty", emptyLogReadsAsEmpty},
		{"AcknowledgedIsReadableEverywhere", acknowledgedIsReadableEverywhere},
		{"RetryGetsTheSameOffset", retryGetsTheSameOffset},
		{"OlderRequestIsSuperseded", olderRequestIsSuperseded},
		{"OtherBodyIsRefused", otherBodyIsRefused},
		{"StrangerIsRefused", strangerIsRefused},
		{"EvictedProducerRegistersAgain", evictedProducerRegistersAgain},
		{"AnswersAreOfTheAllowedForms", answersAreOfTheAllowedForms},
		{"FrozenAddressTimesOut", frozenAddressTimesOut},
		{"RefusedAddressSaysSo", refusedAddressSaysSo},
		{"ReadStopsWhenTold", readStopsWhenTold},
		{"LoadVerifies", loadVerifies},
	} {
		t.Run(c.name, func(t *testing.T) {
			system := start(t)
			c.run(t, newFixture(t, system))
		})
	}
}

// fixture is a system with payloads to send.
type fixture struct {
	System
	pool *loadgen.PayloadPool
}

func newFixture(t *testing.T, system System) *fixture {
	pool, err := loadgen.NewPayloadPool(loadgen.PayloadOptions{RunID: runID, Seed: 3, BatchMessages: batchMessages,
		MessageBytes: messageBytes, CompressedShare: 1})
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{System: system, pool: pool}
}

// client is one producer of a test.
type client struct {
	loadgen.Producer
	payload *loadgen.Payload
	address int
	all     int
}

// open makes a producer; registered is done by the caller.
func (f *fixture) open(t *testing.T, id int) *client {
	t.Helper()
	p, err := f.Target.OpenProducer(t.Context(), loadgen.ProducerOptions{Producer: id, Seed: uint64(id), BatchMessages: batchMessages, MessageBytes: messageBytes})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return &client{Producer: p, payload: f.pool.NewPayload(id), all: len(f.Target.Addresses())}
}

func (f *fixture) openRegistered(t *testing.T, id int) *client {
	t.Helper()
	c := f.open(t, id)
	c.until(t, "register", func(address int, deadline time.Time) loadgen.TryResult { return c.Register(address, deadline) })
	return c
}

// until repeats a step over the roster until it is acknowledged or final.
func (c *client) until(t *testing.T, what string, step func(int, time.Time) loadgen.TryResult) loadgen.TryResult {
	t.Helper()
	var result loadgen.TryResult
	for end := time.Now().Add(patience); time.Now().Before(end); {
		result = step(c.address, time.Now().Add(2*time.Second))
		if result.Outcome == loadgen.TryAcked || result.Final {
			return result
		}
		c.address = (c.address + 1) % c.all
		if result.Hint != loadgen.NoHint {
			c.address = result.Hint
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("%s was not acknowledged within %v; last: %v %v: %v", what, patience, result.Outcome, result.Cause, result.Err)
	return result
}

// try brings one request to an end.
func (c *client) try(t *testing.T, request, sequence uint64) loadgen.TryResult {
	t.Helper()
	batch := c.payload.Fill(sequence)
	return c.until(t, fmt.Sprintf("request %d", request), func(address int, deadline time.Time) loadgen.TryResult {
		return c.Try(loadgen.Attempt{Address: address, Request: request, Batch: batch, Deadline: deadline})
	})
}

func (c *client) mustAck(t *testing.T, request, sequence uint64) uint64 {
	t.Helper()
	result := c.try(t, request, sequence)
	if result.Outcome != loadgen.TryAcked {
		t.Fatalf("request %d: %v: %v", request, result.Outcome, result.Err)
	}
	return result.Offset
}

// stored is one batch as read.
type stored struct {
	base, identity uint64
	messages       [][]byte
}

func (f *fixture) read(ctx context.Context, replica string) ([]stored, loadgen.ReadEnd, error) {
	var all []stored
	end, err := f.Target.ReadReplica(ctx, replica, func(b loadgen.ReadBatch) error {
		s := stored{base: b.BaseOffset, identity: b.Identity}
		for _, m := range b.Messages {
			s.messages = append(s.messages, bytes.Clone(m))
		}
		all = append(all, s)
		return nil
	})
	return all, end, err
}

// readTo reads a replica until it has reached an offset: a replica may lag, for a while.
func (f *fixture) readTo(t *testing.T, replica string, offset uint64) []stored {
	t.Helper()
	var err error
	var end loadgen.ReadEnd
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		var all []stored
		if all, end, err = f.read(t.Context(), replica); err == nil && end.EndOffset >= offset {
			return all
		}
	}
	t.Fatalf("%s did not reach offset %d within %v: it ends at %d, err %v", replica, offset, patience, end.EndOffset, err)
	return nil
}

// holds fails unless one and only one stored batch is the given one, at its offset. A target may store a batch as one record or as several.
func (c *client) holds(t *testing.T, replica string, log []stored, offset, sequence uint64) {
	t.Helper()
	want, found := c.payload.Fill(sequence).Messages, 0
	var offsets []uint64
	var messages [][]byte
	for _, s := range log {
		for i, m := range s.messages {
			offsets, messages = append(offsets, s.base+uint64(i)), append(messages, m)
		}
	}
	for i, m := range messages {
		if !bytes.Equal(m, want[0]) {
			continue
		}
		found++
		rest := messages[i:min(i+len(want), len(messages))]
		if offsets[i] != offset || !slices.EqualFunc(rest, want, bytes.Equal) {
			t.Errorf("%s holds batch %d at offset %d, it was acknowledged at %d; or its messages differ", replica, sequence, offsets[i], offset)
		}
	}
	if found != 1 {
		t.Errorf("%s holds batch %d %d times, want once", replica, sequence, found)
	}
}

var errEnough = errors.New("enough")
