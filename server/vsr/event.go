package vsr

// EventKind is the kind of an Event; package wire spells it.
type EventKind uint8

// What an observer of a replica may want to know.
const (
	EventRole            EventKind = iota + 1 // role, view
	EventViewChangeBegin                      // view: the one asked for or joined
	EventViewChangeEnd                        // view, ticks since begin
	EventRepairBegin
	EventRepairProgress
	EventRepairEnd
	EventTransferBegin
	EventTransferProgress
	EventTransferEnd
	EventStepDown
	EventWiped
	EventDiskFull
	EventHole
	EventWaiting // a view cannot start before another replica brings an op
	EventCannotKeepUp
)

// Event is something observed; it never decides anything.
type Event struct {
	Kind    EventKind
	View    uint64
	LogView uint64
	FromOp  uint64 // ops concerned, both included
	ToOp    uint64
	Bytes   uint64
	Peer    int // NoPrimary where none is concerned
	Rounds  uint64
	Ticks   uint64 // duration
	Reason  string
}
