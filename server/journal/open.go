package journal

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"rejoin/server/vsr"
)

// Open recovers the log of a directory, or makes one. It may be cut short by a crash at any step and
// called again. The error Is ErrForeign or ErrUnreadable where guessing would forget an
// acknowledgement, ErrDiskFull where a new log finds no room, or a *FaultError.
func Open(o Options) (*Log, *Recovered, error) {
	if err := o.validate(); err != nil {
		return nil, nil, err
	}
	l := &Log{fs: o.FS, dir: o.Dir, cluster: o.Cluster, group: o.Group, segmentBytes: o.SegmentBytes, segmentsReady: o.SegmentsReady, zerosOnDisk: o.ZerosOnDisk, pipeline: o.Pipeline}
	r := &Recovered{}
	if err := l.open(&o, r); err != nil {
		l.abandon()
		if isFull(err) && !errors.Is(err, ErrDiskFull) { // whatever is half made goes with the next Open
			err = fmt.Errorf("%w: %w", ErrDiskFull, err)
		}
		return nil, nil, fmt.Errorf("open log %s: %w", o.Dir, err)
	}
	return l, r, nil
}

func (l *Log) open(o *Options, r *Recovered) error {
	if err := MkdirAll(l.fs, l.dir); err != nil {
		return err
	}
	names, err := l.clean()
	if err != nil {
		return err
	}
	// What an earlier process made may not be durable yet: nothing may be made beside it that outlives it.
	if err := l.fs.SyncDir(l.dir); err != nil {
		return fault(l.dir, "sync", err)
	}
	firsts := segmentFirsts(names)
	if err := l.openIdentity(o, r, len(firsts) > 0); err != nil {
		return err
	}
	l.readTables(names, r)
	rec := &recovery{log: l, r: r, o: o, firsts: firsts}
	if err := rec.run(names); err != nil {
		return err
	}
	return l.report(r)
}

// clean removes half-made files and returns the names that are left.
func (l *Log) clean() ([]string, error) {
	names, err := l.fs.List(l.dir)
	if err != nil {
		return nil, fault(l.dir, "read", err)
	}
	sort.Strings(names)
	kept := names[:0]
	for _, n := range names {
		if strings.HasSuffix(n, ".tmp") || strings.HasPrefix(n, nextPrefix) {
			if err := removeIfThere(l.fs, l.path(n)); err != nil {
				return nil, err
			}
			continue
		}
		kept = append(kept, n)
	}
	return kept, nil
}

func segmentFirsts(names []string) []uint64 {
	var firsts []uint64
	for _, n := range names {
		if op, ok := parseOpName(n, "", segmentSuffix); ok && op > 0 {
			firsts = append(firsts, op)
		}
	}
	sort.Slice(firsts, func(i, j int) bool { return firsts[i] < firsts[j] })
	return firsts
}

// openIdentity reads mark and state. In a blank directory the mark is made first, so that a
// directory with a state and without a mark has lost it.
func (l *Log) openIdentity(o *Options, r *Recovered, haveSegments bool) error {
	haveState, err := l.exists("state")
	if err != nil {
		return err
	}
	blank := !haveState && !haveSegments
	if err := l.openMark(r, blank); err != nil {
		return err
	}
	if blank && l.markFile == nil {
		l.mark = Mark{ID: o.Base.ID, Synced: o.Base.ID.Op, SumKnown: true, NextOffset: o.Base.NextOffset}
		if err := l.createMarkFile(); err != nil {
			return err
		}
		r.Mark = l.mark
	}
	if err := l.openStart(o, blank); err != nil {
		return err
	}
	return l.openState(r, haveSegments)
}

func (l *Log) createMarkFile() (err error) {
	putMark(l.markBuf[:], l.cluster, l.group, &l.mark)
	l.markPut = l.mark
	l.markFile, err = CreateStateFile(l.fs, l.path("mark"), markBytes, l.markBuf[:])
	return err
}

func (l *Log) exists(name string) (bool, error) {
	names, err := l.fs.List(l.dir)
	if err != nil {
		return false, fault(l.dir, "read", err)
	}
	for _, n := range names {
		if n == name {
			return true, nil
		}
	}
	return false, nil
}

// report fills in what the recovered log holds.
func (l *Log) report(r *Recovered) error {
	r.Start, r.Held, r.Top = l.segments[0].first, l.written, l.top
	from := r.Start
	if r.Top >= l.pipeline {
		from = max(from, r.Top-l.pipeline+1)
	}
	for op := from; op <= r.Top; op++ {
		t, err := l.tailOp(op)
		if err != nil {
			return fault(l.dir, "read", err)
		}
		r.Tail = append(r.Tail, t)
	}
	r.Holes = l.Holes()
	return nil
}

func (l *Log) tailOp(op uint64) (TailOp, error) {
	h, err := l.Header(op)
	if err == nil {
		return TailOp{Op: op, Header: h}, nil
	}
	t := TailOp{Op: op, Damaged: true, Header: vsr.Header{Op: op}}
	switch {
	case errors.Is(err, ErrNotHeld):
		t.SumKnown = op == l.mark.ID.Op && l.mark.SumKnown
		t.Header.Sum = l.mark.ID.Sum
	case errors.Is(err, ErrDamaged):
		id, err := l.idAt(op)
		if err != nil {
			return t, err
		}
		t.SumKnown, t.Header.Sum = id.known, id.Sum
	default:
		return t, err
	}
	if !t.SumKnown {
		t.Header.Sum = 0
	}
	return t, nil
}

// abandon closes what a failed Open has opened.
func (l *Log) abandon() {
	for _, s := range l.segments {
		s.unload()
	}
	for _, f := range []*StateFile{l.markFile, l.startFile, l.state} {
		if f != nil {
			f.file.Close()
		}
	}
	l.closePrepared()
}

func (r *Recovered) find(format string, args ...any) {
	r.Findings = append(r.Findings, fmt.Sprintf(format, args...))
}
