package journal_test

import (
	"errors"
	"fmt"
	"testing"

	"rejoin/server/journal"
	"rejoin/server/journal/faultfs"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// fixture is a log on a fault file system with the frames that were appended to it.
type fixture struct {
	testing.TB
	fs     *faultfs.FS
	opts   journal.Options
	log    *journal.Log
	rec    *journal.Recovered
	frames []journal.Frame
}

func newFixture(t testing.TB) *fixture {
	x := &fixture{TB: t, fs: faultfs.New()}
	x.opts = options(x.fs)
	x.reopen()
	return x
}

func (x *fixture) must(err error) {
	x.Helper()
	if err != nil {
		x.Fatal(err)
	}
}

// payload has no long run of zeros, so that a lost page is seen.
func payload(n int, seed uint64) []byte {
	p := make([]byte, n)
	for i := range p {
		seed = seed*6364136223846793005 + 1442695040888963407
		p[i] = byte(seed>>56) | 1
	}
	return p
}

// make returns n frames that continue the log; they are not appended.
func (x *fixture) make(n, payloadBytes int) []journal.Frame {
	prev, offset := vsr.ID{Sum: wire.RootSum(cluster, group)}, uint64(0)
	if len(x.frames) > 0 {
		h := &x.frames[len(x.frames)-1].Header
		prev, offset = h.ID(), h.NextOffset()
	}
	var out []journal.Frame
	for range n {
		f := makeFrame(prev, offset, 1, payload(payloadBytes, prev.Op))
		prev, offset = f.Header.ID(), f.Header.NextOffset()
		out = append(out, f)
	}
	return out
}

// append appends n frames one by one, without a sync.
func (x *fixture) append(n, payloadBytes int) {
	x.Helper()
	for _, f := range x.make(n, payloadBytes) {
		x.must(x.log.Append([]journal.Frame{f}))
		x.frames = append(x.frames, f)
	}
}

// sync makes everything durable, the mark and the indexes too.
func (x *fixture) sync() {
	x.Helper()
	_, err := x.log.Sync()
	x.must(err)
	x.must(x.log.SyncMark())
}

func (x *fixture) reopen() {
	x.Helper()
	log, rec, err := journal.Open(x.opts)
	x.must(err)
	x.log, x.rec = log, rec
}

// crash cuts the power, keeps only what was synced and opens again.
func (x *fixture) crash() {
	x.Helper()
	x.fs.CrashHard()
	x.opts.SameBoot = false
	x.reopen()
}

// kill ends the process and opens again.
func (x *fixture) kill() {
	x.Helper()
	x.fs.Kill()
	x.opts.SameBoot = true
	x.reopen()
}

// place finds the file and the offset of an op by the rules of the format.
func (x *fixture) place(op uint64) (name string, off int64) {
	for _, f := range x.frames {
		n := int64(len(f.Bytes))
		if name == "" || off > 0 && off+n > x.opts.SegmentBytes {
			name, off = fmt.Sprintf("%s/%020d.seg", dir, f.Header.Op), 0
		}
		if f.Header.Op == op {
			return name, off
		}
		off += n
	}
	x.Fatalf("no op %d", op)
	return "", 0
}

// wantHeld checks that ops from..to read back as they were appended.
func (x *fixture) wantHeld(from, to uint64) {
	x.Helper()
	for op := from; op <= to; op++ {
		h, b, err := x.log.ReadFrame(op, nil)
		if err != nil {
			x.Fatalf("op %d: %v\n%s", op, err, x.fs)
		}
		if f := x.frames[op-1]; h != f.Header || string(b) != string(f.Bytes) {
			x.Fatalf("op %d reads back differently", op)
		}
	}
}

func (x *fixture) wantEnd(held, top uint64) {
	x.Helper()
	if x.rec.Held.Op != held || x.rec.Top != top || x.log.Top() != top || x.log.Written().Op != held {
		x.Fatalf("held %d top %d, want %d and %d: %q", x.rec.Held.Op, x.rec.Top, held, top, x.rec.Findings)
	}
	for _, t := range x.rec.Tail {
		if t.Op > held && !t.Damaged {
			x.Fatalf("op %d above the end is not reported as damaged", t.Op)
		}
	}
}

// wantRepaired: the log is whole up to op end, and so it is after a power cut, with nothing found amiss.
func (x *fixture) wantRepaired(end uint64) {
	x.Helper()
	x.must(x.log.SyncMark())
	x.crash()
	x.wantEnd(end, end)
	x.wantHeld(1, end)
	if len(x.rec.Findings) != 0 {
		x.Fatalf("findings after repair: %q", x.rec.Findings)
	}
}

func (x *fixture) wantHoles(want ...journal.OpRange) {
	x.Helper()
	got := x.log.Holes()
	if len(got) != len(want) {
		x.Fatalf("holes %v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			x.Fatalf("holes %v, want %v", got, want)
		}
	}
	for _, h := range want {
		for op := h.First; op <= h.Last; op++ {
			var damage *journal.DamageError
			if _, _, err := x.log.ReadFrame(op, nil); !errors.Is(err, journal.ErrDamaged) || !errors.As(err, &damage) || damage.File == "" || damage.Op != op {
				x.Fatalf("op %d in a hole: %v", op, err)
			}
		}
	}
}

func (x *fixture) fill(ops ...uint64) {
	x.Helper()
	for _, op := range ops {
		x.must(x.fillOne(x.frames[op-1]))
	}
}

// fillOne fills one frame, and returns why it does not fit or was not written.
func (x *fixture) fillOne(f journal.Frame) error {
	misfits, err := x.log.Fill([]journal.Frame{f})
	if err == nil && len(misfits) != 1 {
		x.Fatalf("%d frames of 1 were seen to", len(misfits))
	}
	if err == nil {
		err = misfits[0]
	}
	return err
}

// reachesDisk lets what was written to a file be on the disk without a sync.
func (x *fixture) reachesDisk(name string) {
	x.Helper()
	b, err := x.fs.ReadFile(name)
	x.must(err)
	x.fs.Resize(name, int64(len(b)))
}

func zeros(n int) []byte { return make([]byte, n) }

// appendEmpty appends a frame without a body whose other fields are those of h.
func (x *fixture) appendEmpty(h vsr.Header) {
	x.Helper()
	h.BodyBytes, h.BodySum = 0, wire.Sum(nil)
	wire.Seal(&h)
	b := make([]byte, wire.HeaderBytes)
	wire.PutHeader(b, &h)
	f := journal.Frame{Header: h, Bytes: b}
	x.must(x.log.Append([]journal.Frame{f}))
	x.frames = append(x.frames, f)
}
