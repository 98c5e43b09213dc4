package kafka

import (
	"testing"

	"rejoin/loadgen"
	"rejoin/loadgen/targettest"
)

// BenchmarkPrepare is what a try makes of a batch of 100 messages of 256 bytes before it sends it: time that is measured as latency.
func BenchmarkPrepare(b *testing.B) {
	batch := targettest.Batch(100, 256)
	p := &producer{id: 1}
	for request := uint64(1); b.Loop(); request++ {
		if err := p.take(loadgen.Attempt{Request: request, Batch: batch}); err != nil {
			b.Fatal(err)
		}
	}
}
