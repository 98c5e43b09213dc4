package journal

import (
	"errors"
	"fmt"
)

// How much of a new file is filled at once. The syncs of the log wait behind what the disk has been given
// before them, and whoever else needs this core behind the copying. So it goes to the disk step by step,
// but is synced only when the file is whole: nobody rests on less, and each sync is one more that the
// log's own stand in line with.
const (
	prepareStepBytes    = 512 << 10
	prepareStepBytesMax = 4 << 20
)

// prepareAheadShare of what goes to the last segment is made of the next one beyond as much: it is spread over the last one's whole life but
// a ninth, which is left for a disk that falls behind. In one burst every replica of a group would fill at once; and twice as fast as needed, many
// partitions in the first halves of their segments write two zeros for each byte.
const prepareAheadShare = 8

// preparedFile is a file under a next name whose first bytes are on the disk: zeros, or what a recycled one held. A whole one is synced.
type preparedFile struct {
	file   File
	name   string
	filled int64
}

// Prepare makes as much of the next segment as is due by now: a file of zeros that grows ahead of the
// last segment, and is whole when eight ninths of that are full. It may run while the write side works; a roll
// that finds it unfinished finishes it. After ErrDiskFull there is no such file.
func (l *Log) Prepare() error {
	for {
		again, err := l.prepareStep()
		if err != nil || !again {
			return l.failUnlessFull(err)
		}
	}
}

// PrepareDue tells whether Prepare would do something, or is at it: waking who calls it costs more than this look.
func (l *Log) PrepareDue() bool {
	if !l.prepareMu.TryLock() {
		return true
	}
	defer l.prepareMu.Unlock()
	return l.prepareLack() > 0
}

// prepareLack is how much of the next segment should be there by now and is not, or nothing or less. The caller holds prepareMu.
func (l *Log) prepareLack() int64 {
	if len(l.prepared) > 0 {
		return 0
	}
	return l.prepareDue() - l.preparedBytes()
}

// preparedBytes is how much there is of the file that is being made. The caller holds prepareMu.
func (l *Log) preparedBytes() int64 {
	if l.preparing == nil {
		return 0
	}
	return l.preparing.filled
}

// prepareStep tells whether it has done something. The lock is held for one step only, so that a roll
// need not wait for a whole file.
func (l *Log) prepareStep() (bool, error) {
	l.prepareMu.Lock()
	defer l.prepareMu.Unlock()
	if err := l.failed(); err != nil {
		return false, err
	}
	lack := l.prepareLack()
	if lack <= 0 {
		return false, nil
	}
	if free, err := l.fs.FreeBytes(); err == nil && free < uint64(l.segmentBytes-l.preparedBytes()) {
		if err := l.giveUpPreparing(); err != nil {
			return false, err
		}
		return false, fmt.Errorf("prepare a segment: %w: %d bytes are free", ErrDiskFull, free) // not to fill the rest, again and again
	}
	return true, l.fillStep(lack)
}

// PrepareMore makes one step of the segments that Options ask to have ready beyond what Prepare makes,
// and tells whether there is more to make. It is for when the log is at rest: a burst then finds them,
// and needs no zeros of its own. Space that only they would take is left free.
func (l *Log) PrepareMore() (bool, error) {
	l.prepareMu.Lock()
	defer l.prepareMu.Unlock()
	if err := l.failed(); err != nil {
		return false, err
	}
	if l.segmentsReady <= 1 || len(l.prepared) >= l.segmentsReady {
		return false, nil
	}
	if free, err := l.fs.FreeBytes(); err == nil && free < leaveFree*uint64(l.segmentBytes) {
		return false, nil
	}
	err := l.fillStep(prepareStepBytesMax)
	if errors.Is(err, ErrDiskFull) {
		return false, nil
	}
	return err == nil, l.fail(err)
}

// leaveFree is how many segments have room on a disk that PrepareMore still takes from.
const leaveFree = 8

// prepareDue returns how much of the next segment should be there by now.
func (l *Log) prepareDue() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	end := l.lastSegment().end
	return min(l.segmentBytes, prepareStepBytes+end+end/prepareAheadShare)
}

