package journal_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"rejoin/server/journal"
	"rejoin/server/journal/faultfs"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

const (
	cluster = 0xc1
	group   = 7
	dir     = "topics/t/0"
)

func options(fs journal.FS) journal.Options {
	return journal.Options{FS: fs, Dir: dir, Cluster: cluster, Group: group, SegmentBytes: 16 << 10, Pipeline: 8}
}

// makeFrame makes the frame that continues prev at a message offset.
func makeFrame(prev vsr.ID, offset, view uint64, payload []byte) journal.Frame {
	body := wire.AppendMessage(nil, wire.Message{Payload: payload})
	h := vsr.Header{Kind: vsr.KindBatch, Session: 1, Request: prev.Op + 1, MessageCount: 1, BodyBytes: uint32(len(body)), BodySum: wire.Sum(body),
		Parent: prev.Sum, Cluster: cluster, Group: group, View: view, Op: prev.Op + 1, BaseOffset: offset}
	wire.Seal(&h)
	b := make([]byte, wire.HeaderBytes, wire.HeaderBytes+len(body))
	wire.PutHeader(b, &h)
	return journal.Frame{Header: h, Bytes: append(b, body...)}
}

// driver runs a random script on a log and remembers what must be true of it after a crash.
type driver struct {
	t   *testing.T
	fs  *faultfs.FS
	rng *rand.Rand
	log *journal.Log

	view   uint64                   // changes what is appended, so that two tries of an op differ
	frames []journal.Frame          // the log as the caller knows it: op i+1 at i
	ever   map[uint64]journal.Frame // by sum: all that was ever appended
	acked  int                      // ops whose sync returned
	cutTo  int                      // where a cut goes that has not returned, or -1
	most   int                      // ops that may be on the disk

	states []journal.State // the last that was saved, and one whose save is under way
	tables []uint64        // ops, likewise
	commit int
	trace  []string
}

func newDriver(t *testing.T, seed uint64) *driver {
	return &driver{t: t, fs: faultfs.New(), rng: rand.New(rand.NewPCG(seed, 1)), ever: map[uint64]journal.Frame{}, cutTo: -1, states: []journal.State{{}}, view: 1}
}

func (d *driver) fatalf(format string, args ...any) {
	d.t.Helper()
	d.t.Fatalf("%s\nscript: %s\n%s", fmt.Sprintf(format, args...), strings.Join(d.trace, " "), d.fs)
}

func (d *driver) note(format string, args ...any) {
	d.trace = append(d.trace, fmt.Sprintf(format, args...))
}

func (d *driver) end() (vsr.ID, uint64) {
	if len(d.frames) == 0 {
		return vsr.ID{Sum: wire.RootSum(cluster, group)}, 0
	}
	h := &d.frames[len(d.frames)-1].Header
	return h.ID(), h.NextOffset()
}

// step does one random thing and returns the error of the log.
func (d *driver) step() error {
	switch n := d.rng.IntN(20); {
	case n < 8:
		return d.append()
	case n < 13:
		d.note("sync")
		id, err := d.log.Sync()
		if err == nil {
			d.acked = int(id.Op)
		}
		return err
	case n < 14:
		d.note("syncmark")
		return d.log.SyncMark()
	case n < 15:
		d.note("prepare")
		return d.log.Prepare()
	case n < 17:
		return d.cut()
	case n < 18:
		return d.saveState()
	case n < 19:
		return d.saveTable()
	}
	if d.commit < d.acked {
		d.commit = d.acked
		d.log.NoteCommit(d.frames[d.commit-1].Header.ID())
	}
	return nil
}

func (d *driver) append() error {
	var group []journal.Frame
	prev, offset := d.end()
	for range 1 + d.rng.IntN(6) {
		payload := make([]byte, d.rng.IntN(5000))
		for i := range payload {
			payload[i] = byte(d.rng.Uint32())
		}
		f := makeFrame(prev, offset, d.view, payload)
		prev, offset = f.Header.ID(), f.Header.NextOffset()
		d.ever[f.Header.Sum] = f
		group = append(group, f)
	}
	d.note("append %d..%d", group[0].Header.Op, prev.Op)
	d.most = max(d.most, int(prev.Op))
	err := d.log.Append(group)
	if err == nil {
		d.frames = append(d.frames, group...)
	}
	return err
}

