package vsr

// EffectKind says what an Effect asks for. Which fields it uses stands beside it.
type EffectKind uint8

// What a replica asks of its shell. Append, Fill, Cut and Save go to one disk queue and are carried
// out in the order given, each durable before the next begins (appends in a row share one sync);
// their completions come back as inputs in the same order.
const (
	EffSend       EffectKind = iota + 1 // Msg; for prepare and fetched the frame of Msg.Header goes with it
	EffAppend                           // Header: the frame at hand (this input's, Token's, or one kept) joins the log; Bulk: one of many that a transfer brings
	EffKeep                             // Header: hold this input's frame in memory, it does not connect yet
	EffDrop                             // ID: the frame kept under this id is not wanted any more
	EffCut                              // ID: everything above leaves the log, in memory at once, on disk in order; Top stays on record as the highest damaged op (ID itself: none)
	EffFill                             // Header: this input's frame closes a hole
	EffSave                             // State
	EffReply                            // Token, Outcome, Header (committed), Primary, Detail
	EffCommit                           // ID: committed up to here
	EffServe                            // Peer, Round, Window, From, To, Bulk: send committed ops as one chunk; InServed when gone
	EffServeFetch                       // Peer, ID: send MsgFetched if the log on disk holds this id, else nothing
	EffStage                            // Header: this input's frame is the next of the chain that is being staged
	EffStageDrop                        // what was staged is not wanted
	EffInstall                          // State, Table: the staged chain, with these, takes the log's place; InInstalled
	EffTrim                             // ID.Op, Table: nothing below this op is wanted any more; Table, as of ID.Op-1 or later, must outlast it. InTrimmed, or nothing
	EffReset                            // ID, From: the log is another one, from op From to ID; nothing of the old is left
	EffEvent                            // Event
	EffFence                            // Detail: this log and a peer's differ where neither may; stop taking part, exit
)

// NoPrimary is the Primary of a reply when none is known.
const NoPrimary = -1

// Effect is one thing to do.
type Effect struct {
	Kind     EffectKind
	Msg      Message
	Header   Header
	ID       ID
	Top      ID
	State    State
	Table    Table
	Token    uint64
	Outcome  Outcome
	Primary  int
	Peer     uint8
	Round    uint64
	Window   uint64
	From, To uint64
	Bulk     bool
	Detail   string
	Event    Event
}
