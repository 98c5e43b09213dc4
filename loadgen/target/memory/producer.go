package memory

import (
	"errors"
	"fmt"
	"time"

	"github.com/zeebo/xxh3"

	"rejoin/loadgen"
)

var (
	errRefused      = errors.New("connection refused")
	errTimeout      = errors.New("no answer by the deadline")
	errReset        = errors.New("connection reset")
	errNotPrimary   = errors.New("not_primary")
	errUnregistered = errors.New("session_evicted")
	errSuperseded   = errors.New("request_superseded")
	errDiffers      = errors.New("request_differs")
)

// producer is one client of the target.
type producer struct {
	target *Target
	id     int
}

// Close implements loadgen.Producer.
func (p *producer) Close() error { return nil }

// Register implements loadgen.Producer.
func (p *producer) Register(address int, deadline time.Time) loadgen.TryResult {
	return p.exchange(address, deadline, func(t *Target) loadgen.TryResult {
		t.sessions[p.id] = &session{}
		return loadgen.Acked(0)
	})
}

// Try implements loadgen.Producer.
func (p *producer) Try(a loadgen.Attempt) loadgen.TryResult {
	messages := a.Batch.Messages
	if p.target.mayOutlive(a.Deadline) {
		// A late append must not look at memory that the caller reuses for its next batch.
		messages = copyMessages(messages)
	}
	return p.exchange(a.Address, a.Deadline, func(t *Target) loadgen.TryResult {
		return t.append(p.id, a.Request, messages)
	})
}

// exchange is one request to one address: what a network and a server would do to it, and commit
// in the end, under the target's lock.
func (p *producer) exchange(address int, deadline time.Time, commit func(*Target) loadgen.TryResult) loadgen.TryResult {
	t := p.target
	way := t.admit(address)
	switch {
	case way.refused:
		return loadgen.NotAcked(loadgen.TryNotAppended, loadgen.CauseRefused, errRefused)
	case way.hangs:
		time.Sleep(time.Until(deadline))
		return loadgen.NotAcked(loadgen.TryUnknown, loadgen.CauseTimeout, errTimeout)
	case way.cutBefore:
		return loadgen.NotAcked(loadgen.TryUnknown, loadgen.CauseReset, errReset)
	case way.notPrimary:
		result := loadgen.NotAcked(loadgen.TryNotAppended, loadgen.CauseAnswer, errNotPrimary)
		result.Hint = way.hint
		return result
	}
	if way.serveAt.After(deadline) {
		t.commitLate(way.serveAt, commit)
		time.Sleep(time.Until(deadline))
		return loadgen.NotAcked(loadgen.TryUnknown, loadgen.CauseTimeout, errTimeout)
	}
	if wait := time.Until(way.serveAt); wait > 0 {
		time.Sleep(wait)
	}
	t.mu.Lock()
	result := commit(t)
	t.mu.Unlock()
	if way.cutAfter {
		return loadgen.NotAcked(loadgen.TryUnknown, loadgen.CauseReset, errReset)
	}
	return result
}

// commitLate lets a request land after its caller gave up: a timeout is not a failure.
func (t *Target) commitLate(at time.Time, commit func(*Target) loadgen.TryResult) {
	t.late.Go(func() {
		time.Sleep(time.Until(at))
		t.mu.Lock()
		defer t.mu.Unlock()
		commit(t)
	})
}

// append is the log: exactly once a request of a session. The caller holds the lock.
func (t *Target) append(id int, request uint64, messages [][]byte) loadgen.TryResult {
	known := t.sessions[id]
	digest := digestOf(messages)
	switch {
	case known == nil:
		result := final(errUnregistered)
		result.Unregistered = true
		return result
	case request < known.request:
		return final(errSuperseded)
	case request == known.request && digest != known.digest:
		return final(errDiffers)
	case request == known.request:
		return loadgen.Acked(known.offset)
	}
	*known = session{request: request, digest: digest, offset: t.next}
	if t.loseNext > 0 {
		t.loseNext--
		return loadgen.Acked(known.offset)
	}
	if !t.options.Discard {
		t.log = append(t.log, record{base: t.next, identity: identityOf(t.next, digest), messages: copyMessages(messages)})
	}
	t.next += uint64(len(messages))
	return loadgen.Acked(known.offset)
}

func final(err error) loadgen.TryResult {
	result := loadgen.NotAcked(loadgen.TryUnknown, loadgen.CauseAnswer, fmt.Errorf("memory target: %w", err))
	result.Final = true
	return result
}

func copyMessages(messages [][]byte) [][]byte {
	total := 0
	for _, m := range messages {
		total += len(m)
	}
	flat := make([]byte, 0, total)
	out := make([][]byte, len(messages))
	for i, m := range messages {
		from := len(flat)
		flat = append(flat, m...)
		out[i] = flat[from:len(flat):len(flat)]
	}
	return out
}

func digestOf(messages [][]byte) uint64 {
	digest := uint64(len(messages))
	for _, m := range messages {
		digest = digest*0x9e3779b97f4a7c15 + xxh3.Hash(m)
	}
	return digest
}

func identityOf(base, digest uint64) uint64 {
	return digest ^ (base+1)*0xbf58476d1ce4e5b9
}
