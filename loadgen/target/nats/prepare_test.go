package nats

import (
	"testing"

	"rejoin/loadgen"
	"rejoin/loadgen/targettest"
)

// BenchmarkPrepare is what a try makes of a batch of 100 messages of 256 bytes before it publishes them one by one: time that is measured as latency.
func BenchmarkPrepare(b *testing.B) {
	batch := targettest.Batch(100, 256)
	p := newProducer(&Target{}, loadgen.ProducerOptions{})
	for request := uint64(1); b.Loop(); request++ {
		p.fill(loadgen.Attempt{Request: request, Batch: batch})
	}
}
