package shape

import "sync"

// handoff gives all batches that are pending at once to one consumer: what came while it was busy is its next group.
type handoff struct {
	mu      sync.Mutex
	pending []*batch
	wake    chan struct{} // of capacity 1: a wake-up that is already pending says enough
}

func newHandoff() *handoff { return &handoff{wake: make(chan struct{}, 1)} }

// add passes one hold on a batch.
func (h *handoff) add(b *batch) {
	h.mu.Lock()
	h.pending = append(h.pending, b)
	h.mu.Unlock()
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// group waits for batches and takes all of them. used is the group before, whose memory takes the next ones.
func (h *handoff) group(used []*batch) []*batch {
	for {
		h.mu.Lock()
		if len(h.pending) > 0 {
			taken := h.pending
			h.pending = used[:0]
			h.mu.Unlock()
			return taken
		}
		h.mu.Unlock()
		<-h.wake
	}
}