func (d *driver) cut() error {
	if len(d.frames) == d.commit {
		return nil
	}
	to := d.commit + d.rng.IntN(len(d.frames)-d.commit)
	d.note("cut %d", to)
	d.cutTo = to
	if err := d.log.Cut(uint64(to)); err != nil {
		return err
	}
	d.cutTo = -1
	d.frames, d.most = d.frames[:to], to
	d.acked = min(d.acked, to)
	d.view++
	return nil
}

func (d *driver) saveState() error {
	s := journal.State{View: d.view * 10, LogView: d.view, Wiped: d.rng.IntN(2) == 0}
	d.note("state %d", s.View)
	d.states = append(d.states[len(d.states)-1:], s)
	err := d.log.SaveState(s)
	if err == nil {
		d.states = d.states[1:]
	}
	return err
}

func (d *driver) saveTable() error {
	if d.commit == 0 {
		return nil
	}
	h := &d.frames[d.commit-1].Header
	d.note("table %d", h.Op)
	d.tables = append(d.tables, h.Op)
	err := d.log.SaveTable(journal.Table{ID: h.ID(), NextOffset: h.NextOffset(), Bytes: []byte(fmt.Sprint("table ", h.Op))})
	if err == nil {
		d.tables = []uint64{h.Op}
	}
	return err
}

// open opens the log and checks everything that a crash must leave.
func (d *driver) open(sameBoot bool) *journal.Recovered {
	d.t.Helper()
	o := options(d.fs)
	o.SameBoot = sameBoot
	log, r, err := journal.Open(o)
	if err != nil {
		d.fatalf("open: %v", err)
	}
	d.log = log
	d.check(r)
	d.frames = d.frames[:0]
	for op := uint64(1); op <= r.Held.Op; op++ {
		h, err := log.Header(op)
		if err != nil {
			d.fatalf("header %d: %v", op, err)
		}
		d.frames = append(d.frames, d.ever[h.Sum])
	}
	d.acked, d.most, d.cutTo = len(d.frames), len(d.frames), -1
	d.states = []journal.State{r.State}
	d.tables = nil
	if r.Table() != nil {
		d.tables = []uint64{r.Table().ID.Op}
	}
	return r
}

func (d *driver) check(r *journal.Recovered) {
	d.t.Helper()
	must := d.acked
	if d.cutTo >= 0 {
		must = min(must, d.cutTo)
	}
	if int(r.Held.Op) < must || int(r.Held.Op) > d.most {
		d.fatalf("holds op %d, acknowledged %d, appended %d: %+v", r.Held.Op, must, d.most, r)
	}
	if r.Top != r.Held.Op || len(r.Holes) > 0 || r.MarkLost || r.TopUnknown {
		d.fatalf("a crash alone is no damage: %+v", r)
	}
	parent := wire.RootSum(cluster, group)
	for op := uint64(1); op <= r.Held.Op; op++ {
		h, b, err := d.log.ReadFrame(op, nil)
		if err != nil {
			d.fatalf("read op %d: %v", op, err)
		}
		was, ok := d.ever[h.Sum]
		if !ok || string(b) != string(was.Bytes) || h.Parent != parent || h.Op != op {
			d.fatalf("op %d is invented or out of place", op)
		}
		if int(op) <= len(d.frames) && h != d.frames[op-1].Header {
			d.fatalf("op %d is not the one that was appended last", op)
		}
		parent = h.Sum
	}
	if !contains(d.states, r.State) {
		d.fatalf("state %+v, saved %+v", r.State, d.states)
	}
	if len(d.tables) > 0 && d.acked > 0 && r.Table() == nil && len(d.tables) == 1 {
		// A single table whose save was under way may be missing.
		d.note("no table")
	}
	if r.Table() != nil && !contains(d.tables, r.Table().ID.Op) {
		d.fatalf("table of op %d, saved %v", r.Table().ID.Op, d.tables)
	}
	d.checkTail(r)
}

