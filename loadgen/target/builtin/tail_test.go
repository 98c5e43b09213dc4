package builtin

import (
	"errors"
	"testing"

	"rejoin/loadgen"
)

// TestTailGoesOnWhereItStood: what came since the last call and nothing twice, also after somebody broke off.
func TestTailGoesOnWhereItStood(t *testing.T) {
	s := startStub(t)
	fill(t, s, 3)
	replica := s.Replicas()[1]
	tail, err := s.OpenTail(replica)
	if err != nil {
		t.Fatal(err)
	}
	defer tail.Close()
	var offsets []uint64
	take := func(b loadgen.ReadBatch) error {
		offsets = append(offsets, b.BaseOffset)
		return nil
	}
	for range 2 {
		if err := tail.Next(t.Context(), soon(), take); err != nil {
			t.Fatal(err)
		}
	}
	first := len(offsets)
	fill(t, s, 2)
	for range 2 {
		if err := tail.Next(t.Context(), soon(), take); err != nil {
			t.Fatal(err)
		}
	}
	if first != 3 || len(offsets) != 5 {
		t.Fatalf("%d batches, then %d: %v", first, len(offsets), offsets)
	}
	for i := 1; i < len(offsets); i++ {
		if offsets[i] <= offsets[i-1] {
			t.Errorf("offsets are %v", offsets)
		}
	}
	broken := errors.New("enough")
	fill(t, s, 1)
	if err := tail.Next(t.Context(), soon(), func(loadgen.ReadBatch) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("error is %v", err)
	}
	s.nodes[1].refuse()
	if err := tail.Next(t.Context(), soon(), take); err == nil {
		t.Error("a node that is gone was read")
	}
	if _, err := s.OpenTail("n9"); err == nil {
		t.Error("a replica that is not there was opened")
	}
}
