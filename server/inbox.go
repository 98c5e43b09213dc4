package server

import (
	"sync"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// item is an input with the frame it speaks of, if any: one reference, of wire.OwnerPartition.
type item struct {
	in    vsr.Input
	frame *wire.Buffer
}

func (it *item) release() {
	if it.frame != nil {
		it.frame.Release(wire.OwnerPartition)
	}
}

const (
	// inboxItems bounds what waits for a group: a pipeline of prepares, a chunk of a repair and some.
	inboxItems = 1024

	// turnItems is what one poster handles before it leaves the rest to the loop: a flusher must get back
	// to its disk, a reader to its socket.
	turnItems = 16
)

// inbox is the way to a partition, which one goroutine at a time may touch. Whoever posts while nobody
// has the turn takes it and handles its input itself, and what others post meanwhile: a batch passes
// through without waking a goroutine that would do nothing else. What a turn does not finish, the loop
// does. Inputs are handled in the order in which they were posted.
type inbox struct {
	handle func(*item)   // with the turn, and without mu
	wake   chan struct{} // one slot: something waits, and nobody has the turn

	mu     sync.Mutex
	room   sync.Cond // something was taken, the turn is free, or the inbox is closed
	items  []item    // that wait, oldest first; at most inboxItems, and what the turn itself adds
	spare  []item    // memory of those taken last
	taken  bool      // somebody has the turn
	closed bool
}

// newInbox makes one whose turn is taken: it only gathers until run.
func newInbox(handle func(*item)) *inbox {
	b := &inbox{handle: handle, wake: make(chan struct{}, 1), taken: true}
	b.room.L = &b.mu
	return b
}

// post hands an input over. It blocks while too many wait, which holds back whoever brings more than
// the partition takes. False: the inbox is closed, and the frame released.
func (b *inbox) post(it item) bool {
	b.mu.Lock()
	for len(b.items) >= inboxItems && b.taken && !b.closed {
		b.room.Wait()
	}
	return b.put(it)
}

// postNow is post without the wait: for who has the turn, and for what is bounded by itself.
func (b *inbox) postNow(it item) bool {
	b.mu.Lock()
	return b.put(it)
}

// put is called with mu held, and lets go of it.
func (b *inbox) put(it item) bool {
	if b.closed {
		b.mu.Unlock()
		it.release()
		return false
	}
	b.items = append(b.items, it)
	mine := !b.taken
	b.taken = true
	b.mu.Unlock()
	if mine {
		b.turn(turnItems)
	}
	return true
}

// run takes the turn when there is something left to do, and handles it to the end. The loop calls it.
func (b *inbox) run() {
	b.mu.Lock()
	if b.taken || b.closed || len(b.items) == 0 {
		b.mu.Unlock()
		return
	}
	b.taken = true
	b.mu.Unlock()
	b.turn(inboxItems)
}

// begin gives the turn, which was taken from the start, to whoever posts next.
func (b *inbox) begin() { b.turn(inboxItems) }

// turn handles at most so many of what waits and gives the turn back. The caller has it.
func (b *inbox) turn(most int) {
	for {
		b.mu.Lock()
		if len(b.items) == 0 || most <= 0 || b.closed {
			b.taken = false
			left := len(b.items) > 0
			b.room.Broadcast()
			b.mu.Unlock()
			if left {
				wakeUp(b.wake)
			}
			return
		}
		items := b.items
		batch := items[:min(most, len(items))]
		b.items = append(b.spare[:0], items[len(batch):]...)
		b.room.Broadcast()
		b.mu.Unlock()
		for i := range batch {
			b.handle(&batch[i])
		}
		most -= len(batch)
		clear(items)
		b.spare = items[:0] // the turn's, like handle
	}
}

// close waits until nobody has the turn, and lets nobody take it any more. What still waits is released.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.room.Broadcast()
	for b.taken {
		b.room.Wait()
	}
	for i := range b.items {
		b.items[i].release()
	}
	b.items = nil
}
