package main

import (
	"errors"
	"fmt"
	"math"
	"time"

	"rejoin/loadgen"
)

// LoadStep is a stretch of the load: at one rate, or from one to another in a straight line.
type LoadStep struct {
	For          duration `yaml:"for"`
	MessagesPerS *int     `yaml:"messages_per_s,omitempty"`
	From         *int     `yaml:"from,omitempty"` // messages a second, with To
	To           *int     `yaml:"to,omitempty"`
}

// settleLoad makes one of the two ways to state a load of what a file says, which given can ask.
func (s *Scenario) settleLoad(given func(field string) bool) error {
	if s.ClosedLoop {
		for _, field := range []string{"messages_per_s", "load", "arrival"} {
			if given(field) {
				return refuseField(field, "in a closed loop nothing is due: each producer sends at the answer to the batch before; leave one of them out")
			}
		}
		s.MessagesPerS = 0
	}
	if len(s.Load) == 0 {
		if given("load") {
			return refuseField("load", "there is no step in it; leave it out or name one")
		}
		return nil
	}
	for _, field := range []string{"messages_per_s", "duration"} {
		if given(field) {
			return refuseField(field, "the steps of load say it already; leave one of them out")
		}
	}
	s.MessagesPerS, s.Duration = 0, 0
	for _, step := range s.Load {
		s.Duration += step.For
	}
	return nil
}

// rates of a step at its begin and end.
func (l LoadStep) rates() (from, to int) {
	if l.MessagesPerS != nil {
		return *l.MessagesPerS, *l.MessagesPerS
	}
	return *l.From, *l.To
}

func (l LoadStep) validate() error {
	switch {
	case l.For <= 0:
		return refuseField("for", "a step of %v; pass more than 0", l.For)
	case l.MessagesPerS != nil && (l.From != nil || l.To != nil):
		return errors.New("messages_per_s is one rate, from and to are a ramp; say one of them")
	case l.MessagesPerS == nil && (l.From == nil || l.To == nil):
		return errors.New("say messages_per_s, or from and to")
	}
	for field, rate := range map[string]*int{"messages_per_s": l.MessagesPerS, "from": l.From, "to": l.To} {
		if rate != nil && (*rate < 0 || *rate > messagesPerSMax) {
			return refuseField(field, "%d messages a second; pass 0 to %d", *rate, messagesPerSMax)
		}
	}
	return nil
}

// steps are the load as the generator takes it; nil for one constant rate.
func (s Scenario) steps() []loadgen.RateStep {
	var all []loadgen.RateStep
	for _, l := range s.Load {
		from, to := l.rates()
		all = append(all, loadgen.RateStep{Length: time.Duration(l.For), From: from, To: to})
	}
	return all
}

func (s Scenario) timetable() loadgen.Timetable {
	return loadgen.Timetable{Producers: s.Producers, BatchMessages: s.BatchMessages, RatePerS: s.MessagesPerS,
		Duration: time.Duration(s.Duration), Steps: s.steps(), Arrival: s.Arrival}
}

// batchesOffered is how many batches are due in a stretch of the load, since its start; with Poisson arrivals the expected number.
func (s Scenario) batchesOffered(from, to time.Duration) float64 {
	if s.ClosedLoop {
		return closedLoopPerSMax * (to - from).Seconds()
	}
	table := s.timetable()
	return float64(table.DueBy(to)) - float64(table.DueBy(from))
}

// closedLoopPerSMax is what a closed loop is taken to reach at most, in batches a second: beyond what one disk has been seen to do.
const closedLoopPerSMax = 15_000

// saturates says that the load is more than the target can take, or as much: how late a batch is then is a matter of the target.
func (s Scenario) saturates() bool { return s.Overload || s.ClosedLoop }

// batchesPerS is the offered rate in batches, of a changing load its mean, of a closed loop 0.
func (s Scenario) batchesPerS() float64 {
	if s.ClosedLoop {
		return 0
	}
	if len(s.Load) == 0 {
		return float64(s.MessagesPerS) / float64(s.BatchMessages)
	}
	return s.batchesOffered(0, time.Duration(s.Duration)) / time.Duration(s.Duration).Seconds()
}

// peakPerS is the highest rate in messages.
func (s Scenario) peakPerS() int {
	if s.ClosedLoop {
		return closedLoopPerSMax * s.BatchMessages
	}
	peak := s.MessagesPerS
	for _, l := range s.Load {
		from, to := l.rates()
		peak = max(peak, from, to)
	}
	return peak
}

// shape gives the generator's options what the scenario says of rate, arrivals and messages. The rate is a constant one beside steps; see
// loadgen.Options.
func (s Scenario) shape(o loadgen.Options) loadgen.Options {
	o.Producers, o.BatchMessages, o.MessageBytes = s.Producers, s.BatchMessages, s.PayloadBytes
	o.ClosedLoop = s.ClosedLoop
	o.RatePerS, o.Duration, o.Steps, o.Arrival = s.MessagesPerS, time.Duration(s.Duration), s.steps(), s.Arrival
	p := s.Payload
	o.MessageBytesMax, o.Sizes, o.CompressedShare = p.BytesMax, p.Sizes, p.CompressedShare
	o.Keys, o.KeyDistribution, o.ZipfExponent = p.Keys, p.KeyDistribution, p.ZipfExponent
	return o
}

