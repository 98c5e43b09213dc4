package server

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func stoppedTimer() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// TestTurnsAreGivenInOrder: no more than so many have one, who waits gets it in the order of waiting, and nobody who comes later overtakes.
func TestTurnsAreGivenInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const atOnce, waiting = 2, 20
		d := newDiskTurns(atOnce, time.Hour, slog.New(slog.DiscardHandler))
		timer := stoppedTimer()
		for range atOnce {
			if !d.take(nil, timer) {
				t.Fatal("a free turn was not given")
			}
		}
		var mu sync.Mutex
		var order []int
		for i := range waiting {
			go func() {
				if !d.take(nil, stoppedTimer()) {
					t.Error("a turn was missed within patience")
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
			}()
			synctest.Wait()
		}
		if len(order) > 0 {
			t.Fatalf("%d turns beyond the %d there are", len(order), atOnce)
		}
		for i := range waiting {
			d.giveBack()
			synctest.Wait()
			if len(order) != i+1 || order[i] != i {
				t.Fatalf("turns went to %v, want one at a time, in order", order)
			}
		}
		if d.missed.Load() != 0 {
			t.Errorf("%d turns were missed", d.missed.Load())
		}
	})
}

// TestTurnsThatAreKept: whoever waits behind a stuck disk goes on without one after its patience, and the log says it once in a while.
func TestTurnsThatAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		d := newDiskTurns(1, turnPatience, slog.New(slog.NewTextHandler(&text, nil)))
		timer := stoppedTimer()
		d.take(nil, timer) // never given back
		for i := range 5 {
			began := time.Now()
			if d.take(nil, timer) {
				t.Fatal("a turn that another has was given")
			}
			if waited := time.Since(began); waited != turnPatience {
				t.Errorf("wait %d took %v, want %v", i, waited, turnPatience)
			}
		}
		if n := d.missed.Load(); n != 5 {
			t.Errorf("%d turns missed, want 5", n)
		}
		if n := strings.Count(text.String(), "the disk is slow"); n != 1 {
			t.Errorf("it was told %d times within a moment: %s", n, text.String())
		}
		time.Sleep(turnTellEvery)
		d.take(nil, timer)
		if n := strings.Count(text.String(), "the disk is slow"); n != 2 {
			t.Errorf("it was told %d times: %s", n, text.String())
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if began := time.Now(); d.take(ctx.Done(), timer) || time.Since(began) > 0 {
			t.Error("a node that stops waits for a turn")
		}
		d.giveBack()
		if !d.take(nil, timer) {
			t.Error("the turn that was given back at last was not given")
		}
	})
}

// TestPartitionsShareTurns: many partitions of a node that has one turn all get on, and what they acknowledge is there.
func TestPartitionsShareTurns(t *testing.T) {
	const partitions, each = 8, 20
	c := newCluster(t, 3, TopicConfig{Name: "orders", Partitions: partitions})
	c.config.Limits.FlushesAtOnce = 1
	c.start(all(3)...)
	var wait sync.WaitGroup
	for i := range partitions {
		p := c.producer("orders", i, uint64(i+1))
		wait.Go(func() {
			for range each {
				p.send()
			}
		})
	}
	wait.Wait()
	for i := range partitions {
		c.expectEqual("orders", i, 3*each)
	}
}
