package targettest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"rejoin/loadgen"
)

func namesAreUsable(t *testing.T, f *fixture) {
	if f.Target.Name() == "" || f.Target.Guarantee() == "" {
		t.Errorf("name %q, guarantee %q: a report must say what it measured", f.Target.Name(), f.Target.Guarantee())
	}
	for what, names := range map[string][]string{"addresses": f.Target.Addresses(), "replicas": f.Target.Replicas()} {
		sorted := slices.Clone(names)
		slices.Sort(sorted)
		if len(names) == 0 || sorted[0] == "" || len(slices.Compact(sorted)) != len(names) {
			t.Errorf("%s %q: must be given and differ", what, names)
		}
	}
	if _, _, err := f.read(t.Context(), "no such replica"); err == nil {
		t.Error("reading a replica that does not exist gave no error")
	}
}

func emptyLogReadsAsEmpty(t *testing.T, f *fixture) {
	for _, replica := range f.Target.Replicas() {
		all := f.readTo(t, replica, 0)
		if len(all) != 0 {
			t.Errorf("%s of an empty system holds %d batches", replica, len(all))
		}
	}
}

func acknowledgedIsReadableEverywhere(t *testing.T, f *fixture) {
	const producers, batches = 3, 8
	var offsets [producers][batches]uint64
	var clients [producers]*client
	end := uint64(0)
	for p := range clients {
		clients[p] = f.openRegistered(t, p)
	}
	for b := range uint64(batches) {
		for p, c := range clients {
			offset := c.mustAck(t, b+1, b)
			if b > 0 && offset <= offsets[p][b-1] {
				t.Fatalf("batch %d of producer %d at offset %d, the one before at %d", b, p, offset, offsets[p][b-1])
			}
			offsets[p][b] = offset
			end = max(end, offset+batchMessages)
		}
	}
	var first []stored
	for i, replica := range f.Target.Replicas() {
		log := f.readTo(t, replica, end)
		for p, c := range clients {
			for b := range uint64(batches) {
				c.holds(t, replica, log, offsets[p][b], b)
			}
		}
		if i == 0 {
			first = log
			continue
		}
		same := slices.EqualFunc(first, log, func(a, b stored) bool { return a.base == b.base && a.identity == b.identity })
		if !same {
			t.Errorf("%s and %s hold the same batches and show other offsets or identities", f.Target.Replicas()[0], replica)
		}
	}
	identities := map[uint64]bool{}
	for _, s := range first {
		if identities[s.identity] {
			t.Errorf("two batches share the identity %016x", s.identity)
		}
		identities[s.identity] = true
	}
}

func retryGetsTheSameOffset(t *testing.T, f *fixture) {
	if !f.Sessions && !f.Deduplicates {
		t.Skip("the target does not know a repeated request")
	}
	c := f.openRegistered(t, 0)
	first := c.mustAck(t, 1, 0)
	for address := range c.all { // by way of every address
		c.address = address
		if again := c.mustAck(t, 1, 0); again != first {
			t.Errorf("the retry by address %d got offset %d, the request had %d", address, again, first)
		}
	}
	second := c.mustAck(t, 9, 1) // gaps in the numbers are allowed
	for _, replica := range f.Target.Replicas() {
		log := f.readTo(t, replica, second+batchMessages)
		c.holds(t, replica, log, first, 0)
		c.holds(t, replica, log, second, 1)
	}
}

func olderRequestIsSuperseded(t *testing.T, f *fixture) {
	if !f.Sessions {
		t.Skip("the target has no sessions")
	}
	c := f.openRegistered(t, 0)
	c.mustAck(t, 5, 0)
	result := c.try(t, 4, 1)
	if result.Outcome != loadgen.TryUnknown || !result.Final {
		t.Errorf("request 4 after request 5: %v final=%v, want unknown and final: an earlier try may stand in the log", result.Outcome, result.Final)
	}
	c.mustAck(t, 6, 2)
}

func otherBodyIsRefused(t *testing.T, f *fixture) {
	if !f.Sessions {
		t.Skip("the target has no sessions")
	}
	c := f.openRegistered(t, 0)
	offset := c.mustAck(t, 1, 0)
	// A producer that forgot what it sent under this number.
	result := c.try(t, 1, 1)
	if result.Outcome == loadgen.TryAcked && result.Offset == offset {
		t.Error("another body under the same request number was acknowledged at the first one's offset")
	}
	if result.Outcome == loadgen.TryNotAppended {
		t.Error("the answer says \"not appended\" of a number that stands in the log")
	}
}

func strangerIsRefused(t *testing.T, f *fixture) {
	if !f.Sessions {
		t.Skip("the target has no sessions")
	}
	result := f.open(t, 0).try(t, 1, 0)
	if !result.Unregistered || result.Outcome == loadgen.TryAcked {
		t.Errorf("a producer that never registered: %v unregistered=%v, want a refusal that says so", result.Outcome, result.Unregistered)
	}
}

func evictedProducerRegistersAgain(t *testing.T, f *fixture) {
	if f.Evict == nil {
		t.Skip("the system cannot be made to forget its producers")
	}
	c := f.openRegistered(t, 0)
	first := c.mustAck(t, 1, 0)
	f.Evict()
	if result := c.try(t, 2, 1); !result.Unregistered || result.Outcome != loadgen.TryUnknown {
		t.Fatalf("after the eviction: %v unregistered=%v, want unknown and unregistered", result.Outcome, result.Unregistered)
	}
	c.until(t, "register", func(address int, deadline time.Time) loadgen.TryResult { return c.Register(address, deadline) })
	if second := c.mustAck(t, 3, 2); second <= first {
		t.Errorf("offset %d after offset %d", second, first)
	}
}

