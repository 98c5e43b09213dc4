package scaling

import (
	"strings"
	"testing"
)

// TestBend: the place behind which twice as much never brings a quarter more again, with what was full there, and each fall.
func TestBend(t *testing.T) {
	at := func(x int, rate float64, busy float64) Measured {
		return Measured{X: x, MessagesPerS: rate, BytesPerS: 1, BusyShare: &busy, BatchesPerSync: new(4.0)}
	}
	for _, test := range []struct {
		points []Measured
		want   []string
		not    string
	}{
		{[]Measured{at(1, 100, 0.2), at(2, 190, 0.3), at(4, 360, 0.5)}, []string{"does not bend"}, "falls"},
		{[]Measured{at(1, 100, 0.2), at(4, 390, 0.5), at(16, 450, 0.97), at(64, 460, 0.98)}, []string{"It bends at 4: 16 bring 1.15 times the messages a second of 4.", "All cores were busy (97 %), 4.0 batches share a sync"}, "falls"},
		{[]Measured{at(1, 100, 0.2), at(2, 105, 0.4), at(4, 190, 0.5), at(16, 200, 0.9)}, []string{"It bends at 4: 16 bring 1.05"}, "at 1"}, // a flat step on the way up
		{[]Measured{at(1, 100, 0.2), at(2, 105, 0.4), at(4, 50, 0.5)}, []string{"It bends at 1", "40 % busy", "it waited for disk", "It falls from 2 to 4, to 0.48."}, "does not bend"},
	} {
		got := bend(test.points, Messages)
		for _, want := range test.want {
			if !strings.Contains(got, want) {
				t.Errorf("%q lacks %q", got, want)
			}
		}
		if strings.Contains(got, test.not) {
			t.Errorf("%q says %q", got, test.not)
		}
	}
}
