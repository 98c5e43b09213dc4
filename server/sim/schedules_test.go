package sim

import (
	"fmt"
	"syscall"
	"testing"

	"rejoin/server/journal/faultfs"
)

// playSchedule plays a script without a mistake that is followed by what only code can say.
func playSchedule(t *testing.T, arena *Arena, text string, then ...func(*scriptRun)) {
	t.Helper()
	s, err := ParseScript("schedule", "schedule", text)
	if err != nil {
		t.Fatal(err)
	}
	for _, do := range then {
		s.steps = append(s.steps, step{"schedule", "", do})
	}
	s.steps = append(s.steps, step{"schedule", "rest", func(r *scriptRun) { r.judge(); r.rest() }})
	played, err := s.Play(false, arena)
	if err != nil {
		t.Fatal(err)
	}
	if played.Failure != nil {
		t.Fatal(played.Failure)
	}
}

// beginsToInstall lets r0 come back when its peers have trimmed what it lacks.
const beginsToInstall = `keep 8
bulk 4ms a KiB
until r1 leads view 1
append 16
until r0 commit 16
kill r0
append 24
until r1 first 33
until r2 first 32+
start r0
until r0 state transferring
`

// fallsAt lets r0 end before its next but so many operations of the disk, and come back; it tells
// whether there were so many.
func fallsAt(operation int, how ending, fell *bool) func(*scriptRun) {
	return func(r *scriptRun) {
		p := r.node(0).life
		p.opsLeft, p.how = operation, how
		r.w.runUntil(r.w.now+2*second, func() bool { return !p.alive() })
		if *fell = !p.alive(); *fell {
			r.start(0)
		} else {
			p.opsLeft = unlimited
		}
	}
}

// TestReceiverFallsAtEachOperationOfAnInstall: the install is whole or has not happened, and is made good.
func TestReceiverFallsAtEachOperationOfAnInstall(t *testing.T) {
	arena := newArena(t)
	for _, how := range []ending{killed, powered} {
		operations := 0
		for fell := true; fell; operations++ {
			playSchedule(t, arena, beginsToInstall, fallsAt(operations, how, &fell))
		}
		if t.Logf("%d operations", operations-1); operations < 30 {
			t.Errorf("only %d operations of the disk were met: this is no install", operations-1)
		}
	}
}

// TestReceiverFallsAgainInRecovery: it falls in the middle of the install, and again at one of the
// first operations after that, most of which are those of the start.
func TestReceiverFallsAgainInRecovery(t *testing.T) {
	arena := newArena(t)
	for _, first := range []int{8, 16, 24} {
		for second := range 30 {
			playSchedule(t, arena, beginsToInstall, fallsAt(first, killed, new(bool)), fallsAt(second, powered, new(bool)))
		}
	}
}

// TestReceiverCannotSaveItsState: the disk refuses a write of the state file, or its sync, of a replica
// that is catching up. It stops itself, is started again, and catches up.
func TestReceiverCannotSaveItsState(t *testing.T) {
	arena := newArena(t)
	for _, verb := range []faultfs.Verb{faultfs.VerbWrite, faultfs.VerbSync} {
		for after := range 4 {
			fenced := uint64(0)
			playSchedule(t, arena, beginsToInstall, func(r *scriptRun) {
				n := r.node(0)
				n.mayFail = true
				n.fs.Inject(faultfs.Fault{Verb: verb, Name: "state", After: after, Err: syscall.EIO, DropDirty: verb == faultfs.VerbSync})
				r.kill(1) // a view change makes every replica save its state
				r.w.runUntil(r.w.now+3*second, nil)
				r.start(1)
				fenced = r.w.cover.Fences
			})
			if fenced == 0 && after == 0 {
				t.Errorf("no %v of the state file failed", verb)
			}
		}
	}
}

// TestServerFallsInTheMiddleOfAPull: the primary that serves a pull of 40 ops is killed at 1, 50 and 99 %
// of it, staged or not; the receiver goes on from another one.
func TestServerFallsInTheMiddleOfAPull(t *testing.T) {
	arena := newArena(t)
	for _, keep := range []string{"", "keep 41\n"} {
		for _, chunks := range []int{1, 20, 39} {
			playSchedule(t, arena, keep+fmt.Sprintf(`chunk 1
bulk 4ms a KiB
until r1 leads view 1
append 16
until r0 commit 16
kill r0
append 60
run 100ms
start r0
until saw chunk from r1 to r0 %d+
kill r1
until r2 leads
until r0 commit 76
append 4
start r1
`, chunks))
		}
	}
}

// TestLoadOnAndOff: peers trim while they serve, and what is pulled is twice the ring and more.
func TestLoadOnAndOff(t *testing.T) {
	arena := newArena(t)
	for _, load := range []string{"", "load by 2 every 10ms\n"} {
		for _, bulk := range []string{"0s", "4ms", "20ms"} {
			playSchedule(t, arena, "keep 12\nchunk 4\nbulk "+bulk+` a KiB
until r1 leads view 1
append 16
until r0 commit 16
kill r0
append 30
`+load+`run 300ms
start r0
judge
`, func(r *scriptRun) {
				if r.w.loading {
					r.w.catchUpUnderLoad()
				}
			})
		}
	}
}
