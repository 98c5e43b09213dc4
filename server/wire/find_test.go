package wire_test

import (
	"bytes"
	"slices"
	"testing"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// TestFindSealed: headers at any place and next to one another are found, what only begins like one or is cut off is not.
func TestFindSealed(t *testing.T) {
	header := func(op uint64) []byte {
		h := vsr.Header{Kind: vsr.KindRegister, Op: op, BodySum: wire.Sum(nil)}
		wire.Seal(&h)
		b := make([]byte, wire.HeaderBytes)
		wire.PutHeader(b, &h)
		return b
	}
	torn := header(9)
	torn[70] ^= 1
	b := bytes.Join([][]byte{[]byte("RJF"), header(1), header(2), torn, []byte("RJF1RJ"), header(3), header(4)[:wire.HeaderBytes-1]}, nil)
	var ops, places []uint64
	wire.FindSealed(b, func(at int, h *vsr.Header) { ops, places = append(ops, h.Op), append(places, uint64(at)) })
	if want := []uint64{3, 131, 3 + 3*128 + 6}; !slices.Equal(ops, []uint64{1, 2, 3}) || !slices.Equal(places, want) {
		t.Errorf("ops %v at %v, want 1 to 3 at %v", ops, places, want)
	}
}