// prepareRolls makes the files that an append of frames needs beyond the last segment, before anything
// is written: each as large as its first frame at least, for one may be larger than a segment.
func (l *Log) prepareRolls(frames []Frame) error {
	var firsts []int64 // sizes
	end := l.lastSegment().end
	for i := range frames {
		if n := len(frames[i].Bytes); l.rolls(end, n) {
			firsts, end = append(firsts, int64(n)), 0
		}
		end += int64(len(frames[i].Bytes))
	}
	if len(firsts) == 0 {
		return nil
	}
	l.prepareMu.Lock()
	defer l.prepareMu.Unlock()
	if err := l.prepareWhole(len(firsts)); err != nil {
		return err
	}
	for i, size := range firsts {
		if err := l.widen(&l.prepared[i], size); err != nil {
			return err
		}
	}
	return nil
}

// widen fills a whole file on up to size.
func (l *Log) widen(p *preparedFile, size int64) error {
	if p.filled >= size {
		return nil
	}
	err := fault(p.name, "write", l.zeroFill(p.file, p.filled, size))
	if err == nil {
		err = fault(p.name, "sync", p.file.Sync())
	}
	if isFull(err) {
		return noRoom("prepare", p.name, err)
	}
	if err == nil {
		p.filled = size
	}
	return err
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

// prepareWhole makes files until there are need whole ones. The caller holds prepareMu.
func (l *Log) prepareWhole(need int) error {
	for len(l.prepared) < need {
		if err := l.fillStep(prepareStepBytesMax); err != nil {
			return err
		}
	}
	return nil
}

// fillStep takes the file that is being made on by about bytes, beginning with its creation, and puts it
// to the whole ones when it is. The caller holds prepareMu.
func (l *Log) fillStep(bytes int64) error {
	if l.preparing == nil {
		name := l.freeNextName()
		f, err := l.fs.Create(name)
		if err != nil {
			if isShort(err) {
				return noRoom("create", name, err)
			}
			return fault(name, "create", err)
		}
		l.preparing = &preparedFile{file: f, name: name}
	}
	p := l.preparing
	to := min(roundUpToPage(p.filled+max(prepareStepBytes, min(bytes, prepareStepBytesMax))), l.segmentBytes)
	isWhole := to == l.segmentBytes
	err := fault(p.name, "write", l.zeroFill(p.file, p.filled, to))
	if err == nil && isWhole {
		err = fault(p.name, "sync", p.file.Sync())
	}
	if isFull(err) {
		if err := l.giveUpPreparing(); err != nil {
			return err
		}
		return noRoom("prepare", p.name, err)
	}
	if err != nil {
		return err
	}
	if !isWhole {
		p.file.StartWriting(p.filled, to-p.filled)
		p.filled = to
		return nil
	}
	p.filled = to
	l.prepared, l.preparing = append(l.prepared, *p), nil
	return nil
}

// giveUpPreparing removes the file that is being made, to leave its space to others.
func (l *Log) giveUpPreparing() error {
	p := l.preparing
	if p == nil {
		return nil
	}
	l.preparing = nil
	p.file.Close()
	return removeIfThere(l.fs, p.name)
}

// freeNextName returns a name that no prepared file bears.
func (l *Log) freeNextName() string {
	for i := 0; ; i++ {
		name, taken := l.nextName(i), false
		for _, p := range l.prepared {
			taken = taken || p.name == name
		}
		taken = taken || l.preparing != nil && l.preparing.name == name
		if !taken {
			return name
		}
	}
}

// zeroFill writes zeros from one offset to another, so that later writes change no metadata. They stay in memory, where the log's writes
// soon find them; those of a first segment may lie for long before anything is written, and partitions are many.
func (l *Log) zeroFill(f File, from, to int64) error {
	for from < to {
		n := min(to-from, zeroBytes)
		var err error
		if l.opening || l.zerosOnDisk {
			err = f.WriteZeros(from, n)
		} else {
			err = f.Writev([][]byte{zeros[:n]}, from)
		}
		if err != nil {
			return err
		}
		from += n
		l.zeroed.Add(n)
	}
	return nil
}

// ZeroedBytes is how many bytes of zeros were written ahead of use since the log was opened. Anybody may ask.
func (l *Log) ZeroedBytes() int64 { return l.zeroed.Load() }

// refill preallocates again behind a cut. A full disk is no failure: the file then grows as it is
// written, and Append reports when it cannot.
func (l *Log) refill(f File, name string, end int64) error {
	err := l.zeroFill(f, end, l.segmentBytes)
	if err == nil || isFull(err) {
		return nil
	}
	return fault(name, "write", err)
}
