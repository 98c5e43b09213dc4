package server

import (
	"sync"
	"sync/atomic"
	"testing"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

func numbered(n uint64) item { return item{in: vsr.Input{Kind: vsr.InInstalled, Token: n}} }

// TestInboxOneAtATimeInOrder lets many post at once: no two inputs are handled at the same time, each
// once, and those of one poster in their order.
func TestInboxOneAtATimeInOrder(t *testing.T) {
	const posters, each = 8, 1000
	var busy atomic.Int32
	var next [posters]uint64
	b := newInbox(func(it *item) {
		if busy.Add(1) != 1 {
			t.Error("two inputs are handled at the same time")
		}
		poster, n := it.in.Token/each, it.in.Token%each
		if next[poster] != n {
			t.Errorf("poster %d: input %d where %d was due", poster, n, next[poster])
		}
		next[poster] = n + 1
		busy.Add(-1)
	})
	b.begin()
	stop, loop := make(chan struct{}), sync.WaitGroup{}
	loop.Go(func() {
		for {
			select {
			case <-b.wake:
				b.run()
			case <-stop:
				return
			}
		}
	})
	var all sync.WaitGroup
	for p := range uint64(posters) {
		all.Go(func() {
			for n := range uint64(each) {
				if !b.post(numbered(p*each + n)) {
					t.Error("refused")
				}
			}
		})
	}
	all.Wait()
	close(stop)
	loop.Wait()
	b.run() // what a last turn has left
	for p, n := range next {
		if n != each {
			t.Errorf("poster %d: %d of %d inputs were handled", p, n, each)
		}
	}
}

// TestInboxTurnIsShort lets one poster find much work: it does about a turn's worth and leaves the rest to the loop.
func TestInboxTurnIsShort(t *testing.T) {
	handled := 0
	var b *inbox
	b = newInbox(func(it *item) {
		handled++
		if it.in.Token > 0 {
			b.postNow(numbered(it.in.Token - 1))
		}
	})
	b.begin()
	b.post(numbered(10 * turnItems))
	if handled != turnItems {
		t.Errorf("the poster handled %d inputs, want %d", handled, turnItems)
	}
	select {
	case <-b.wake:
		b.run()
	default:
		t.Error("the loop was not woken for the rest")
	}
	if want := 10*turnItems + 1; handled != want {
		t.Errorf("%d inputs were handled in all, want %d", handled, want)
	}
}

// TestInboxTurnIsShortWithMuchWaiting: what waits at once is no more the poster's work than what comes one by one.
func TestInboxTurnIsShortWithMuchWaiting(t *testing.T) {
	const waiting = 10 * turnItems
	var order []uint64
	var b *inbox
	b = newInbox(func(it *item) {
		order = append(order, it.in.Token)
		if it.in.Token == 0 {
			for n := range uint64(waiting) {
				b.postNow(numbered(n + 1))
			}
		}
	})
	b.begin()
	b.post(numbered(0))
	if len(order) != turnItems {
		t.Errorf("the poster handled %d inputs, want %d", len(order), turnItems)
	}
	b.run()
	for n, got := range order {
		if got != uint64(n) {
			t.Fatalf("input %d was handled as number %d", got, n)
		}
	}
	if want := waiting + 1; len(order) != want {
		t.Errorf("%d inputs were handled in all, want %d", len(order), want)
	}
}

// TestInboxHoldsBack fills it: a further poster waits until something was taken.
func TestInboxHoldsBack(t *testing.T) {
	handled := 0
	b := newInbox(func(*item) { handled++ })
	for n := range uint64(inboxItems) {
		b.post(numbered(n)) // the turn is taken: they gather
	}
	posted := make(chan bool)
	go func() { posted <- b.post(numbered(inboxItems)) }()
	select {
	case <-posted:
		t.Error("one more than there is room for was taken")
	default:
	}
	b.begin()
	if !<-posted {
		t.Error("the one that waited was refused")
	}
	b.run()
	if want := inboxItems + 1; handled != want {
		t.Errorf("%d inputs were handled, want %d", handled, want)
	}
}

// TestInboxClose releases every frame, of those that wait in it and of those who come later, and wakes
// who waits for room.
func TestInboxClose(t *testing.T) {
	pool, err := wire.NewCheckedPool(1)
	if err != nil {
		t.Fatal(err)
	}
	frame := pool.Get(wire.OwnerRequest) // one for all: a pool of as many as wait would be a gigabyte, and poisoned
	framed := func() item {
		frame.Retain(wire.OwnerPartition)
		return item{in: vsr.Input{Kind: vsr.InInstalled}, frame: frame}
	}
	b := newInbox((*item).release)
	for range inboxItems {
		b.post(framed())
	}
	var blocked sync.WaitGroup
	for range 4 {
		blocked.Go(func() { b.post(framed()) })
	}
	closing := make(chan struct{})
	go func() {
		defer close(closing)
		b.close()
	}()
	blocked.Wait() // with the turn still taken: refused
	b.begin()      // the turn is given back
	<-closing
	if b.post(framed()) {
		t.Error("a closed inbox took something")
	}
	frame.Release(wire.OwnerRequest)
	if leaks := pool.Leaks(); len(leaks) > 0 {
		t.Errorf("%d buffers are out: %v", len(leaks), leaks[0])
	}
}
