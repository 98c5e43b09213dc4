package targettest

import "rejoin/loadgen"

// Batch is one of so many messages, each of so many bytes, for benchmarks of what an adapter makes of it.
func Batch(messages, bytes int) *loadgen.Batch {
	b := &loadgen.Batch{Messages: make([][]byte, messages)}
	for i := range b.Messages {
		b.Messages[i] = make([]byte, bytes)
	}
	return b
}
