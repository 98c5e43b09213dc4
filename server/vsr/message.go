package vsr

import "fmt"

// ReplicasMax is the largest cluster.
const ReplicasMax = 5

// Incarnation is one life of a node's process: its boot counter, and random bits that tell apart
// two lives which believe in the same counter (a directory copied, or forgotten).
type Incarnation struct{ Boot, Nonce uint64 }

// Lives are the latest lives of all replicas that somebody knows of, by boot counter; 0: none.
type Lives [ReplicasMax]uint64

// MessageKind says what a Message is. Which further fields of Message it uses stands beside it.
type MessageKind uint8

// Messages between replicas.
const (
	MsgPrepare         MessageKind = iota + 1 // Header; the frame follows. From the primary of View.
	MsgPrepareOK                              // Ack: vouches for that op and everything below it
	MsgBeat                                   // Round, Head, Starting, Waiting, Progress, Goal
	MsgBeatAck                                // Round (0: of a replica that has forgotten what it voted for), Head, Ack (Op 0: none), Progress, DiskFull
	MsgPreVote                                // Round, Restarted: "do you miss the primary of View too?"
	MsgPreVoteAck                             // Round, Missing, Head (the log's top), Fit
	MsgStartViewChange                        // the sender has saved View
	MsgDoViewChange                           // Head (the log's top), Slots for (Commit.Op, Head.Op], Lives
	MsgStartView                              // Head, Slots for (Commit.Op, Head.Op], all known
	MsgAskStartView                           // to the primary of View
	MsgAskPrepares                            // From, To: ops that the primary of View shall send again as prepares
	MsgFetch                                  // Ack: the op wanted, by checksum
	MsgFetched                                // Header; the frame follows
	MsgNotHeld                                // Ack: the log holds another op there, or none, and no damage
	MsgPull                                   // Round (number of the pull), From, To, Window (chunks allowed so far), Bulk, Staged
	MsgChunk                                  // Round, Window (index of the chunk), From, To; the frames of these committed ops follow
	MsgPullRefused                            // Round (0: of no pull, but a fetch), From: the earliest op retained, or 0 when nothing asked is committed here
	MsgAskHead                                // a wiped replica asks how far it must get
	MsgTellHead                               // Head, Leading, Missing (the sender has forgotten something itself), Lives
	MsgTable                                  // Round, Window (index of the part), Progress (parts in all), FromOp and Head (the chain that follows), Goal (the message offset after it), Slots (last frame of each session)
	messageKinds
)

var messageNames = [messageKinds]string{
	MsgPrepare: "prepare", MsgPrepareOK: "prepare_ok", MsgBeat: "beat", MsgBeatAck: "beat_ack",
	MsgPreVote: "pre_vote", MsgPreVoteAck: "pre_vote_ack", MsgStartViewChange: "start_view_change",
	MsgDoViewChange: "do_view_change", MsgStartView: "start_view", MsgAskStartView: "ask_start_view",
	MsgAskPrepares: "ask_prepares", MsgFetch: "fetch", MsgFetched: "fetched", MsgNotHeld: "not_held",
	MsgPull: "pull", MsgChunk: "chunk", MsgPullRefused: "pull_refused", MsgAskHead: "ask_head", MsgTellHead: "tell_head",
	MsgTable: "table",
}

func (k MessageKind) String() string {
	if k == 0 || k >= messageKinds {
		return fmt.Sprintf("message(%d)", uint8(k))
	}
	return messageNames[k]
}

// Known tells whether k is a kind of this build.
func (k MessageKind) Known() bool { return k > 0 && k < messageKinds }

// Lane says on which queue of which link a message travels.
type Lane uint8

// The lanes. Control goes before data on the protocol link; bulk has a link of its own.
const (
	LaneControl Lane = iota
	LaneData
	LaneBulk
)

// CarriesLives tells whether a message of this kind says which lives its sender knows.
func (k MessageKind) CarriesLives() bool { return k == MsgDoViewChange || k == MsgTellHead }

// Lane of a kind of message.
func (k MessageKind) Lane() Lane {
	switch k {
	case MsgPrepare:
		return LaneData
	case MsgFetched, MsgChunk, MsgTable:
		return LaneBulk
	}
	return LaneControl
}

// Slot is one op of a vote or of an adopted log.
type Slot struct {
	Known  bool // false: damaged, Header is zero
	Header Header
}

// Message is a message between replicas: an envelope that every kind fills, and fields that the
// kinds named above use. Nothing in it is trusted before it is checked.
type Message struct {
	Kind        MessageKind
	Group       uint32
	From, To    uint8 // replicas
	Incarnation Incarnation
	View        uint64 // the sender's current view, which alone says what the message speaks for
	LogView     uint64
	Commit      ID // the sender's commit

	Round        uint64
	Head         ID
	Ack          ID
	FromOp, ToOp uint64
	Window       uint64
	Progress     uint64
	Goal         uint64 // beat of a started view: the message offset that follows Commit
	Starting     bool   // beat: the view has not started yet
	Waiting      bool   // beat: only another replica can bring what is missing; raise no view for it
	Missing      bool
	Fit          bool
	Restarted    bool // pre_vote: the sender was the primary of View before it restarted, or steps down
	DiskFull     bool
	Bulk         bool // pull: transfer, not repair
	Staged       bool // pull: the whole chain from the server's earliest op, with its client table first
	Leading      bool
	Header       Header
	Slots        []Slot
	Lives        Lives // do_view_change, tell_head: those that the sender knows
}
