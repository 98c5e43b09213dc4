package builtin

import (
	"fmt"

	"rejoin/loadgen"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// chain follows the frames of one log and holds each against the one before it: one cluster and
// group, ops without a gap, each parent the checksum of the op before, offsets that continue, views
// and timestamps that never fall.
type chain struct {
	last  vsr.Header
	begun bool

	// first batch's base offset, and the offset after the last one
	earliest, end uint64
	messages      [][]byte
}

// join takes the next frame's header. skipped says that register frames may have been left out
// before it, as a read by offset does at its beginning.
func (c *chain) join(h *vsr.Header, skipped bool) error {
	if err := c.fits(h, skipped); err != nil {
		return err
	}
	if !c.begun {
		c.earliest = h.BaseOffset
	}
	c.begun, c.last, c.end = true, *h, h.NextOffset()
	return nil
}

func (c *chain) fits(h *vsr.Header, skipped bool) error {
	if h.Op == 0 {
		return fmt.Errorf("op 0 is never stored")
	}
	if h.Op == 1 {
		if root := wire.RootSum(h.Cluster, h.Group); h.Parent != root || h.BaseOffset != 0 {
			return fmt.Errorf("op 1 at offset %d has parent %016x, the group's root is %016x", h.BaseOffset, h.Parent, root)
		}
	}
	if !c.begun {
		return nil
	}
	last := &c.last
	switch {
	case h.Cluster != last.Cluster || h.Group != last.Group:
		return fmt.Errorf("op %d is of cluster %016x group %d, op %d of cluster %016x group %d", h.Op, h.Cluster, h.Group, last.Op, last.Cluster, last.Group)
	case h.Op == last.Op+1 && h.Parent != last.Sum:
		return fmt.Errorf("op %d names the parent %016x, op %d is %016x", h.Op, h.Parent, last.Op, last.Sum)
	case h.Op != last.Op+1 && (!skipped || h.Op <= last.Op):
		return fmt.Errorf("op %d comes after op %d", h.Op, last.Op)
	case h.BaseOffset != last.NextOffset():
		return fmt.Errorf("op %d begins at offset %d, op %d ended before offset %d", h.Op, h.BaseOffset, last.Op, last.NextOffset())
	case h.View < last.View || h.Timestamp < last.Timestamp:
		return fmt.Errorf("op %d is of view %d at %d ns, op %d of view %d at %d ns", h.Op, h.View, h.Timestamp, last.Op, last.View, last.Timestamp)
	}
	return nil
}

// yield passes a batch frame on; a register frame has nothing to pass. A body that fails its checksum
// is passed as damaged if its messages can be told apart, with an identity that no whole frame has.
func (c *chain) yield(h *vsr.Header, body []byte, take func(loadgen.ReadBatch) error) error {
	if h.Kind != vsr.KindBatch {
		return nil
	}
	b := loadgen.ReadBatch{BaseOffset: h.BaseOffset, Identity: h.Sum}
	if sum := wire.Sum(body); sum != h.BodySum {
		b.Damaged, b.Identity = true, h.Sum^sum^h.BodySum
	}
	c.messages = c.messages[:0]
	for rest := body; len(rest) > 0; {
		m, after, err := wire.NextMessage(rest)
		if err != nil {
			return fmt.Errorf("op %d: %w", h.Op, err)
		}
		c.messages = append(c.messages, m.Payload)
		rest = after
	}
	if len(c.messages) != int(h.MessageCount) {
		return fmt.Errorf("op %d: %d messages in the body, the header says %d", h.Op, len(c.messages), h.MessageCount)
	}
	b.Messages = c.messages
	return take(b)
}
