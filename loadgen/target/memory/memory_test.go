package memory_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rejoin/loadgen"
	"rejoin/loadgen/target/memory"
	"rejoin/loadgen/targettest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	targettest.Run(t, func(t *testing.T) targettest.System {
		target := memory.New(memory.Options{})
		t.Cleanup(func() { target.Close() })
		return targettest.System{
			Target:   target,
			Sessions: true,
			Evict:    target.EvictAll,
			Freeze:   func(address int) { target.SetAddress(address, memory.AddressHangs) },
			Refuse:   func(address int) { target.SetAddress(address, memory.AddressRefuses) },
		}
	})
}

func TestDiscardRefusesToRead(t *testing.T) {
	target := memory.New(memory.Options{Discard: true})
	_, err := target.ReadReplica(t.Context(), "m0", func(loadgen.ReadBatch) error { return nil })
	if !errors.Is(err, memory.ErrDiscarded) {
		t.Fatalf("err %v, want ErrDiscarded: an empty log would pass for lost", err)
	}
}

// BenchmarkTry is what the reference target itself costs a batch, which bounds what it can tell of
// the generator.
func BenchmarkTry(b *testing.B) {
	target := memory.New(memory.Options{Discard: true})
	p, err := target.OpenProducer(context.Background(), loadgen.ProducerOptions{})
	if err != nil {
		b.Fatal(err)
	}
	pool, err := loadgen.NewPayloadPool(loadgen.PayloadOptions{BatchMessages: 100, MessageBytes: 256, CompressedShare: 1})
	if err != nil {
		b.Fatal(err)
	}
	payload := pool.NewPayload(0)
	far := time.Now().Add(time.Hour)
	p.Register(0, far)
	b.ReportAllocs()
	for i := range uint64(b.N) {
		p.Try(loadgen.Attempt{Request: i + 1, Batch: payload.Fill(i), Deadline: far})
	}
}
