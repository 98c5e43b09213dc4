package kafka

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rejoin/loadgen"
)

// What we write is what the library's own reader of record batches sees.
func TestBatchIsARecordBatch(t *testing.T) {
	b := appendBatch(nil, stamp{producerID: 77, epoch: 3, sequence: 1200, timestampMs: 1_700_000_000_000}, testBatch.Messages)
	var theirs kmsg.RecordBatch
	if err := theirs.ReadFrom(b); err != nil {
		t.Fatal(err)
	}
	if theirs.ProducerID != 77 || theirs.ProducerEpoch != 3 || theirs.FirstSequence != 1200 || theirs.NumRecords != 2 ||
		theirs.LastOffsetDelta != 1 || int(theirs.Length) != len(b)-batchPrefixBytes || theirs.PartitionLeaderEpoch != -1 || theirs.Magic != 2 {
		t.Errorf("%+v", theirs)
	}
	rest := theirs.Records
	for i, want := range testBatch.Messages {
		var r kmsg.Record
		if err := r.ReadFrom(rest); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(r.Value, want) || int(r.OffsetDelta) != i || r.Key != nil || len(r.Headers) != 0 {
			t.Errorf("record %d: %+v", i, r)
		}
		rest = rest[len(r.AppendTo(nil)):]
	}
	if len(rest) != 0 {
		t.Errorf("%d bytes follow the records", len(rest))
	}
	if most := batchBytesMax(2, len("one message")); len(b) > most {
		t.Errorf("the batch has %d bytes, said were at most %d", len(b), most)
	}
}

