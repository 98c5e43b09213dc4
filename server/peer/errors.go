package peer

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// What a caller may meet.
var (
	ErrExposed   = errors.New("refusing to listen without a cluster secret")
	ErrLinkDown  = errors.New("no link to that node")
	ErrQueueFull = errors.New("the queue to that node is full")
	ErrBadFrame  = errors.New("a frame was damaged")

	errClosed    = errors.New("the network closes")
	errReplaced  = errors.New("a newer link took its place")
	errRenewed   = errors.New("this node has something new to say about itself")
	errShortFile = errors.New("the file ended before the span did")
)

// Refusal says why a handshake was refused.
type Refusal uint8

// Why a handshake is refused. The first group is said before the other side has proven anything
// and is therefore only ever shown, never acted on.
const (
	RefusedMalformed Refusal = iota + 1
	RefusedVersion
	RefusedUnknownNode // the number of the sender or of the receiver is not what was expected
	RefusedSecret

	RefusedCluster
	RefusedNodes
	RefusedFixed
	RefusedBoot // the boot counter is below one that was present before; KnownBoot tells it
	refusalsEnd
)

var refusalNames = [refusalsEnd]string{RefusedMalformed: "malformed", RefusedVersion: "version", RefusedUnknownNode: "unknown_node",
	RefusedSecret: "secret", RefusedCluster: "cluster", RefusedNodes: "nodes", RefusedFixed: "fixed", RefusedBoot: "boot"}

func (r Refusal) String() string {
	if r == 0 || r >= refusalsEnd {
		return fmt.Sprintf("refusal(%d)", uint8(r))
	}
	return refusalNames[r]
}

// RefusedError is a handshake that one side refused. Text is the refusing side's own words.
type RefusedError struct {
	Peer      int // -1: the other side never said a number that exists
	ByPeer    bool
	Reason    Refusal
	KnownBoot uint64 // RefusedBoot: the highest boot counter known of the refused side
	Format    Format // RefusedBoot: of the other node's directory; what a stranger has is 0 here
	Text      string
}

func (e *RefusedError) Error() string {
	who := "handshake refused"
	if e.ByPeer {
		who = "the other node refused the handshake"
	}
	return fmt.Sprintf("%s (%s): %s", who, e.Reason, e.Text)
}

// printable makes a stranger's words fit for a log line.
func printable(text []byte) string {
	clean := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, strings.ToValidUTF8(string(text), "?"))
	return clean
}
