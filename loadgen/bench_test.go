package loadgen_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"rejoin/loadgen"
	"rejoin/loadgen/target/memory"
)

// BenchmarkGenerator is the generator's own ceiling: everything is due at once, and the target answers
// at once and keeps nothing. An op is a batch of 100 messages of 256 bytes; 1 / (ns/op) is the rate
// above which the generator, not the target, would be measured.
func BenchmarkGenerator(b *testing.B) {
	dir := b.TempDir()
	target := memory.New(memory.Options{Discard: true})
	b.ReportAllocs()
	outcome, err := loadgen.Run(context.Background(), loadgen.Options{Target: target, LedgerDir: filepath.Join(dir, fmt.Sprint(b.N)),
		RatePerS: 1e9, Duration: time.Duration(b.N) * 100, Budget: time.Hour, DrainBudget: time.Hour, OvershootSamples: -1})
	if err != nil {
		b.Fatal(err)
	}
	m, err := loadgen.Measure(outcome.Ledgers)
	if err != nil || m.Counts.OK != int64(b.N) {
		b.Fatalf("%+v, err %v", m.Counts, err)
	}
}

// generated is a replica that holds the batches of one producer, made as they are read.
type generated struct {
	pool    *loadgen.PayloadPool
	batches int
}

func (g generated) Replicas() []string { return []string{"r0", "r1", "r2"} }

func (g generated) ReadReplica(_ context.Context, _ string, yield func(loadgen.ReadBatch) error) (loadgen.ReadEnd, error) {
	payload := g.pool.NewPayload(0)
	for i := range uint64(g.batches) {
		if err := yield(loadgen.ReadBatch{BaseOffset: i * 100, Identity: i, Messages: payload.Fill(i).Messages}); err != nil {
			return loadgen.ReadEnd{}, err
		}
	}
	return loadgen.ReadEnd{EndOffset: uint64(g.batches) * 100}, nil
}

// BenchmarkVerify holds three replicas against a ledger. An op is one batch of 100 messages on all
// three, their making included; heap-B/batch is what the verifier keeps of it. -benchtime 100000x is
// 10,000,000 messages.
func BenchmarkVerify(b *testing.B) {
	pool, err := loadgen.NewPayloadPool(loadgen.PayloadOptions{RunID: 1, BatchMessages: 100, MessageBytes: 256, CompressedShare: 1})
	if err != nil {
		b.Fatal(err)
	}
	path := loadgen.LedgerPath(b.TempDir(), 0)
	ledger, err := loadgen.CreateLedger(path, loadgen.LedgerHead{RunID: 1, Producers: 1, BatchMessages: 100, MessageBytes: 256})
	if err != nil {
		b.Fatal(err)
	}
	for i := range b.N {
		if err := ledger.Append(loadgen.Record{Sequence: uint64(i), Tries: 1, Outcome: loadgen.OutcomeOK, Offset: uint64(i) * 100}); err != nil {
			b.Fatal(err)
		}
	}
	if err := ledger.Close(); err != nil {
		b.Fatal(err)
	}
	before := heapBytes()
	b.ReportAllocs()
	b.ResetTimer()
	verifier, err := loadgen.NewVerifier(loadgen.VerifyOptions{Ledgers: []string{path}})
	if err != nil {
		b.Fatal(err)
	}
	source := generated{pool, b.N}
	for _, replica := range source.Replicas() {
		verifier.Read(context.Background(), source, replica)
	}
	report := verifier.Finish()
	b.StopTimer()
	b.ReportMetric(float64(heapBytes()-before)/float64(b.N), "heap-B/batch")
	runtime.KeepAlive(verifier)
	if report.Verdict != loadgen.VerifyPass {
		b.Fatalf("%s: %q", report.Verdict, report.Reasons)
	}
}

func heapBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
