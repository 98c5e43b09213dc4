package profiles

import "sync"

// Borders tell captures that something else begins, such as a phase of the run: windows under way end there and are kept. The zero value
// is ready, and nil has none. It may be used by several goroutines.
type Borders struct {
	mu   sync.Mutex
	next chan struct{}
}

// Mark ends the windows under way. It returns at once.
func (b *Borders) Mark() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next != nil {
		close(b.next)
		b.next = nil
	}
}

// wait returns a channel that the next Mark closes.
func (b *Borders) wait() <-chan struct{} {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = make(chan struct{})
	}
	return b.next
}
