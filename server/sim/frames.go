package sim

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"rejoin/server/journal/faultfs"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// reads tells whether the files of n have this op, undamaged.
func (n *node) reads(id vsr.ID) bool {
	if !n.seen.holds(id) {
		return false
	}
	if !n.rotted { // nothing has damaged it
		return true
	}
	return isFrame(n.frameOf(id.Op), id)
}

// damagedOps lists the ops of n's log that are not what was written.
func (n *node) damagedOps() (ops []uint64) {
	n.walk(n.fs, func(f *frameAt) bool {
		if n.damagedAt(f) && f.op <= n.seen.written {
			ops = append(ops, f.op)
		}
		return true
	})
	return ops
}

func (n *node) damagedAt(f *frameAt) bool { return !isFrame(f.bytes, n.seen.at(f.op).ID()) }

// span is a range of ops, both included; the zero span is none.
type span struct{ first, last uint64 }

func (s span) has(op uint64) bool { return op >= s.first && op <= s.last }

// unreadable lists the ops up to last that the next start of n could not read from fs, were those of more damaged,
// too: those that are damaged and, where no index tells where a frame begins, those behind them in their file. It
// tells whether what is appended next would stand behind them, too.
func (n *node) unreadable(fs *faultfs.FS, last uint64, more span) (ops []uint64, behind bool) {
	file, told := "", uint64(0)
	n.walk(fs, func(f *frameAt) bool {
		if f.op > last {
			return false
		}
		if f.name != file {
			file, behind, told = f.name, false, toldBy(fs, f.name)
		}
		damaged := more.has(f.op) || n.damagedAt(f)
		behind = behind || damaged && f.op > told
		if damaged || behind {
			ops = append(ops, f.op)
		}
		return true
	})
	return ops, behind
}

// loss is what a replica would not have any more after its next start.
type loss struct {
	ops  []uint64 // of those that its log has, rising
	from uint64   // what it appends from here on, until the damage is mended; 0: that would be there
	all  bool     // it gives its log up, and forgets also that it has dropped what is below
}

func (l *loss) has(op uint64) bool {
	_, is := slices.BinarySearch(l.ops, op)
	return l.all || is || l.from > 0 && op >= l.from
}

// loses tells what n would not have any more after its next start, were ops of more damaged, too: what it could
// not read, and what it would cut, be it written, not yet written, or still to come. A process that runs cuts no
// lower, for no checkpoint is above its commit.
func (n *node) loses(more span) loss {
	ops, behind := n.unreadable(n.fs, n.seen.written, more)
	held, told := n.heldWithout(ops)
	l := loss{ops: ops, all: !told}
	if held < n.seen.written {
		first, _ := slices.BinarySearch(ops, held+1)
		l.ops = ops[:first]
		for op := max(held+1, n.seen.start); op <= n.seen.head(); op++ {
			l.ops = append(l.ops, op)
		}
	}
	if behind || held < n.seen.written {
		l.from = n.seen.head() + 1
	}
	return l
}

// heldWithout is the op at which the log of n ends after a start that cannot read those listed. It ends below the
// first of them above the last checkpoint of the client table, for without them no table can be told. It does not end
// in one of them either, and may lose a checkpoint so; without any a log that has been trimmed cannot be told, and is
// given up.
func (n *node) heldWithout(lost []uint64) (held uint64, told bool) {
	tables := n.tables()
	held = n.seen.written
	for {
		table := uint64(0)
		for _, op := range tables {
			if op <= held {
				table = max(table, op)
			}
		}
		if table+1 < n.seen.start {
			return n.seen.start - 1, false
		}
		i, _ := slices.BinarySearch(lost, table+1)
		if i == len(lost) || lost[i] > held {
			return held, true
		}
		for held = lost[i] - 1; held > 0 && i > 0 && lost[i-1] == held; i-- {
			held--
		}
	}
}

// tables are the ops of the checkpoints of the client table that n has.
func (n *node) tables() (ops []uint64) {
	names, err := n.fs.List(logDir)
	if err != nil {
		return nil
	}
	for _, name := range names {
		if op, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimPrefix(name, "table-"), ".tab"), 10, 64); err == nil && strings.HasSuffix(name, ".tab") {
			ops = append(ops, op)
		}
	}
	return ops
}

// lastLost is the highest op that n may have acknowledged and its next start could not read from fs, or 0.
func (n *node) lastLost(fs *faultfs.FS) uint64 {
	lost, _ := n.unreadable(fs, n.seen.durable, span{})
	if len(lost) == 0 {
		return 0
	}
	return lost[len(lost)-1]
}

// toldBy returns the last op of which the index of a segment tells where it stands; 0: there is none.
func toldBy(fs *faultfs.FS, segment string) uint64 {
	b, err := fs.ReadFile(strings.TrimSuffix(segment, ".seg") + ".idx")
	if err != nil || len(b) < 40 {
		return 0
	}
	return binary.LittleEndian.Uint64(b[32:]) + uint64(binary.LittleEndian.Uint32(b[28:])) - 1
}

func isFrame(frame []byte, id vsr.ID) bool {
	if len(frame) < wire.HeaderBytes {
		return false
	}
	h, err := wire.ParseSealed(frame)
	return err == nil && h.ID() == id && wire.Sum(frame[wire.HeaderBytes:]) == h.BodySum
}

// frameOf returns the bytes where the frame of op stands, or nil.
func (n *node) frameOf(op uint64) []byte { return n.find(op).bytes }

func (n *node) find(op uint64) (found frameAt) {
	n.walk(n.fs, func(f *frameAt) bool {
		if f.op == op {
			found = *f
		}
		return f.op < op
	})
	return found
}

// frameAt is where the frame of an op stands.
type frameAt struct {
	op    uint64
	name  string // of the segment file
	at    int64
	bytes []byte // nil: the file ends before
}

// walk goes over the places of all frames on fs, until do says enough: in a segment, which is named by its
// first op, they stand back to back.
func (n *node) walk(fs *faultfs.FS, do func(f *frameAt) bool) {
	var f frameAt
	var content []byte
	for f.op = n.seen.start; f.op <= n.seen.head(); f.op++ {
		name := segmentName(f.op)
		if begins, err := fs.ReadFile(name); err == nil {
			f.name, f.at, content = name, 0, begins
		}
		size := wire.HeaderBytes + int64(n.seen.at(f.op).BodyBytes)
		f.bytes = nil
		if f.at+size <= int64(len(content)) {
			f.bytes = content[f.at : f.at+size]
		}
		if !do(&f) {
			return
		}
		f.at += size
	}
}

// segmentName is the name of the file that begins with this op.
func segmentName(first uint64) string {
	op := strconv.FormatUint(first, 10)
	return logDir + "/" + strings.Repeat("0", 20-len(op)) + op + ".seg"
}
