package vsr

import "testing"

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
