package peer

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// Limits of a network, with their reasons.
const (
	handshakesMax    = 64       // at once, from strangers too: bounded memory, room for every honest node
	controlBytesMax  = 1 << 20  // of one link: thirty do_view_changes of a full pipeline, or 6,000 short messages
	dataFramesMax    = 512      // two pipelines; more would only keep pool buffers from others
	dataBytesMax     = 64 << 20 // of the frames queued for one link
	writeBytesMax    = 512 << 10
	bulkJobsMax      = 256 // a pull has a handful of chunks in flight, each group at most one pull a peer; a full client table is 64 messages
	sendfileBytesMax = 1 << 20
	groupsMax        = 1 << 10
	// BulkBytesPerSecondMin is the slowest pace: below it a link with one large frame looks dead.
	BulkBytesPerSecondMin = 64 << 10
)

// timing has the durations; tests shorten them.
type timing struct {
	handshake    time.Duration // whole handshake
	dial         time.Duration // one connect
	silence      time.Duration // nothing received, or a write stuck, for so long: the link is dead
	keepAlive    time.Duration // an idle writer says that it lives
	userTimeout  time.Duration // TCP_USER_TIMEOUT
	backOffMin   time.Duration
	backOffMax   time.Duration
	poolPatience time.Duration // a bulk reader waits so long for a buffer, then loses the frame
}

func defaultTiming() timing {
	return timing{handshake: 2 * time.Second, dial: time.Second, silence: 4 * time.Second, keepAlive: time.Second,
		userTimeout: 4 * time.Second, backOffMin: 10 * time.Millisecond, backOffMax: 250 * time.Millisecond, poolPatience: time.Second}
}

// Node is one node of the cluster; its place in Options.Nodes is its number.
type Node struct {
	ID   string // compared at the handshake
	Dial string // host:port; not compared, a proxy may stand between
}

// Format is the state of a node's data directory.
type Format uint8

// The states of a data directory.
const (
	FormatBlank  Format = iota + 1 // nothing is there yet
	FormatUnused                   // formatted; view 0, empty log
	FormatUsed
	FormatWiped // formatted after it was lost: it has forgotten what it acknowledged
	formatsEnd
)

func (f Format) String() string {
	switch f {
	case FormatBlank:
		return "blank"
	case FormatUnused:
		return "unused"
	case FormatUsed:
		return "used"
	case FormatWiped:
		return "wiped"
	}
	return fmt.Sprintf("format(%d)", uint8(f))
}

// Local is what this node says about itself in every handshake.
type Local struct {
	Incarnation vsr.Incarnation
	Format      Format
}

// Hello is what an accepted handshake says about the other node.
type Hello struct {
	Incarnation vsr.Incarnation
	Format      Format
	KnownBoot   uint64 // highest boot counter of this node that the other one has known
}

// Handler takes what arrives. Calls about one node come from several goroutines, yet every Hello
// comes before the first message of its incarnation and after the last one of the one before.
type Handler interface {
	// Hello says which incarnation of a node is present from now on. It is called when the
	// incarnation or the format has changed.
	Hello(peer int, h Hello)
	// LinkUp and LinkDown speak of the protocol link. LinkDown comes at its end with refused
	// false, and once more with refused true if a redial found that nobody listens there.
	LinkUp(peer int)
	LinkDown(peer int, refused bool)
	// Refused tells of a handshake that one side refused, when the reason changes, not at each redial.
	Refused(peer int, err *RefusedError)
	// Message delivers a message; frame is that of a prepare or fetched, else nil, and lent for the call.
	Message(m vsr.Message, frame *wire.Buffer)
	// Frame delivers one frame of a chunk, lent for the call. It may block.
	Frame(chunk vsr.Message, frame *wire.Buffer)
	// ChunkEnd follows the last frame of a chunk. An error says that not all of them came: ErrNoBuffer, ErrBadFrame, or that of
	// the link.
	ChunkEnd(chunk vsr.Message, err error)
}

// Options of a network.
type Options struct {
	Self     int          // this node's place in Nodes
	Nodes    []Node       // 1 to 5
	Groups   int          // numbers of groups are below it
	Listen   string       // host:port
	Listener net.Listener // used instead of Listen if set; closed by Run

	ClusterID   uint64
	FixedDigest uint64 // of what all nodes have fixed when the cluster was formatted
	Secret      []byte // may be empty on loopback only
	Local       Local
	KnownBoots  []uint64 // by node: highest boot counter remembered; nil: none

	Pool    *wire.Pool
	Spared  int // buffers of Pool that chunks leave to everybody else: who sends them can wait
	Handler Handler
	Logger  *slog.Logger // nil: silent

	BulkBytesPerSecondMax int64 // to one node; 0: no limit

	timing timing
}

func (o *Options) validate() error {
	switch {
	case len(o.Nodes) < 1 || len(o.Nodes) > vsr.ReplicasMax:
		return fmt.Errorf("a cluster of %d nodes; 1 to %d are possible", len(o.Nodes), vsr.ReplicasMax)
	case o.Self < 0 || o.Self >= len(o.Nodes):
		return fmt.Errorf("node number %d is not one of %d", o.Self, len(o.Nodes))
	case o.Groups < 1 || o.Groups > groupsMax:
		return fmt.Errorf("%d groups; 1 to %d are possible", o.Groups, groupsMax)
	case o.Pool == nil || o.Handler == nil:
		return errors.New("a network needs a pool and a handler")
	case o.Spared < 0 || o.Spared >= o.Pool.Stats().Buffers:
		return fmt.Errorf("%d buffers of a pool of %d are to be spared; a chunk needs one", o.Spared, o.Pool.Stats().Buffers)
	case o.Local.Format == 0 || o.Local.Format >= formatsEnd:
		return fmt.Errorf("%s is no state of a data directory", o.Local.Format)
	case o.KnownBoots != nil && len(o.KnownBoots) != len(o.Nodes):
		return fmt.Errorf("%d remembered boot counters for %d nodes", len(o.KnownBoots), len(o.Nodes))
	case o.BulkBytesPerSecondMax < 0 || o.BulkBytesPerSecondMax > 0 && o.BulkBytesPerSecondMax < BulkBytesPerSecondMin:
		return fmt.Errorf("bulk at %d bytes per second; use 0 (no limit) or at least %d", o.BulkBytesPerSecondMax, BulkBytesPerSecondMin)
	}
	return nil
}

func (o *Options) fillDefaults() {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.timing == (timing{}) {
		o.timing = defaultTiming()
	}
}

// checkExposure refuses an open door: without a secret only this machine may reach the listener.
func checkExposure(address string, secret []byte) error {
	if len(secret) > 0 {
		return nil
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("peer address %q: %w", address, err)
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("%w: %s can be reached from other machines, and anyone there could steer the cluster; configure a cluster secret or listen on 127.0.0.1", ErrExposed, address)
}
