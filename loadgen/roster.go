package loadgen

import "time"

// The retry policy. It is the same for every target; adapters only make single tries.
const (
	tryLimit        = 1500 * time.Millisecond
	tryLimitUnknown = 400 * time.Millisecond // at an address that has not answered yet or timed out last
	avoidFor        = 10 * time.Second       // an address that timed out is asked last for so long
	backoff         = 20 * time.Millisecond  // mean; drawn from half to one and a half of it
)

// roster decides, for one producer, which address is asked next and how long for. It is a value
// without a clock: callers pass the time.
//
// Addresses are asked in rounds: within a round each is asked once, those that timed out lately last,
// and a hint goes first. A hint may lead back to an address of the same round a few times, because a
// new primary says "not yet" before it says yes; not for ever, because two backups may point at each
// other.
type roster struct {
	addresses []rosterAddress
	want      int // the address that a hint or the last success names, or NoHint
	last      int // the address asked last
	returns   int // hints of this round that led to an address already asked in it
	random    splitMix
}

type rosterAddress struct {
	answered   bool      // has answered this producer at some time
	timedOut   bool      // its last try timed out
	avoidUntil time.Time // asked last before this time
	asked      bool      // in this round
}

func newRoster(addresses, first int, seed uint64) *roster {
	return &roster{addresses: make([]rosterAddress, addresses), want: first, last: first, random: splitMix{state: seed}}
}

// begin starts the round of a new batch; the address of the last success comes first.
func (r *roster) begin() {
	r.returns = 0
	for i := range r.addresses {
		r.addresses[i].asked = false
	}
}

// next is the address to ask now.
func (r *roster) next(now time.Time) int {
	choice := r.choose(now)
	if choice < 0 {
		r.begin()
		choice = r.choose(now)
	}
	r.addresses[choice].asked = true
	r.last, r.want = choice, NoHint
	return choice
}

// choose finds the best address of this round, or -1 when all have been asked.
func (r *roster) choose(now time.Time) int {
	if w := r.want; w >= 0 && !r.avoided(w, now) {
		if !r.addresses[w].asked {
			return w
		}
		if r.returns < len(r.addresses) {
			r.returns++
			return w
		}
	}
	if next := r.unasked(func(i int) bool { return !r.avoided(i, now) }); next >= 0 {
		return next
	}
	return r.unasked(func(int) bool { return true })
}

// unasked is the first address after the last one, the last one itself at the end, that has not been
// asked in this round and suits.
func (r *roster) unasked(suits func(int) bool) int {
	n := len(r.addresses)
	for step := range n {
		i := (r.last + 1 + step) % n
		if !r.addresses[i].asked && suits(i) {
			return i
		}
	}
	return -1
}

func (r *roster) avoided(address int, now time.Time) bool {
	return now.Before(r.addresses[address].avoidUntil)
}

// limit is how long a try at an address may take.
func (r *roster) limit(address int) time.Duration {
	if a := r.addresses[address]; !a.answered || a.timedOut {
		return tryLimitUnknown
	}
	return tryLimit
}

// note takes in how a try ended.
func (r *roster) note(address int, result TryResult, now time.Time) {
	a := &r.addresses[address]
	switch result.Cause {
	case CauseAnswer:
		a.answered, a.timedOut, a.avoidUntil = true, false, time.Time{}
	case CauseTimeout:
		a.timedOut, a.avoidUntil = true, now.Add(avoidFor)
	case CauseRefused, CauseReset:
		a.timedOut = false // it ended at once: nothing to be afraid of
	}
	switch {
	case result.Outcome == TryAcked, result.Unregistered: // only a primary knows that
		r.want = address
	case result.Hint >= 0 && result.Hint < len(r.addresses):
		r.want = result.Hint
	}
}

// pause is how long to wait before the next try, jittered so that producers do not come back together.
func (r *roster) pause() time.Duration {
	return backoff/2 + time.Duration(r.random.next()%uint64(backoff))
}
