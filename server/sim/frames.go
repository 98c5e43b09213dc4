package sim

import (
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
func (n *node) damagedOps() []uint64 { return n.damagedOn(n.fs, n.seen.written) }

// damagedOnDisk tells whether a power cut would leave damage: also what has been written over it is not there
// before it is synced.
func (n *node) damagedOnDisk() bool {
	cut := n.fs.Clone()
	cut.CrashHard()
	return len(n.damagedOps()) > 0 || len(n.damagedOn(cut, n.seen.durable)) > 0
}

func (n *node) damagedOn(fs *faultfs.FS, last uint64) (ops []uint64) {
	n.walk(fs, func(f *frameAt) bool {
		if f.op <= last && !isFrame(f.bytes, n.seen.at(f.op).ID()) {
			ops = append(ops, f.op)
		}
		return true
	})
	return ops
}

// lostOps lists the ops that the next start of n could not read: those that are damaged and, in a file without an
// index, those behind them, for where a frame begins follows from those before.
func (n *node) lostOps() (ops []uint64) {
	behind := "" // the file without an index in which damage has been met
	n.walk(n.fs, func(f *frameAt) bool {
		if f.op <= n.seen.written && !isFrame(f.bytes, n.seen.at(f.op).ID()) {
			ops = append(ops, f.op)
			if !n.indexed(f.name) {
				behind = f.name
			}
		} else if f.name == behind {
			ops = append(ops, f.op)
		}
		return true
	})
	return ops
}

// lostWith returns the last of the ops that the next start of n would lose with this one, were it damaged.
func (n *node) lostWith(op uint64) (last uint64) {
	file := n.find(op).name
	if n.indexed(file) {
		return op
	}
	n.walk(n.fs, func(f *frameAt) bool {
		if f.name == file {
			last = f.op
		}
		return f.op <= op || f.name == file
	})
	return max(last, op)
}

// indexed tells whether a segment has an index.
func (n *node) indexed(segment string) bool {
	return n.has(strings.TrimSuffix(segment, ".seg") + ".idx")
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
