package server

import (
	"fmt"
	"io"
	"testing"

	"rejoin/server/peer"
	"rejoin/server/vsr"
)

// TestLackOf: what the network says of a chunk reaches the replica's events.
func TestLackOf(t *testing.T) {
	for want, err := range map[vsr.Lack]error{
		vsr.LackBuffer: fmt.Errorf("chunk: %w", peer.ErrNoBuffer),
		vsr.LackFrame:  fmt.Errorf("chunk: %w", peer.ErrBadFrame),
		vsr.LackLink:   io.ErrUnexpectedEOF,
	} {
		if got := lackOf(err); got != want {
			t.Errorf("%v is told as %q, want %q", err, got, want)
		}
	}
}
