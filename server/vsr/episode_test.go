package vsr

import (
	"slices"
	"testing"
)

// TestCannotKeepUp: whose gap hardly shrinks for three rounds says so, be they rounds of one transfer or transfers
// that follow one another at once, and again after three more.
func TestCannotKeepUp(t *testing.T) {
	for name, next := range map[string]func(r *Replica){
		"rounds":            func(*Replica) {},
		"transfers":         func(r *Replica) { r.endEpisode() },
		"one a while later": func(r *Replica) { r.endEpisode(); r.tick++ },
	} {
		r, from := &Replica{tick: 7}, uint64(1)
		told := 0
		for round := range uint64(7) { // the first, and twice three that are hardly smaller
			size := 100 - 5*round
			r.beginEpisode(true, from, from+size-1, 1)
			from += size
			next(r)
		}
		for _, e := range r.out {
			if e.Event.Kind == EventCannotKeepUp {
				told++
			}
		}
		want := 2
		if name == "one a while later" { // each is an outage of its own
			want = 0
		}
		if told != want {
			t.Errorf("%s: told %d times, want %d", name, told, want)
		}
	}
}

// TestWhoGainsKeepsUp: whose gap shrinks for good says nothing, be it by less than a quarter in each round or with one
// round in between that was larger than the one before.
func TestWhoGainsKeepsUp(t *testing.T) {
	for name, sizes := range map[string][]uint64{
		"a fifth less each time":    {1000, 760, 580, 440, 350, 280, 220},
		"hardly less, then by half": {1000, 950, 900, 450, 440, 430, 225},
		"a larger one in between":   {1000, 500, 600, 300, 150, 75, 80},
		"shrinks, then one more":    {1000, 995, 990},
	} {
		for _, bulk := range []bool{true, false} {
			r, from := &Replica{tick: 7}, uint64(1)
			for _, size := range sizes {
				r.beginEpisode(bulk, from, from+size-1, 1)
				from += size
			}
			for _, e := range r.out {
				if e.Event.Kind == EventCannotKeepUp {
					t.Errorf("%s, bulk %v: told in a round of ops %d..%d", name, bulk, e.Event.FromOp, e.Event.ToOp)
				}
			}
		}
	}
}

// TestWhoFallsBehindSaysSo: a gap that has grown over two rounds is told of without a third.
func TestWhoFallsBehindSaysSo(t *testing.T) {
	r, from, told := &Replica{tick: 7}, uint64(1), []uint64(nil)
	for _, size := range []uint64{39, 43, 54, 9} {
		r.beginEpisode(true, from, from+size-1, 1)
		r.endEpisode()
		from += size
	}
	for _, e := range r.out {
		if e.Event.Kind == EventCannotKeepUp {
			told = append(told, e.Event.ToOp+1-e.Event.FromOp)
		}
	}
	if !slices.Equal(told, []uint64{54}) {
		t.Errorf("told with gaps of %d ops, want 54", told)
	}
}
