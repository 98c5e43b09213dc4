package partition

import (
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// Outside is what a partition acts upon. No method may block, and none may call back into the
// partition. A frame is lent for the call: who needs it longer retains it.
type Outside interface {
	// Send sends a message that carries no frame.
	Send(m *vsr.Message)

	// SendFrame sends a prepare or fetched with its frame.
	SendFrame(m *vsr.Message, frame *wire.Buffer)

	// SendStored sends a prepare or fetched whose frame only the log still has: the sender reads it,
	// not the caller. Nothing is sent when the log holds another op there.
	SendStored(m *vsr.Message)

	// Serve sends one chunk of committed ops from the log, as many of From..To as fit a chunk, and
	// posts InServed when it has gone, or with ID.Op = From-1 if it has not.
	Serve(c Chunk)

	// Work queues jobs for the disk behind those queued before.
	Work(j Job)

	// Reply answers a client.
	Reply(token uint64, a Answer)

	// Committed tells that ops up to id are committed.
	Committed(id vsr.ID)

	// Readable tells that readers may see ops up to op, as far as the log holds them. It follows commit, but
	// for a moment in which the log still holds something else there.
	Readable(op uint64)

	// Observe tells an observer of something that decides nothing.
	Observe(e *vsr.Event)

	// Fence tells that this log and a peer's differ where neither may: the node must stop taking part.
	Fence(why string)
}

// Chunk is committed ops asked for by a peer.
type Chunk struct {
	Peer     uint8
	Round    uint64
	Index    uint64
	From, To uint64
	Transfer bool
}

// Limits of one chunk, by its use.
const (
	RepairChunkOps     = 128
	RepairChunkBytes   = 1 << 20
	TransferChunkOps   = groupMax // what a disk writes at once; small frames would take the buffers of everybody
	TransferChunkBytes = 4 << 20
)

// Answer to a client's try.
type Answer struct {
	Outcome vsr.Outcome
	Header  vsr.Header // of OutcomeCommitted
	Primary int        // vsr.NoPrimary when none is known
	View    uint64
	Detail  string
}
