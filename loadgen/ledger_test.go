package loadgen

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

var testHead = LedgerHead{RunID: 77, Producer: 3, Producers: 12, BatchMessages: 100, MessageBytes: 256}

// testRecords holds each shape a record can have.
func testRecords() []Record {
	var records []Record
	for i := range 2_000 {
		due := int64(i) * 40e6
		r := Record{Sequence: uint64(i), DueNs: due, SentNs: due + 70_000, DoneNs: due + 1_500_000, OwnLateNs: 70_000, Tries: 1,
			Outcome: OutcomeOK, Offset: uint64(i) * 1200}
		switch i % 50 {
		case 7:
			r.Outcome, r.Offset, r.Tries = OutcomeUnknown, 0, 9
		case 8:
			r.Outcome, r.Offset, r.Tries = OutcomeFailed, 0, 0
		case 9:
			r.Outcome, r.Late = OutcomeUnknown, true
		case 10:
			r.OwnLateNs, r.SentNs = -5, due-5 // an error of a clock must come back as it was
		}
		records = append(records, r)
	}
	return append(records, Record{Sequence: 1 << 60, DueNs: 1 << 61, SentNs: 1 << 61, DoneNs: 1 << 61, Tries: 1, Offset: 1 << 63, Outcome: OutcomeOK})
}

func writeLedger(t testing.TB, records []Record) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p.ledger")
	w, err := CreateLedger(path, testHead)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := w.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func readLedger(path string) (records []Record, torn bool, err error) {
	torn, err = eachRecord(path, func(r Record) error {
		records = append(records, r)
		return nil
	})
	return records, torn, err
}

func TestLedgerComesBackAsWritten(t *testing.T) {
	want := testRecords()
	path := writeLedger(t, want)
	got, torn, err := readLedger(path)
	if err != nil || torn {
		t.Fatalf("torn=%v err=%v", torn, err)
	}
	if !reflect.DeepEqual(got, want) {
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("record %d is %+v, want %+v", i, got[i], want[i])
			}
		}
	}
	r, err := OpenLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.Head() != testHead {
		t.Fatalf("head %+v, want %+v", r.Head(), testHead)
	}
}

func TestLedgerIsCompact(t *testing.T) {
	records := testRecords()
	info, err := os.Stat(writeLedger(t, records))
	if err != nil {
		t.Fatal(err)
	}
	if per := float64(info.Size()) / float64(len(records)); per > 24 {
		t.Fatalf("%.1f bytes a batch, want at most 24", per)
	}
}

// A writer that is killed leaves the file cut at any byte: what whole blocks hold comes back, the
// rest is reported as torn, and nothing is invented.
func TestLedgerTornAtEveryByte(t *testing.T) {
	want := testRecords()[:600]
	path := writeLedger(t, want)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut.ledger")
	most := 0
	for n := 0; n < len(whole); n += 1 + n/200 {
		if err := os.WriteFile(cut, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		got, _, err := readLedger(cut)
		if n < ledgerBlockHead+ledgerHeadBytes {
			if !errors.Is(err, ErrLedger) {
				t.Fatalf("%d bytes: err %v, want ErrLedger", n, err)
			}
			continue
		}
		if err != nil || len(got) > len(want) || !reflect.DeepEqual(got, want[:len(got):len(got)]) && len(got) > 0 {
			t.Fatalf("%d bytes: %d records, err %v", n, len(got), err)
		}
		most = max(most, len(got))
	}
	if most == 0 {
		t.Fatal("no cut gave a record: the test proves nothing")
	}
}

func TestLedgerDamageInTheMiddleIsNamed(t *testing.T) {
	path := writeLedger(t, testRecords())
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{0, 5, 9, 20, 3_000, len(whole) / 2} {
		bad := bytes.Clone(whole)
		bad[at] ^= 0x40
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := readLedger(path); !errors.Is(err, ErrLedger) {
			t.Errorf("byte %d flipped: err %v, want ErrLedger", at, err)
		}
	}
}

func TestLedgerRefusesToOverwrite(t *testing.T) {
	path := writeLedger(t, nil)
	if _, err := CreateLedger(path, testHead); !errors.Is(err, os.ErrExist) {
		t.Fatalf("err %v, want ErrExist", err)
	}
}

type nopCloser struct{ io.Reader }

func (nopCloser) Close() error { return nil }

func FuzzLedgerReader(f *testing.F) {
	whole, err := os.ReadFile(writeLedger(f, testRecords()[:100]))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:40])
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := newLedgerReader("fuzz", nopCloser{bytes.NewReader(data)})
		if err != nil {
			return
		}
		for range len(data) + 1 {
			if _, err := r.Next(); err != nil {
				return
			}
		}
		t.Fatal("more records than bytes")
	})
}

func TestLedgerAppendAllocatesNothing(t *testing.T) {
	w, err := CreateLedger(filepath.Join(t.TempDir(), "p.ledger"), testHead)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r := testRecords()[5]
	if n := testing.AllocsPerRun(1000, func() { w.Append(r); r.Sequence++ }); n != 0 {
		t.Fatalf("%.1f allocations a record, want 0", n)
	}
}