// Limits of the load generator: what its timetable can express, the head of its payloads, and what it keeps of each batch in memory.
const (
	messagesPerSMax = 1_000_000_000
	payloadBytesMin = 40
	payloadBytesMax = 1 << 20
	batchesMax      = 100_000_000 // loadgen.MeasureBytes of each; memoryNeeded is what all of them take
	loadStepsMax    = 1000
)

// validateLoad holds rate and sizes against what can be offered and what a log takes.
func (s Scenario) validateLoad() error {
	if len(s.Load) > loadStepsMax {
		return refuseField("load", "%d steps; pass at most %d", len(s.Load), loadStepsMax)
	}
	for i, step := range s.Load {
		if err := step.validate(); err != nil {
			return within(fmt.Sprintf("load[%d]", i), err)
		}
	}
	rateField := "messages_per_s"
	if len(s.Load) > 0 {
		rateField = "load"
	}
	peak := s.peakPerS()
	if s.ClosedLoop {
		return s.validatePayload()
	}
	if peak > messagesPerSMax {
		return refuseField(rateField, "%d messages a second are more than can be offered; pass a rate of at most %d", peak, messagesPerSMax)
	}
	if least := s.Producers * s.BatchMessages; peak < least {
		return refuseField(rateField, "%d messages a second are less than one batch of %d messages a second for each of %d producers; pass a rate of at least %d, or smaller batches or fewer producers",
			peak, s.BatchMessages, s.Producers, least)
	}
	if time.Duration(s.Duration) > scenarioTimeMax {
		return refuseField("load", "the steps last %v together; pass at most 7 days", s.Duration)
	}
	if batches := s.batchesOffered(0, time.Duration(s.Duration)); batches > batchesMax {
		return refuseField(rateField, "%.0f batches are due in %v, and the harness keeps what became of each in memory; pass a lower rate, a shorter load or larger batches for at most %d",
			batches, s.Duration, batchesMax)
	}
	if s.Arrival != loadgen.ArrivalSpread && s.Arrival != loadgen.ArrivalPoisson {
		return refuseField("arrival", "%q; pass %s or %s", s.Arrival, loadgen.ArrivalSpread, loadgen.ArrivalPoisson)
	}
	return s.validatePayload()
}

func (s Scenario) validatePayload() error {
	p := s.Payload
	switch {
	case s.PayloadBytes < payloadBytesMin || s.PayloadBytes > payloadBytesMax:
		return refuseField("payload_bytes", "%d; pass %d to %d: a payload says whose it is", s.PayloadBytes, payloadBytesMin, payloadBytesMax)
	case s.Cluster.BatchMessages > 0 && s.BatchMessages > s.Cluster.BatchMessages:
		return refuseField("batch_messages", "%d; cluster.batch_messages lets a node take %d at most", s.BatchMessages, s.Cluster.BatchMessages)
	case p.BytesMax != 0 && (p.BytesMax < s.PayloadBytes || p.BytesMax > payloadBytesMax):
		return refuseField("payload.bytes_max", "%d; pass payload_bytes (%d) to %d", p.BytesMax, s.PayloadBytes, payloadBytesMax)
	case !(p.CompressedShare > 0 && p.CompressedShare <= 1):
		return refuseField("payload.compressed_share", "%v is no share; pass more than 0 and at most 1, which is incompressible", p.CompressedShare)
	case p.Keys < 0 || p.Keys > 1<<40:
		return refuseField("payload.keys", "%d; pass 0 to %d", p.Keys, int64(1)<<40)
	case p.Keys > 0 && s.PayloadBytes < payloadBytesMin+8:
		return refuseField("payload_bytes", "%d have no room for a key; pass at least %d", s.PayloadBytes, payloadBytesMin+8)
	case !(p.ZipfExponent > 1 && p.ZipfExponent <= 10) || math.IsNaN(p.ZipfExponent):
		return refuseField("payload.zipf_exponent", "%v; pass more than 1 and at most 10", p.ZipfExponent)
	}
	for field, d := range map[string]loadgen.Distribution{"payload.sizes": p.Sizes, "payload.key_distribution": p.KeyDistribution} {
		if d != loadgen.DistributionUniform && d != loadgen.DistributionZipf {
			return refuseField(field, "%q; pass %s or %s", d, loadgen.DistributionUniform, loadgen.DistributionZipf)
		}
	}
	if body, most := bodyBytesOf(s.BatchMessages, s.payloadBytesMost()), s.bodyBytesMax(); body > most {
		return refuseField("payload_bytes", "batch_messages x payload_bytes, %d x %d, make a batch of %d bytes with the head of each message; a batch holds at most %d",
			s.BatchMessages, s.payloadBytesMost(), body, most)
	}
	return nil
}

// payloadBytesMost is the size of the largest message.
func (s Scenario) payloadBytesMost() int { return max(s.PayloadBytes, s.Payload.BytesMax) }
