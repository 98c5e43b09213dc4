package loadgen

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"math"
	"testing"
)

func testPool(t testing.TB, share float64) *PayloadPool {
	t.Helper()
	pool, err := NewPayloadPool(PayloadOptions{RunID: 7, Seed: 42, BatchMessages: 100, MessageBytes: 256, CompressedShare: share})
	if err != nil {
		t.Fatal(err)
	}
	return pool
}

func TestPayloadSaysWhoItIs(t *testing.T) {
	payload := testPool(t, 1).NewPayload(11)
	for _, sequence := range []uint64{0, 1, 108_000, math.MaxUint64} {
		batch := payload.Fill(sequence)
		for i, m := range batch.Messages {
			id, ours, intact := ParseMessage(m)
			want := MessageID{RunID: 7, Producer: 11, Sequence: sequence, Index: i, Count: 100}
			if id != want || !ours || !intact || len(m) != 256 {
				t.Fatalf("message %d of batch %d: %+v ours=%v intact=%v, want %+v", i, sequence, id, ours, intact, want)
			}
		}
	}
}

func TestPayloadEveryBitFlipIsSeen(t *testing.T) {
	message := testPool(t, 1).NewPayload(3).Fill(5).Messages[9]
	for bit := range len(message) * 8 {
		message[bit/8] ^= 1 << (bit % 8)
		if _, _, intact := ParseMessage(message); intact {
			t.Fatalf("bit %d flipped and the message still passes", bit)
		}
		message[bit/8] ^= 1 << (bit % 8)
	}
	for n := range len(message) {
		if _, _, intact := ParseMessage(message[:n]); intact {
			t.Fatalf("the first %d bytes pass as a message", n)
		}
	}
}

func TestPayloadIsAFunctionOfSeedProducerSequence(t *testing.T) {
	a, b := testPool(t, 1).NewPayload(1), testPool(t, 1).NewPayload(1)
	first := bytes.Clone(a.Fill(8).Messages[50])
	a.Fill(9)
	if !bytes.Equal(first, b.Fill(8).Messages[50]) || !bytes.Equal(first, a.Fill(8).Messages[50]) {
		t.Fatal("the same batch came out differently")
	}
	if bytes.Equal(first[messageHeadBytes:], testPool(t, 1).NewPayload(2).Fill(8).Messages[50][messageHeadBytes:]) {
		t.Fatal("two producers send the same filler")
	}
}

// TestPayloadRepeatsNothingInABatch: no two messages of a batch have filler in common, also where it goes on at the beginning of the pool.
func TestPayloadRepeatsNothingInABatch(t *testing.T) {
	payload := testPool(t, 1).NewPayload(2)
	for sequence := range uint64(200) {
		seen := map[string]bool{}
		for _, m := range payload.Fill(sequence).Messages {
			for at := messageHeadBytes; at+16 <= len(m)-messageSumBytes; at += 16 {
				if part := string(m[at : at+16]); seen[part] {
					t.Fatalf("batch %d holds 16 bytes twice", sequence)
				} else {
					seen[part] = true
				}
			}
		}
	}
}

// Trap 24: zlib leaves of the payload what the setting says, within 5 %.
func TestPayloadCompressesAsStated(t *testing.T) {
	if testing.Short() {
		t.Skip("much arithmetic and nothing at once: the race detector has nothing to find")
	}
	for _, share := range []float64{0.1, 0.5, 1} {
		t.Run(fmt.Sprint(share), func(t *testing.T) {
			pool := testPool(t, share)
			var out bytes.Buffer
			w := zlib.NewWriter(&out)
			w.Write(pool.filler[:payloadPoolBytes])
			w.Close()
			got := float64(out.Len()) / payloadPoolBytes
			if math.Abs(got-share)/share > 0.05 {
				t.Fatalf("zlib leaves %.4f of the pool, want %.4f within 5 %%", got, share)
			}
		})
	}
}

func TestPayloadRefusesWhatItCannotMake(t *testing.T) {
	good := PayloadOptions{BatchMessages: 1, MessageBytes: messageBytesMin, CompressedShare: 1}
	if _, err := NewPayloadPool(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*PayloadOptions){
		"no messages":       func(o *PayloadOptions) { o.BatchMessages = 0 },
		"too many messages": func(o *PayloadOptions) { o.BatchMessages = 1 << 16 },
		"too short":         func(o *PayloadOptions) { o.MessageBytes = messageBytesMin - 1 },
		"too long":          func(o *PayloadOptions) { o.MessageBytes = messageBytesMax + 1 },
		"share 0":           func(o *PayloadOptions) { o.CompressedShare = 0 },
		"share NaN":         func(o *PayloadOptions) { o.CompressedShare = math.NaN() },
	} {
		bad := good
		change(&bad)
		if _, err := NewPayloadPool(bad); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestPayloadFillAllocatesNothing(t *testing.T) {
	payload := testPool(t, 1).NewPayload(0)
	sequence := uint64(0)
	if n := testing.AllocsPerRun(100, func() { payload.Fill(sequence); sequence++ }); n != 0 {
		t.Fatalf("%.1f allocations a batch, want 0", n)
	}
}

func BenchmarkPayloadFill(b *testing.B) {
	payload := testPool(b, 1).NewPayload(0)
	b.ReportAllocs()
	for i := range uint64(b.N) {
		payload.Fill(i)
	}
}