// Every address answers with an acknowledgement or a refusal of this try that may name another one.
func answersAreOfTheAllowedForms(t *testing.T, f *fixture) {
	c := f.openRegistered(t, 0)
	acked := 0
	for address := range c.all {
		batch := c.payload.Fill(uint64(address))
		result := c.Try(loadgen.Attempt{Address: address, Request: uint64(address) + 1, Batch: batch, Deadline: time.Now().Add(patience)})
		switch result.Outcome {
		case loadgen.TryAcked:
			acked++
		case loadgen.TryNotAppended:
			if result.Err == nil || result.Hint != loadgen.NoHint && (result.Hint < 0 || result.Hint >= c.all) {
				t.Errorf("address %d refused with hint %d and error %v", address, result.Hint, result.Err)
			}
		default:
			t.Errorf("address %d: %v %v: %v; nothing broke, so nothing is unknown", address, result.Outcome, result.Cause, result.Err)
		}
	}
	if acked == 0 {
		t.Error("no address took a batch")
	}
}

func frozenAddressTimesOut(t *testing.T, f *fixture) {
	if f.Freeze == nil {
		t.Skip("the system's addresses cannot be frozen")
	}
	c := f.openRegistered(t, 0)
	c.mustAck(t, 1, 0)
	f.Freeze(c.address)
	within := func(what string, step func(deadline time.Time) loadgen.TryResult, outcome loadgen.TryOutcome) {
		began := time.Now()
		result := step(began.Add(200 * time.Millisecond))
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s: the try took %v of the 200ms it had", what, took)
		}
		if result.Cause != loadgen.CauseTimeout || result.Outcome != outcome {
			t.Errorf("%s: %v %v (%v), want a timeout with outcome %v", what, result.Outcome, result.Cause, result.Err, outcome)
		}
	}
	within("a connection that has answered", func(deadline time.Time) loadgen.TryResult {
		return c.Try(loadgen.Attempt{Address: c.address, Request: 2, Batch: c.payload.Fill(1), Deadline: deadline})
	}, loadgen.TryUnknown)
	unheard := loadgen.TryUnknown
	if f.SpeaksFirst { // nothing has left before it did
		unheard = loadgen.TryNotAppended
	}
	within("a new connection", func(deadline time.Time) loadgen.TryResult {
		return f.open(t, 1).Register(c.address, deadline)
	}, unheard)
}

func refusedAddressSaysSo(t *testing.T, f *fixture) {
	if f.Refuse == nil {
		t.Skip("the system's addresses cannot be closed")
	}
	c := f.openRegistered(t, 0)
	c.mustAck(t, 1, 0)
	f.Refuse(c.address)
	stranger := f.open(t, 1)
	result := stranger.Register(c.address, time.Now().Add(patience))
	if result.Cause != loadgen.CauseRefused || result.Outcome != loadgen.TryNotAppended {
		t.Errorf("a new connection: %v %v, want refused, not appended", result.Outcome, result.Cause)
	}
	result = c.Try(loadgen.Attempt{Address: c.address, Request: 2, Batch: c.payload.Fill(1), Deadline: time.Now().Add(patience)})
	if result.Outcome == loadgen.TryAcked || result.Cause != loadgen.CauseRefused && result.Cause != loadgen.CauseReset {
		t.Errorf("an old connection: %v %v, want refused or reset", result.Outcome, result.Cause)
	}
}

func readStopsWhenTold(t *testing.T, f *fixture) {
	c := f.openRegistered(t, 0)
	offset := uint64(0)
	for b := range uint64(4) {
		offset = c.mustAck(t, b+1, b)
	}
	replica := f.Target.Replicas()[0]
	f.readTo(t, replica, offset+batchMessages)
	seen := 0
	_, err := f.Target.ReadReplica(t.Context(), replica, func(loadgen.ReadBatch) error {
		seen++
		return errEnough
	})
	if !errors.Is(err, errEnough) || seen != 1 {
		t.Errorf("an error of yield came back as %v after %d batches, want it at once", err, seen)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := f.read(ctx, replica); err == nil {
		t.Error("a read with a context that is done gave no error")
	}
}

// The whole way: a short load, then the verifier. Nothing here is about speed.
func loadVerifies(t *testing.T, f *fixture) {
	outcome, err := loadgen.Run(t.Context(), loadgen.Options{Target: f.Target, LedgerDir: t.TempDir(), Producers: 4,
		BatchMessages: batchMessages, MessageBytes: messageBytes, RatePerS: 1_000, Duration: 500 * time.Millisecond, Seed: 8,
		OvershootSamples: -1})
	if err != nil {
		t.Fatal(err)
	}
	m, err := loadgen.Measure(outcome.Ledgers)
	if err != nil {
		t.Fatal(err)
	}
	if m.Counts.Due != 50 || m.Counts.OK != 50 {
		t.Fatalf("%+v, want 50 due and ok; first error: %v", m.Counts, outcome.FirstErr)
	}
	for _, replica := range f.Target.Replicas() {
		f.readTo(t, replica, 50*batchMessages)
	}
	report, err := loadgen.Verify(t.Context(), f.Target, loadgen.VerifyOptions{Ledgers: outcome.Ledgers, AckedMin: 50})
	if err != nil {
		t.Fatal(err)
	}
	if report.Verdict != loadgen.VerifyPass {
		t.Errorf("verdict %s: %q", report.Verdict, report.Reasons)
	}
}
