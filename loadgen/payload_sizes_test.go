package loadgen

import (
	"bytes"
	"compress/zlib"
	"math"
	"testing"
)

func poolOf(t *testing.T, o PayloadOptions) *PayloadPool {
	t.Helper()
	o.RunID, o.Seed, o.BatchMessages = 7, 42, 100
	if o.CompressedShare == 0 {
		o.CompressedShare = 1
	}
	pool, err := NewPayloadPool(o)
	if err != nil {
		t.Fatal(err)
	}
	return pool
}

func TestSizesFollowTheirDistribution(t *testing.T) {
	for _, test := range []struct {
		sizes          Distribution
		meanLow, meanH float64
	}{{DistributionUniform, 1130, 1170}, {DistributionZipf, 200, 700}} {
		payload := poolOf(t, PayloadOptions{MessageBytes: 100, MessageBytesMax: 2200, Sizes: test.sizes}).NewPayload(3)
		count, sum, smallest, largest := 0, 0, math.MaxInt, 0
		for sequence := range uint64(300) {
			inBatch := 0
			for _, m := range payload.Fill(sequence).Messages {
				if _, ours, intact := ParseMessage(m); !ours || !intact {
					t.Fatalf("%s: batch %d: a message of %d bytes does not parse", test.sizes, sequence, len(m))
				}
				count, inBatch = count+1, inBatch+len(m)
				smallest, largest = min(smallest, len(m)), max(largest, len(m))
			}
			if sum += inBatch; payload.Bytes() != inBatch {
				t.Fatalf("batch %d has %d bytes, Bytes says %d", sequence, inBatch, payload.Bytes())
			}
		}
		if mean := float64(sum) / float64(count); mean < test.meanLow || mean > test.meanH {
			t.Errorf("%s: mean size %.0f, want %.0f to %.0f", test.sizes, mean, test.meanLow, test.meanH)
		}
		if smallest < 100 || smallest > 110 || largest > 2200 || largest < 2000 {
			t.Errorf("%s: sizes from %d to %d, want all of 100 to 2200", test.sizes, smallest, largest)
		}
	}
}

func TestKeysFollowTheirDistribution(t *testing.T) {
	const keys = 1000
	for d, share := range map[Distribution][2]float64{DistributionUniform: {0.0005, 0.002}, DistributionZipf: {0.15, 0.3}} {
		payload := poolOf(t, PayloadOptions{MessageBytes: 64, Keys: keys, KeyDistribution: d}).NewPayload(0)
		seen := map[uint64]int{}
		for sequence := range uint64(200) {
			for _, m := range payload.Fill(sequence).Messages {
				key, ok := KeyOf(m)
				if !ok || key >= keys {
					t.Fatalf("%s: key %d of %d (%v)", d, key, keys, ok)
				}
				seen[key]++
			}
		}
		if got := float64(seen[0]) / 20_000; got < share[0] || got > share[1] {
			t.Errorf("%s: the first key has %.4f of the messages, want %v", d, got, share)
		}
	}
}

func TestMixedBatchesAreAFunctionOfTheSeed(t *testing.T) {
	o := PayloadOptions{MessageBytes: 64, MessageBytesMax: 300, Sizes: DistributionZipf, Keys: 50, KeyDistribution: DistributionZipf}
	a, b := poolOf(t, o).NewPayload(1), poolOf(t, o).NewPayload(1)
	first := bytes.Join(a.Fill(8).Messages, nil)
	a.Fill(9)
	if !bytes.Equal(first, bytes.Join(a.Fill(8).Messages, nil)) || !bytes.Equal(first, bytes.Join(b.Fill(8).Messages, nil)) {
		t.Error("the same batch came out differently")
	}
	sequence := uint64(0)
	if n := testing.AllocsPerRun(100, func() { a.Fill(sequence); sequence++ }); n != 0 {
		t.Errorf("%.1f allocations a batch, want 0", n)
	}
}

// What travels, heads and sums included, compresses no worse and not much better than the filler is said to.
func TestBatchesCompressAsStated(t *testing.T) {
	if testing.Short() {
		t.Skip("much arithmetic and nothing at once: the race detector has nothing to find")
	}
	for _, share := range []float64{0.3, 0.5, 1} {
		payload := poolOf(t, PayloadOptions{MessageBytes: 2048, CompressedShare: share}).NewPayload(0)
		var out bytes.Buffer
		w := zlib.NewWriter(&out)
		in := 0
		for sequence := range uint64(10) {
			for _, m := range payload.Fill(sequence).Messages {
				n, _ := w.Write(m)
				in += n
			}
		}
		w.Close()
		if got := float64(out.Len()) / float64(in); math.Abs(got-share) > 0.05 {
			t.Errorf("zlib leaves %.3f of the batches, %.3f is stated", got, share)
		}
	}
}

func TestSizesAndKeysAreRefused(t *testing.T) {
	for name, o := range map[string]PayloadOptions{
		"no such sizes":   {MessageBytes: 64, MessageBytesMax: 99, Sizes: "normal"},
		"no such keys":    {MessageBytes: 64, Keys: 3, KeyDistribution: "hot"},
		"no room for key": {MessageBytes: messageBytesMin, Keys: 3},
		"negative keys":   {MessageBytes: 64, Keys: -1},
		"exponent 1":      {MessageBytes: 64, Keys: 5, KeyDistribution: DistributionZipf, ZipfExponent: 1},
		"exponent NaN":    {MessageBytes: 64, Keys: 5, KeyDistribution: DistributionZipf, ZipfExponent: math.NaN()},
		"too large":       {MessageBytes: 64, MessageBytesMax: messageBytesMax + 1},
	} {
		o.BatchMessages, o.CompressedShare = 1, 1
		if _, err := NewPayloadPool(o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