func TestParse(t *testing.T) {
	whole := appendBatch(nil, stamp{}, testBatch.Messages)
	stored, rest, err := parse(append(bytes.Clone(whole), 1, 2, 3), nil)
	if err != nil || len(rest) != 3 || stored.damaged || len(stored.messages) != 2 || string(stored.messages[1]) != "and another" {
		t.Fatalf("%+v, %d bytes left, err %v", stored, len(rest), err)
	}
	for cut := range whole {
		if _, _, err := parse(whole[:cut], nil); !errors.Is(err, errPartial) {
			t.Fatalf("the first %d of %d bytes: err %v, want %v", cut, len(whole), err, errPartial)
		}
	}
	flipped := bytes.Clone(whole)
	flipped[len(flipped)-3] ^= 1 // in the last value
	if damaged, _, err := parse(flipped, nil); err != nil || !damaged.damaged || damaged.identity == stored.identity {
		t.Errorf("a flipped bit in a value: damaged=%v, err %v", damaged.damaged, err)
	}
	for at, value := range map[int]byte{atMagic: 1, atAttributes + 1: 2, atRecords + 3: 9, atLength: 0x7f} {
		bad := bytes.Clone(whole)
		bad[at] = value
		if _, _, err := parse(bad, nil); err == nil || errors.Is(err, errPartial) {
			t.Errorf("byte %d set to %d: err %v, want a refusal", at, value, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(appendBatch(nil, stamp{}, testBatch.Messages))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		stored, rest, err := parse(b, nil)
		if err != nil {
			return
		}
		size := 0
		for _, m := range stored.messages {
			size += len(m)
		}
		if size+len(rest) > len(b) {
			t.Errorf("%d bytes of messages and %d left of %d", size, len(rest), len(b))
		}
	})
}

// Read and tail see the same batches at every replica, and a read ends at what the broker itself says.
func TestReadAndTail(t *testing.T) {
	f := startFake(t)
	p := openRegistered(t, f)
	for request := range uint64(40) {
		if r := p.Try(f.attempt(request + 1)); r.Outcome != loadgen.TryAcked {
			t.Fatal(r.Err)
		}
	}
	f.options.ReadBytes = 300 // several fetches, batches cut at their ends
	for _, replica := range f.Replicas() {
		read := map[uint64]uint64{}
		end, err := f.ReadReplica(t.Context(), replica, func(b loadgen.ReadBatch) error {
			read[b.BaseOffset] = b.Identity
			return nil
		})
		if err != nil || end != (loadgen.ReadEnd{EndOffset: 80}) || len(read) != 40 {
			t.Fatalf("%s: %d batches, %+v, err %v", replica, len(read), end, err)
		}
		tail, err := f.OpenTail(replica)
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for deadline := soon(); seen < 40 && time.Now().Before(deadline); {
			err := tail.Next(t.Context(), time.Now().Add(time.Second), func(b loadgen.ReadBatch) error {
				if read[b.BaseOffset] != b.Identity {
					t.Errorf("%s: the tail shows another batch at offset %d than the read", replica, b.BaseOffset)
				}
				seen++
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := tail.Next(t.Context(), time.Now().Add(20*time.Millisecond), nil); err != nil || seen != 40 {
			t.Errorf("%s: %d batches tailed, then err %v", replica, seen, err)
		}
		if err := tail.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestObserve(t *testing.T) {
	f := startFake(t)
	p := openRegistered(t, f)
	if r := p.Try(f.attempt(1)); r.Outcome != loadgen.TryAcked {
		t.Fatal(r.Err)
	}
	for i, replica := range f.Replicas() {
		o, err := f.NewObserver(replica)
		if err != nil {
			t.Fatal(err)
		}
		defer o.Close()
		got, err := o.Observe(t.Context(), soon())
		if err != nil {
			t.Fatal(err)
		}
		if got.Leads != (i == f.leader()) || got.EndOffset != 2 || got.Watermark != 2 {
			t.Errorf("%s: %+v; the leader is n%d and the log ends at 2", replica, got, f.leader())
		}
	}
}

// writeLog writes a partition's directory with two segments of two batches each.
func writeLog(t *testing.T) (dir string, last string) {
	t.Helper()
	dir = t.TempDir()
	part := filepath.Join(dir, testTopic+"-0")
	if err := os.Mkdir(part, 0o755); err != nil {
		t.Fatal(err)
	}
	for segment := range 2 {
		var b []byte
		for i := range 2 {
			start := len(b)
			b = appendBatch(b, stamp{sequence: int32(segment*2 + i)}, testBatch.Messages)
			b[start+7] = byte(segment*4 + i*2) // base offset, outside of the checksum
		}
		last = filepath.Join(part, fmt.Sprintf("%020d.log", segment*4))
		if err := os.WriteFile(last, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir, last
}

func readFiles(t *testing.T, dir string, upTo *uint64) (offsets []uint64, damaged int, end loadgen.ReadEnd, err error) {
	t.Helper()
	f, err := NewFiles(FilesOptions{Replicas: []ReplicaDir{{Name: "n0", Dir: dir}}, Topic: testTopic, UpTo: upTo})
	if err != nil {
		t.Fatal(err)
	}
	end, err = f.ReadReplica(t.Context(), "n0", func(b loadgen.ReadBatch) error {
		offsets = append(offsets, b.BaseOffset)
		if b.Damaged {
			damaged++
		}
		return nil
	})
	return offsets, damaged, end, err
}

func TestFiles(t *testing.T) {
	dir, last := writeLog(t)
	if offsets, damaged, end, err := readFiles(t, dir, nil); err != nil || len(offsets) != 4 || damaged != 0 || end.EndOffset != 8 {
		t.Errorf("without a bound: offsets %v, %d damaged, %+v, err %v", offsets, damaged, end, err)
	}
	for upTo, want := range map[uint64]int{8: 4, 6: 3, 2: 1, 0: 0} {
		offsets, damaged, end, err := readFiles(t, dir, &upTo)
		if err != nil || len(offsets) != want || damaged != 0 || end.EndOffset != upTo {
			t.Errorf("up to %d: offsets %v, %d damaged, %+v, err %v", upTo, offsets, damaged, end, err)
		}
	}
	whole, err := os.ReadFile(last)
	if err != nil {
		t.Fatal(err)
	}
	// The write that a kill cut: it ends the log, unless something acknowledged stood there.
	if err := os.WriteFile(last, whole[:len(whole)-5], 0o644); err != nil {
		t.Fatal(err)
	}
	if offsets, _, end, err := readFiles(t, dir, new(uint64(6))); err != nil || len(offsets) != 3 || end.EndOffset != 6 {
		t.Errorf("a torn end above what was acknowledged: offsets %v, %+v, err %v", offsets, end, err)
	}
	var where *DamageError
	if _, _, _, err := readFiles(t, dir, new(uint64(8))); !errors.As(err, &where) || where.File != last || where.ByteOffset != int64(len(whole)/2) {
		t.Errorf("a torn end below what was acknowledged: err %v", err)
	}
	whole[len(whole)-3] ^= 1
	if err := os.WriteFile(last, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	if offsets, damaged, _, err := readFiles(t, dir, new(uint64(8))); err != nil || len(offsets) != 4 || damaged != 1 {
		t.Errorf("a flipped bit: offsets %v, %d damaged, err %v", offsets, damaged, err)
	}
}

func TestFilesGiveTheCallersErrorBack(t *testing.T) {
	dir, _ := writeLog(t)
	f, err := NewFiles(FilesOptions{Replicas: []ReplicaDir{{Name: "n0", Dir: dir}}, Topic: testTopic})
	if err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	if _, err := f.ReadReplica(t.Context(), "n0", func(loadgen.ReadBatch) error { return enough }); err != enough {
		t.Errorf("err %v, want the caller's own", err)
	}
	if _, err := f.ReadReplica(t.Context(), "n7", nil); err == nil {
		t.Error("a replica that does not exist was read")
	}
}
