package events

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"rejoin/server/wire"
)

func open(t *testing.T, o Options) *Recorder {
	t.Helper()
	if o.Path == "" {
		o.Path = filepath.Join(t.TempDir(), "events.ndjson")
	}
	r, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// runUntilDone runs r until the returned function is called.
func runUntilDone(t *testing.T, r *Recorder) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func readEvents(t *testing.T, path string) []wire.Event {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []wire.Event
	for line := range bytes.Lines(text) {
		if e, err := wire.ParseEvent(line); err == nil {
			all = append(all, e)
		}
	}
	return all
}

func TestEventsReachTheFileInOrder(t *testing.T) {
	r := open(t, Options{Node: 2})
	stop := runUntilDone(t, r)
	for op := range uint64(500) {
		r.Emit(wire.Event{Kind: wire.EventRepairProgress, OpFrom: op + 1, Detail: "line\nbreak"})
	}
	stop()
	all := readEvents(t, r.options.Path)
	if len(all) != 500 || r.Dropped() != 0 {
		t.Fatalf("%d events, %d dropped", len(all), r.Dropped())
	}
	for i, e := range all {
		if e.OpFrom != uint64(i+1) || e.Node != 2 || e.TimeMonoNs == 0 {
			t.Fatalf("event %d is %+v", i, e)
		}
	}
}

func TestEmitNeverBlocksAndCountsDrops(t *testing.T) {
	r := open(t, Options{})
	for range queueEventsMax + 17 { // nobody writes yet
		r.Emit(wire.Event{Kind: wire.EventRole})
	}
	if r.Dropped() != 17 {
		t.Fatalf("%d dropped", r.Dropped())
	}
	runUntilDone(t, r)()
	all := readEvents(t, r.options.Path)
	if len(all) != queueEventsMax+1 || all[0].Kind != wire.EventDropped || all[0].Rounds != 17 {
		t.Fatalf("%d events, the first is %+v", len(all), all[0])
	}
}

func TestOpenAppendsAndHealsATornLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.ndjson")
	if err := os.WriteFile(path, []byte(`{"t_mono_ns":1,"node":0,"topic":"","partition":0,"kind":"role"}`+"\n"+`{"t_mono`), 0o644); err != nil {
		t.Fatal(err)
	}
	r := open(t, Options{Path: path})
	r.Emit(wire.Event{Kind: wire.EventFenced})
	runUntilDone(t, r)()
	all := readEvents(t, path)
	if len(all) != 2 || all[0].Kind != wire.EventRole || all[1].Kind != wire.EventFenced {
		t.Fatalf("%+v", all)
	}
}

func TestFileIsBounded(t *testing.T) {
	r := open(t, Options{FileBytesMax: 2000})
	for op := range uint64(100) {
		r.Emit(wire.Event{Kind: wire.EventRepairEnd, OpFrom: op + 1})
	}
	runUntilDone(t, r)()
	for _, path := range []string{r.options.Path, r.options.Path + ".1"} {
		info, err := os.Stat(path)
		if err != nil || info.Size() > 2000 {
			t.Errorf("%v bytes, %v", info.Size(), err)
		}
	}
	last := readEvents(t, r.options.Path)
	if got := last[len(last)-1].OpFrom; got != 100 {
		t.Errorf("the last event is %d", got)
	}
}

func TestUnwritableFileDropsAndCounts(t *testing.T) {
	r := open(t, Options{})
	_ = r.file.Close()
	readOnly, err := os.Open(r.options.Path)
	if err != nil {
		t.Fatal(err)
	}
	r.file = readOnly
	r.Emit(wire.Event{Kind: wire.EventRole})
	r.Emit(wire.Event{Kind: wire.EventRole})
	runUntilDone(t, r)()
	if r.Dropped() != 2 {
		t.Errorf("%d dropped", r.Dropped())
	}
}

func TestFollowGivesThePastThenTheNewWithoutGap(t *testing.T) {
	r := open(t, Options{})
	stop := runUntilDone(t, r)
	const total = 3000
	var wait sync.WaitGroup
	for follower := range 4 {
		wait.Go(func() {
			next := uint64(1)
			err := r.Follow(t.Context(), 0, func(line []byte) error {
				if line == nil {
					return nil
				}
				e, err := wire.ParseEvent(line)
				if err != nil || e.OpFrom != next {
					t.Errorf("follower %d: op %d (%v), want %d", follower, e.OpFrom, err, next)
				}
				next++
				if next > total {
					return errDone
				}
				return nil
			})
			if !errors.Is(err, errDone) && !errors.Is(err, ErrSlow) {
				t.Error(err)
			}
		})
	}
	for op := uint64(1); op <= total; op++ {
		r.Emit(wire.Event{Kind: wire.EventRole, OpFrom: op})
	}
	wait.Wait()
	stop()
	if r.Dropped() != 0 {
		t.Fatalf("%d dropped", r.Dropped())
	}
}

