package loadgen

import (
	"fmt"
	"math"
	"time"
)

// RateStep is a stretch of the load: the rate goes from one value to the other in a straight line, or stays if both are the same. A step
// of 0 to 0 is a pause.
type RateStep struct {
	Length   time.Duration
	From, To int // messages a second, all producers together
}

// rateStepsMax bounds the work of finding a step.
const rateStepsMax = 1000

// rateProfile answers how many messages are due by a time, and when a message is due. It is the integral of the rate and its inverse, so
// that every due time follows from the steps alone and is known before the load begins.
type rateProfile struct {
	pieces   []ratePiece
	messages float64 // of the whole profile
}

// ratePiece is one step with what came before it.
type ratePiece struct {
	begin    time.Duration
	length   float64 // s
	before   float64 // messages due before the step
	messages float64 // due within it
	rate     float64 // at its begin
	slope    float64 // messages a second and second
}

func newRateProfile(steps []RateStep) *rateProfile {
	p := &rateProfile{}
	begin := time.Duration(0)
	for _, s := range steps {
		length := s.Length.Seconds()
		from, to := float64(s.From), float64(s.To)
		piece := ratePiece{begin: begin, length: length, before: p.messages, messages: (from + to) / 2 * length, rate: from, slope: (to - from) / length}
		p.pieces = append(p.pieces, piece)
		p.messages += piece.messages
		begin += s.Length
	}
	return p
}

// dueBy is how many messages are due before a time since the start, with the part of one that is on its way.
func (p *rateProfile) dueBy(since time.Duration) float64 {
	due := 0.0
	for _, piece := range p.pieces {
		if since <= piece.begin {
			break
		}
		t := min((since - piece.begin).Seconds(), piece.length)
		due = piece.before + piece.rate*t + piece.slope*t*t/2
	}
	return due
}

// at is when so many messages are due; false if the profile holds fewer.
func (p *rateProfile) at(messages float64) (time.Duration, bool) {
	if messages >= p.messages {
		return 0, false
	}
	for _, piece := range p.pieces {
		if inside := messages - piece.before; inside < piece.messages {
			// The root of slope/2 t² + rate t = inside, in the form that does not cancel where slope is near 0.
			t := 2 * inside / (piece.rate + math.Sqrt(piece.rate*piece.rate+2*piece.slope*inside))
			if inside <= 0 {
				t = 0
			}
			return piece.begin + time.Duration(min(t, piece.length)*float64(time.Second)), true
		}
	}
	return 0, false
}

// validateSteps holds a profile against what a timetable can express.
func validateSteps(steps []RateStep) error {
	if len(steps) > rateStepsMax {
		return fmt.Errorf("loadgen: %d steps of the rate: pass at most %d", len(steps), rateStepsMax)
	}
	var sum time.Duration
	any := false
	for i, s := range steps {
		switch {
		case s.Length <= 0 || s.Length > durationMax:
			return fmt.Errorf("loadgen: step %d lasts %v: pass more than 0 and at most 7 days", i+1, s.Length)
		case s.From < 0 || s.To < 0 || s.From > ratePerSMax || s.To > ratePerSMax:
			return fmt.Errorf("loadgen: step %d goes from %d to %d messages a second: pass 0 to %d", i+1, s.From, s.To, ratePerSMax)
		}
		sum += s.Length
		if sum > durationMax {
			return fmt.Errorf("loadgen: the steps last more than 7 days together")
		}
		any = any || s.From+s.To > 0
	}
	if !any {
		return fmt.Errorf("loadgen: the rate of every step is 0")
	}
	return nil
}
