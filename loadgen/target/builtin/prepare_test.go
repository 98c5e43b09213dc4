package builtin

import (
	"testing"

	"rejoin/loadgen"
	"rejoin/server/wire"
)

// BenchmarkPrepare is what a try makes of a batch of 100 messages of 256 bytes before it sends it: time that is measured as latency. The messages
// were written into the frame before the batch was due.
func BenchmarkPrepare(b *testing.B) {
	const messages, bytes = 100, 256
	body := messages * (wire.MessagePrefixBytes + bytes)
	p := &producer{frame: make([]byte, wire.HeaderBytes, wire.HeaderBytes+body), session: 1}
	p.client.Lo = 1
	p.lay(messages, bytes)
	batch := &loadgen.Batch{Messages: p.Places()}
	for request := uint64(1); b.Loop(); request++ {
		batch.Sequence = request
		p.encode(loadgen.Attempt{Request: request, Batch: batch})
	}
}
