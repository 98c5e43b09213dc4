package loadgen

import (
	"errors"
	"slices"
	"testing"
	"time"
)

var errTest = errors.New("as asked")

// answers that a roster can be told of
func notPrimary(hint int) TryResult {
	r := NotAcked(TryNotAppended, CauseAnswer, errTest)
	r.Hint = hint
	return r
}

var (
	timedOut   = NotAcked(TryUnknown, CauseTimeout, errTest)
	wasRefused = NotAcked(TryNotAppended, CauseRefused, errTest)
	wasReset   = NotAcked(TryUnknown, CauseReset, errTest)
	busy       = NotAcked(TryNotAppended, CauseAnswer, errTest)
	acked      = Acked(0)
)

// walk asks a roster for one address after another, with a scripted answer of each.
func walk(r *roster, now time.Time, answer func(address int) TryResult, tries int) (asked []int) {
	for range tries {
		address := r.next(now)
		asked = append(asked, address)
		result := answer(address)
		r.note(address, result, now)
		if result.Outcome == TryAcked {
			break
		}
		now = now.Add(backoff)
	}
	return asked
}

func TestRosterOrder(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer []TryResult // by address
		want   []int
	}{
		{"success stays", []TryResult{acked, busy, busy}, []int{0}},
		{"the hint goes first", []TryResult{notPrimary(2), busy, acked}, []int{0, 2}},
		{"without a hint in order", []TryResult{notPrimary(NoHint), notPrimary(NoHint), acked}, []int{0, 1, 2}},
		{"round again", []TryResult{busy, busy, busy}, []int{0, 1, 2, 0, 1, 2, 0}},
		{"a dead address is passed by", []TryResult{wasRefused, wasRefused, acked}, []int{0, 1, 2}},
		{"a cut one too", []TryResult{wasReset, acked, busy}, []int{0, 1}},
		{"a primary that is not ready is stayed with", []TryResult{notPrimary(0), busy, busy}, []int{0, 0, 0, 0, 1, 2, 0}},
		{"two that point at each other do not hide the third", []TryResult{notPrimary(1), notPrimary(0), acked}, []int{0, 1, 0, 1, 0, 2}},
		{"a hint at nobody is no hint", []TryResult{notPrimary(17), acked, busy}, []int{0, 1}},
		{"one that timed out is asked last", []TryResult{timedOut, notPrimary(0), notPrimary(0)}, []int{0, 1, 2, 1, 2, 0, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRoster(3, 0, 1)
			r.begin()
			got := walk(r, time.Unix(100, 0), func(address int) TryResult { return c.answer[address] }, len(c.want))
			if !slices.Equal(got, c.want) {
				t.Errorf("asked %v, want %v", got, c.want)
			}
		})
	}
}

func TestRosterLimits(t *testing.T) {
	now := time.Unix(100, 0)
	r := newRoster(2, 0, 1)
	step := func(what string, result TryResult, want time.Duration) {
		t.Helper()
		r.note(0, result, now)
		if got := r.limit(0); got != want {
			t.Errorf("%s: limit %v, want %v", what, got, want)
		}
	}
	if r.limit(0) != tryLimitUnknown {
		t.Error("an address that never answered gets the long limit")
	}
	step("after a refused connection", wasRefused, tryLimitUnknown)
	step("after an answer", busy, tryLimit)
	step("after a reset", wasReset, tryLimit)
	step("after a timeout", timedOut, tryLimitUnknown)
	step("after an answer again", acked, tryLimit)
	if r.limit(1) != tryLimitUnknown {
		t.Error("one address's answer counts for another")
	}
}

func TestRosterAvoidsForTenSeconds(t *testing.T) {
	start := time.Unix(100, 0)
	first := func(at time.Time) int {
		r := newRoster(2, 0, 1)
		r.note(0, timedOut, start)
		r.note(1, notPrimary(0), start)
		r.begin()
		return r.next(at)
	}
	if got := first(start.Add(avoidFor - time.Millisecond)); got != 1 {
		t.Errorf("asked %d first while 0 is to be avoided", got)
	}
	if got := first(start.Add(avoidFor)); got != 0 {
		t.Errorf("asked %d first when the hint's address is to be avoided no more", got)
	}
}

// C8: producers do not come back on the same tick.
func TestRosterPausesDiffer(t *testing.T) {
	seen := map[time.Duration]bool{}
	for seed := range uint64(100) {
		pause := newRoster(3, 0, seed).pause()
		if pause < backoff/2 || pause >= backoff*3/2 {
			t.Fatalf("pause %v, want %v to %v", pause, backoff/2, backoff*3/2)
		}
		seen[pause.Truncate(time.Millisecond)] = true
	}
	if len(seen) < 15 {
		t.Errorf("100 producers pause for only %d different milliseconds of 20", len(seen))
	}
}
