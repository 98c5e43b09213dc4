package vsr

// InputKind says what an Input is. Which fields it uses stands beside it.
type InputKind uint8

// What can happen to a replica.
const (
	InTick         InputKind = iota + 1 // 10 ms have passed
	InMessage                           // Msg
	InRequest                           // Token, Header (the client's, checked), Now
	InRegister                          // Token, Header.Client, Header.BodySum (of no bytes), Now
	InReadLatest                        // Token: answer once a read would show everything acknowledged before
	InForget                            // Token: nobody waits for it any more
	InWritten                           // ID: the log is written (not synced) up to it
	InDurable                           // ID: the log is synced up to it
	InStateSaved                        // State: durable
	InCutDone                           // ID.Op: nothing above it is left on disk
	InFilled                            // ID, OK: the hole at this op is closed, durably; or the frame did not fit it
	InDamaged                           // ID.Op, Hole: a reader met damage in this committed op
	InLinkUp                            // Peer
	InLinkDown                          // Peer, Refused: a redial was refused, nothing listens there
	InHello                             // Peer, Incarnation: from now on only this one speaks for Peer
	InServed                            // Peer, Round, Window, ID.Op (last op sent, From-1 if none), Bytes
	InChunkEnd                          // Peer, Round, Window, ID.Op: the chunk's last op; OK: all frames were good; Lack: else why not
	InDiskFull                          // OK: true when full
	InStaged                            // ID: the chain is written up to here
	InInstalled                         // the chain has taken the log's place, durably
	InTrimmed                           // ID.Op: the log begins here now; what is below is going
	InAllFormatted                      // every node of the cluster has formatted its directory
)

// Input is one thing that happened.
type Input struct {
	Kind        InputKind
	Msg         Message
	Token       uint64 // the caller's name for a waiting client, never 0
	Header      Header
	Now         int64 // wall clock, ns since the Unix epoch
	ID          ID
	State       State
	Peer        uint8
	Incarnation Incarnation
	Round       uint64
	Window      uint64
	Bytes       uint64
	Refused     bool
	OK          bool
	Lack        Lack
	Hole        OpRange // what the log knows as damaged around an op; To 0: the op alone
}

// Lack says why a chunk has not come whole.
type Lack uint8

// What a chunk may lack.
const (
	LackFrame  Lack = iota // one was damaged
	LackBuffer             // this node had none to spare for one
	LackLink               // it ended
)

// String is a reason for an event.
func (l Lack) String() string {
	return [...]string{LackFrame: "damaged chunk", LackBuffer: "no frame buffer was free for a chunk", LackLink: "the link ended within a chunk"}[l]
}

// State is what a replica must not forget over a restart, saved whole and synced before anything
// speaks for it.
type State struct {
	View    uint64 // never falls
	LogView uint64 // never falls, never above View
	Wiped   bool   // this replica has forgotten what it acknowledged above Kept: it neither votes nor acknowledges
	Kept    uint64 // 0 where the directory was lost; else un-synced writes of a replicated topic were
	Lives   Lives  // those known when it was saved; none falls, and who has lost its directory is told nothing before its life stands here
}