func (d *driver) checkTail(r *journal.Recovered) {
	d.t.Helper()
	want := min(8, int(r.Top))
	if len(r.Tail) != want {
		d.fatalf("tail of %d ops, want %d", len(r.Tail), want)
	}
	for i, t := range r.Tail {
		if t.Damaged || t.Op != r.Top-uint64(want-1-i) || t.Header.Op != t.Op {
			d.fatalf("tail %+v", t)
		}
	}
}

func contains[T comparable](list []T, x T) bool {
	for _, y := range list {
		if x == y {
			return true
		}
	}
	return false
}

// runUntilStop runs steps until the file system refuses; it returns whether it did.
func (d *driver) runUntilStop(steps int) bool {
	d.t.Helper()
	for range steps {
		err := d.step()
		if err == nil {
			continue
		}
		if !errors.Is(err, faultfs.ErrStopped) {
			d.fatalf("step: %v", err)
		}
		if _, again := d.log.Sync(); again == nil {
			d.fatalf("a log goes on after %v", err)
		}
		return true
	}
	return false
}

func (d *driver) crash() (sameBoot bool) {
	if d.rng.IntN(3) == 0 {
		d.note("| kill")
		d.fs.Kill()
		return true
	}
	d.note("| power")
	d.fs.Crash(d.rng)
	return false
}

// TestCrashBeforeEveryOperation runs one script again and again, each time with a crash before
// another operation of the file system, the opening of the log included.
func TestCrashBeforeEveryOperation(t *testing.T) {
	seeds := uint64(3)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		for k := 0; ; k++ {
			d := newDriver(t, seed)
			d.fs.StopBefore(k)
			d.note("stop before %d of seed %d:", k, seed)
			stopped := true
			if log, _, err := journal.Open(options(d.fs)); err == nil {
				d.log = log
				stopped = d.runUntilStop(60)
			} else if !errors.Is(err, faultfs.ErrStopped) {
				d.fatalf("open: %v", err)
			}
			d.rng = rand.New(rand.NewPCG(seed, uint64(k)+1000))
			if d.commit > d.acked {
				d.fatalf("script commits what is not durable")
			}
			same := d.crash()
			d.open(same)
			d.againTheSame(same)
			if !stopped {
				break
			}
		}
	}
}

// againTheSame kills right after an Open and holds the next one against it.
func (d *driver) againTheSame(sameBoot bool) {
	d.t.Helper()
	o := options(d.fs)
	o.SameBoot = sameBoot
	var first *journal.Recovered
	for i := range 2 {
		if i == 0 {
			d.fs.CrashHard()
		} else {
			d.fs.Kill()
		}
		_, r, err := journal.Open(o)
		if err != nil {
			d.fatalf("open again: %v", err)
		}
		if first == nil {
			first = r
			if int(r.Held.Op) != len(d.frames) {
				d.fatalf("an Open reported op %d as held, the next %d", len(d.frames), r.Held.Op)
			}
			continue
		}
		if !reflect.DeepEqual(first, r) {
			d.fatalf("two recoveries differ:\n%+v\n%+v", first, r)
		}
	}
}

// TestCrashesOneAfterAnother crashes a log many times, also while it recovers, and goes on with what
// is left.
func TestCrashesOneAfterAnother(t *testing.T) {
	seeds := uint64(60)
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		d := newDriver(t, seed+1000)
		d.note("seed %d:", seed)
		d.open(false)
		for range 12 {
			d.fs.StopBefore(d.rng.IntN(80))
			d.runUntilStop(30)
			same := d.crash()
			for range d.rng.IntN(3) {
				d.fs.StopBefore(d.rng.IntN(20))
				o := options(d.fs)
				o.SameBoot = same
				if _, _, err := journal.Open(o); err != nil && !errors.Is(err, faultfs.ErrStopped) {
					d.fatalf("open under a crash: %v", err)
				}
				same = d.crash() && same
			}
			d.open(same)
			d.commit = min(d.commit, len(d.frames))
		}
	}
}
