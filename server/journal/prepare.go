package journal

import "fmt"

// zeroBytes is how much of a file one Writev fills with zeros.
const zeroBytes = 1 << 20

// prepareStepBytes is how much of a new file is filled before a sync: the syncs of the log wait behind
// what the disk has been given before them.
const prepareStepBytes = 4 << 20

// preparedFile is a zero-filled, synced file under a next name.
type preparedFile struct {
	file File
	name string
}

// Prepare makes the next segment ahead of use, unless it is there. It may run while the write side
// works; a roll that finds it under way waits for it. After ErrDiskFull nothing was changed.
func (l *Log) Prepare() error {
	l.prepareMu.Lock()
	defer l.prepareMu.Unlock()
	if err := l.failed(); err != nil {
		return err
	}
	if len(l.prepared) > 0 {
		return nil
	}
	if free, err := l.fs.FreeBytes(); err == nil && free < uint64(l.segmentBytes) {
		return fmt.Errorf("prepare a segment: %w: %d bytes are free", ErrDiskFull, free) // not to fill the rest, again and again
	}
	return l.failUnlessFull(l.prepareOne())
}

// prepareRolls makes the files that an append of frames needs beyond the last segment, before
// anything is written.
func (l *Log) prepareRolls(frames []Frame) error {
	need, end := 0, l.lastSegment().end
	for i := range frames {
		if l.rolls(end, len(frames[i].Bytes)) {
			need, end = need+1, 0
		}
		end += int64(len(frames[i].Bytes))
	}
	if need == 0 {
		return nil
	}
	l.prepareMu.Lock()
	defer l.prepareMu.Unlock()
	for len(l.prepared) < need {
		if err := l.prepareOne(); err != nil {
			return err
		}
	}
	return nil
}

// takePrepared gives a prepared file the name of the segment that begins with op first. The name it
// had is free, for Prepare, only then.
func (l *Log) takePrepared(first uint64) (File, error) {
	l.prepareMu.Lock()
	defer l.prepareMu.Unlock()
	p := l.prepared[0]
	if err := l.fs.Rename(p.name, l.segmentName(first)); err != nil {
		return nil, fault(p.name, "rename", err)
	}
	l.prepared = l.prepared[1:]
	return p.file, nil
}

// prepareOne holds prepareMu.
func (l *Log) prepareOne() error {
	name := l.freeNextName()
	f, err := l.fs.Create(name)
	if err != nil {
		if isFull(err) {
			return fmt.Errorf("create %s: %w", name, ErrDiskFull)
		}
		return fault(name, "create", err)
	}
	if err := l.preallocate(f, name); err != nil {
		f.Close()
		if !isFull(err) {
			return err
		}
		if err := removeIfThere(l.fs, name); err != nil {
			return err
		}
		return fmt.Errorf("prepare %s: %w", name, ErrDiskFull)
	}
	l.prepared = append(l.prepared, preparedFile{f, name})
	return nil
}

// preallocate fills a new file with zeros and makes them durable, step by step.
func (l *Log) preallocate(f File, name string) error {
	for from := int64(0); from < l.segmentBytes; from += prepareStepBytes {
		if err := l.zeroFill(f, from, min(from+prepareStepBytes, l.segmentBytes)); err != nil {
			return fault(name, "write", err)
		}
		if err := f.Sync(); err != nil {
			return fault(name, "sync", err)
		}
	}
	return nil
}

// freeNextName returns a name that no prepared file bears.
func (l *Log) freeNextName() string {
	for i := 0; ; i++ {
		name, taken := l.nextName(i), false
		for _, p := range l.prepared {
			taken = taken || p.name == name
		}
		if !taken {
			return name
		}
	}
}

// zeroFill writes zeros from one offset to another, so that later writes change no metadata.
func (l *Log) zeroFill(f File, from, to int64) error {
	for from < to {
		n := min(to-from, int64(len(l.zeroes)))
		if err := f.Writev([][]byte{l.zeroes[:n]}, from); err != nil {
			return err
		}
		from += n
	}
	return nil
}

// refill preallocates again behind a cut. A full disk is no failure: the file then grows as it is
// written, and Append reports when it cannot.
func (l *Log) refill(f File, name string, end int64) error {
	err := l.zeroFill(f, end, l.segmentBytes)
	if err == nil || isFull(err) {
		return nil
	}
	return fault(name, "write", err)
}
