package peer

import (
	"sync/atomic"
	"time"
)

// Stats is a snapshot of everything a network counts, since its start.
type Stats struct {
	Handshakes     int         // running now, accepted side
	HandshakesBusy uint64      // connections closed because too many handshakes ran
	HandshakesBad  uint64      // refused or broken before the other side was known
	Peers          []PeerStats // by node; Self's is zero
}

// PeerStats counts what concerns one other node.
type PeerStats struct {
	ProtocolUp, BulkUp bool
	Present            Hello // of the incarnation that speaks for the node; zero: none yet

	SentMessages, ReceivedMessages uint64
	SentBytes, ReceivedBytes       uint64 // protocol link
	BulkSentBytes                  uint64
	BulkReceivedBytes              uint64

	DroppedControl  uint64 // the lane was full
	DroppedData     uint64
	DroppedBulk     uint64
	DroppedLinkDown uint64 // nobody to send to
	ReplacedBeats   uint64 // a newer one took the slot before the writer came

	DroppedNoBuffer    uint64 // received frames for which the pool had no room
	DroppedIncarnation uint64 // received, but of another life of the node
	DroppedGroup       uint64 // received for a group that does not exist
	BadFrames          uint64
	LastBadOp          uint64

	Dials             uint64        // connects tried, probes included
	DialsRefused      uint64        // nobody listened
	HandshakesRefused uint64        // by either side
	Links             uint64        // links that came up
	LongestSilence    time.Duration // between two messages on the protocol link
}

type counters struct {
	sentMessages, receivedMessages, sentBytes, receivedBytes, bulkSentBytes, bulkReceivedBytes atomic.Uint64
	droppedControl, droppedData, droppedBulk, droppedLinkDown, replacedBeats                   atomic.Uint64
	droppedNoBuffer, droppedIncarnation, droppedGroup, badFrames, lastBadOp                    atomic.Uint64
	dials, dialsRefused, handshakesRefused, links                                              atomic.Uint64
	longestSilence                                                                             atomic.Int64
}

// Stats takes a snapshot.
func (n *Network) Stats() Stats {
	s := Stats{Handshakes: n.handshakes.count(), HandshakesBusy: n.handshakesBusy.Load(), HandshakesBad: n.handshakesBad.Load(),
		Peers: make([]PeerStats, len(n.remotes))}
	for i, r := range n.remotes {
		if r != nil {
			s.Peers[i] = r.stats()
		}
	}
	return s
}

func (r *remote) stats() PeerStats {
	c := &r.counters
	s := PeerStats{
		ProtocolUp: r.protocol.Load() != nil, BulkUp: r.bulk.Load() != nil,
		SentMessages: c.sentMessages.Load(), ReceivedMessages: c.receivedMessages.Load(),
		SentBytes: c.sentBytes.Load(), ReceivedBytes: c.receivedBytes.Load(),
		BulkSentBytes: c.bulkSentBytes.Load(), BulkReceivedBytes: c.bulkReceivedBytes.Load(),
		DroppedControl: c.droppedControl.Load(), DroppedData: c.droppedData.Load(), DroppedBulk: c.droppedBulk.Load(),
		DroppedLinkDown: c.droppedLinkDown.Load(), ReplacedBeats: c.replacedBeats.Load(),
		DroppedNoBuffer: c.droppedNoBuffer.Load(), DroppedIncarnation: c.droppedIncarnation.Load(),
		DroppedGroup: c.droppedGroup.Load(), BadFrames: c.badFrames.Load(), LastBadOp: c.lastBadOp.Load(),
		Dials: c.dials.Load(), DialsRefused: c.dialsRefused.Load(), HandshakesRefused: c.handshakesRefused.Load(),
		Links: c.links.Load(), LongestSilence: time.Duration(c.longestSilence.Load()),
	}
	if p := r.present.Load(); p != nil {
		s.Present = *p
	}
	return s
}
