package memory

import "time"

// AddressMode is how an address treats whoever comes.
type AddressMode uint8

// Modes of an address.
const (
	AddressOpen    AddressMode = iota // answers
	AddressRefuses                    // refuses connections: the process is gone
	AddressHangs                      // accepts and never answers: the process is stopped
)

// SetAddress changes how one address treats its callers.
func (t *Target) SetAddress(address int, mode AddressMode) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.addresses[address] = mode
}

// SetPrimary moves the primary. The other addresses answer "not primary" with a hint at it.
func (t *Target) SetPrimary(address int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.primary = address
}

// SetHints says whether "not primary" names the primary; it does at first.
func (t *Target) SetHints(on bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.noHints = !on
}

// Stall holds back every request from now on for a duration; those that wait are then served
// together.
func (t *Target) Stall(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stallUntil = time.Now().Add(d)
}

// CutAfterCommit makes the next n appends land and their connections break before the answer.
func (t *Target) CutAfterCommit(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cutAfter = n
}

// CutBeforeCommit makes the connections of the next n requests break with nothing appended, which
// the caller cannot tell from CutAfterCommit.
func (t *Target) CutBeforeCommit(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cutBefore = n
}

// LoseNext acknowledges the next n batches without storing them.
func (t *Target) LoseNext(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.loseNext = n
}

// EvictAll forgets every producer, so that each must register again.
func (t *Target) EvictAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.sessions)
}

// Requests counts what arrived at all addresses, registrations included: the number that a client's
// own count of its tries must equal.
func (t *Target) Requests() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.requests
}

// EndOffset is the offset of the next message.
func (t *Target) EndOffset() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.next
}

// way is what happens to one request.
type way struct {
	refused, hangs, cutBefore, cutAfter, notPrimary bool

	hint    int
	serveAt time.Time
}

// admit decides on arrival what happens to a request.
func (t *Target) admit(address int) way {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests++
	switch {
	case t.addresses[address] == AddressRefuses:
		return way{refused: true}
	case t.addresses[address] == AddressHangs:
		return way{hangs: true}
	case t.cutBefore > 0:
		t.cutBefore--
		return way{cutBefore: true}
	case address != t.primary:
		return way{notPrimary: true, hint: t.hintToPrimary()}
	}
	w := way{serveAt: t.serveAt(time.Now())}
	if t.cutAfter > 0 {
		t.cutAfter--
		w.cutAfter = true
	}
	return w
}

func (t *Target) hintToPrimary() int {
	if t.noHints {
		return -1
	}
	return t.primary
}

// serveAt is when a request that arrives now is answered. It takes its turn in the target's time.
func (t *Target) serveAt(now time.Time) time.Time {
	start := now
	if t.stallUntil.After(start) {
		start = t.stallUntil
	}
	if t.options.ServiceTime > 0 {
		if t.busyUntil.After(start) {
			start = t.busyUntil
		}
		start = start.Add(t.options.ServiceTime)
		t.busyUntil = start
	}
	return start.Add(t.options.Delay)
}

// mayOutlive says whether a request that arrives about now could be served after its deadline.
func (t *Target) mayOutlive(deadline time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	start := now
	if t.stallUntil.After(start) {
		start = t.stallUntil
	}
	if t.busyUntil.After(start) {
		start = t.busyUntil
	}
	// A margin, because admit looks a moment later.
	return start.Add(t.options.Delay + t.options.ServiceTime + time.Second).After(deadline)
}
