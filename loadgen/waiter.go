package loadgen

import "time"

// Waiter waits for points in time as producers do, for what measures beside them. It belongs to one goroutine.
type Waiter struct{ pacer pacer }

// NewWaiter opens one; Close gives its timer back.
func NewWaiter() (*Waiter, error) {
	p, err := newPacer(PacerTimerfd)
	if err != nil {
		return nil, err
	}
	return &Waiter{p}, nil
}

// Until returns at a time, at once if it has passed.
func (w *Waiter) Until(at time.Time) { w.pacer.until(at) }

// Close gives the timer back.
func (w *Waiter) Close() error { return w.pacer.close() }
