package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// ErrNoBuffer says that a chunk was lost because the pool had none to spare for long.
var ErrNoBuffer = errors.New("no frame buffer was free")

// poolRetryInterval is how often a bulk reader asks the pool again, which has no queue.
const poolRetryInterval = 2 * time.Millisecond

// readBulk delivers fetched frames and chunks until the link ends.
func (l *link) readBulk(ctx context.Context) error {
	rc := newReceiver(l)
	for {
		m, payloadBytes, err := rc.next()
		if err == nil && m.Kind == vsr.MsgChunk && rc.wanted(&m) {
			err = rc.readChunk(ctx, m, payloadBytes)
		} else if err == nil && m.Kind == vsr.MsgChunk {
			err = rc.skip(payloadBytes)
		} else if err == nil {
			err = rc.deliver(m, payloadBytes)
		}
		if err != nil {
			return fmt.Errorf("read bulk: %w", err)
		}
	}
}

// readChunk delivers a chunk frame by frame and says how it ended. It returns an error if the link
// is of no use any more.
func (rc *receiver) readChunk(ctx context.Context, m vsr.Message, left int) error {
	var err error
	for op := m.FromOp; op <= m.ToOp && err == nil; op++ {
		var took int
		took, err = rc.readChunkFrame(ctx, &m, op, left)
		left -= took
	}
	if err == nil && left != 0 {
		err = rc.badFrame(&m, m.ToOp, fmt.Errorf("%w: %d bytes follow the last frame of a chunk", errUnexpected, left))
	}
	rc.l.n.options.Handler.ChunkEnd(m, err)
	if errors.Is(err, ErrNoBuffer) {
		return rc.skip(left)
	}
	return err
}

// readChunkFrame reads, verifies and delivers the frame of one op; left bytes of the chunk remain.
func (rc *receiver) readChunkFrame(ctx context.Context, m *vsr.Message, op uint64, left int) (took int, err error) {
	frame := rc.patientBuffer(ctx)
	if frame == nil {
		rc.l.remote.counters.droppedNoBuffer.Add(1)
		return 0, ErrNoBuffer
	}
	defer frame.Release(wire.OwnerPeerRead)
	if left < wire.HeaderBytes {
		return 0, rc.badFrame(m, op, fmt.Errorf("%w: %d bytes are left of a chunk where a frame begins", errUnexpected, left))
	}
	header := frame.Data()[:wire.HeaderBytes]
	if _, err := io.ReadFull(rc.in, header); err != nil {
		return 0, err
	}
	h, err := wire.ParseSealed(header)
	if err == nil && h.Op != op {
		err = fmt.Errorf("%w: op %d stands where %d belongs", errUnexpected, h.Op, op)
	}
	bytes := wire.HeaderBytes + int(h.BodyBytes)
	if err == nil && bytes > left {
		err = fmt.Errorf("%w: a frame of %d bytes, %d are left of the chunk", errUnexpected, bytes, left)
	}
	if err != nil {
		return wire.HeaderBytes, rc.badFrame(m, op, err)
	}
	if _, err := io.ReadFull(rc.in, frame.Data()[wire.HeaderBytes:bytes]); err != nil {
		return wire.HeaderBytes, err
	}
	frame.SetFrame(bytes)
	if err := rc.verify(m, frame); err != nil {
		return bytes, err
	}
	rc.l.n.options.Handler.Frame(*m, frame)
	return bytes, nil
}

// patientBuffer waits for a buffer: while it does, TCP holds the sender back. Some it never takes: without them the
// clients of every partition, and the prepares that hold them up, would have none while one log is transferred.
func (rc *receiver) patientBuffer(ctx context.Context) *wire.Buffer {
	pool, spared, patience := rc.l.n.options.Pool, rc.l.n.options.Spared, rc.l.n.options.timing.poolPatience
	frame := pool.GetSparing(wire.OwnerPeerRead, spared)
	if frame != nil {
		return frame
	}
	giveUp := time.NewTimer(patience)
	defer giveUp.Stop()
	retry := time.NewTicker(poolRetryInterval)
	defer retry.Stop()
	for {
		select {
		case <-retry.C:
			if frame := pool.GetSparing(wire.OwnerPeerRead, spared); frame != nil {
				return frame
			}
		case <-giveUp.C:
			return nil
		case <-rc.l.ended:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}