var errDone = errors.New("seen enough")

func TestFollowSince(t *testing.T) {
	r := open(t, Options{})
	for at := range int64(10) {
		r.Emit(wire.Event{Kind: wire.EventRole, TimeMonoNs: at + 1})
	}
	stop := runUntilDone(t, r)
	var times []int64
	err := r.Follow(t.Context(), 7, func(line []byte) error {
		if line == nil {
			return nil
		}
		e, err := wire.ParseEvent(line)
		times = append(times, e.TimeMonoNs)
		if e.TimeMonoNs == 10 {
			return errDone
		}
		return err
	})
	if !errors.Is(err, errDone) || len(times) != 3 {
		t.Fatalf("%v, %v", times, err)
	}
	stop()
}

// The file before the present one is replayed too.
func TestFollowGoesBackBeyondAFullFile(t *testing.T) {
	r := open(t, Options{FileBytesMax: 2000})
	stop := runUntilDone(t, r)
	for op := uint64(1); op <= 100; op++ {
		r.Emit(wire.Event{Kind: wire.EventRepairEnd, OpFrom: op})
	}
	var ops []uint64
	err := r.Follow(t.Context(), 0, func(line []byte) error {
		if line == nil {
			return nil
		}
		e, err := wire.ParseEvent(line)
		if err != nil {
			return err
		}
		if ops = append(ops, e.OpFrom); e.OpFrom == 100 {
			return errDone
		}
		return nil
	})
	stop()
	for i, op := range ops {
		if op != ops[0]+uint64(i) {
			t.Fatalf("ops %v", ops)
		}
	}
	if !errors.Is(err, errDone) || len(ops) <= len(readEvents(t, r.options.Path)) {
		t.Errorf("ops %d to 100, %v; the present file alone holds %d", ops[0], err, len(readEvents(t, r.options.Path)))
	}
}

func TestSlowFollowerIsCutOff(t *testing.T) {
	r := open(t, Options{})
	stop := runUntilDone(t, r)
	following, goOn := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	lines := 0
	go func() {
		ended <- r.Follow(t.Context(), 0, func(line []byte) error {
			if line == nil {
				close(following)
				<-goOn
				return nil
			}
			lines++
			return nil
		})
	}()
	<-following
	for range followerLinesMax + 1 {
		r.Emit(wire.Event{Kind: wire.EventRole})
	}
	for r.SlowFollowers() == 0 {
		runtime.Gosched()
	}
	close(goOn)
	if err := <-ended; !errors.Is(err, ErrSlow) {
		t.Fatal(err)
	}
	if lines != followerLinesMax {
		t.Errorf("%d lines before the cut", lines)
	}
	stop()
}

func TestFollowersAreBoundedAndEndWithTheRecorder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := open(t, Options{})
		stop := runUntilDone(t, r)
		ended := make(chan error, followersMax)
		for range followersMax {
			go func() { ended <- r.Follow(t.Context(), 0, func([]byte) error { return nil }) }()
		}
		synctest.Wait()
		if err := r.Follow(t.Context(), 0, func([]byte) error { return nil }); !errors.Is(err, ErrTooMany) {
			t.Errorf("follower %d: %v", followersMax+1, err)
		}
		stop()
		for range followersMax {
			if err := <-ended; !errors.Is(err, ErrStopped) {
				t.Error(err)
			}
		}
		if err := r.Follow(t.Context(), 0, func([]byte) error { return nil }); !errors.Is(err, ErrStopped) {
			t.Error(err)
		}
	})
}

func TestOpenRefuses(t *testing.T) {
	for _, o := range []Options{{}, {Path: "x", Node: -1}, {Path: "x", FileBytesMax: -1}, {Path: filepath.Join(t.TempDir(), "no", "such")}} {
		if _, err := Open(o); err == nil || !strings.HasPrefix(err.Error(), "events: ") && !strings.HasPrefix(err.Error(), "open events file") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestEmitAllocatesNothing(t *testing.T) {
	r := open(t, Options{})
	if got := testing.AllocsPerRun(100, func() { r.Emit(wire.Event{Kind: wire.EventRole}) }); got != 0 {
		t.Errorf("%v allocations", got)
	}
	runUntilDone(t, r)()
}
