package journal

// letGo takes away a trimmed segment that nobody reads. Its file is kept for ops to come, where one is wanted, nobody could see what is written over it, and
// no damage was found in it; or else it is removed. File is nil where it is not open.
func (l *Log) letGo(s *segment, file File, sound bool) error {
	if !l.prepareMu.TryLock() { // one is just being made, and its sync is not worth a wait
		if file != nil {
			file.Close() // nothing un-synced is in it that still counts
		}
		return l.removeFiles(s.first)
	}
	defer l.prepareMu.Unlock()
	if !sound || !l.wantsFile() {
		if file != nil {
			file.Close()
		}
		return l.removeFiles(s.first)
	}
	if file == nil {
		var err error
		if file, err = l.fs.Open(l.segmentName(s.first)); err != nil {
			return l.removeFiles(s.first)
		}
	}
	if !l.hasSegmentSize(file) || !file.Exclusive(s.lent) {
		file.Close()
		return l.removeFiles(s.first)
	}
	kept, err := l.recycle(s, file)
	if !kept {
		file.Close()
	}
	if err == nil && !kept {
		err = l.removeFiles(s.first)
	}
	return err
}

// hasSegmentSize is false for a file of another configuration, and for one of a single large frame.
func (l *Log) hasSegmentSize(file File) bool {
	size, err := file.Size()
	return err == nil && size == l.segmentBytes
}

// wantsFile tells whether one more file ahead of use is worth its room: the next one always is, and one more, so that none
// need be begun before a trim brings it. The caller holds prepareMu.
func (l *Log) wantsFile() bool {
	have := len(l.prepared)
	if l.preparing != nil {
		have++
	}
	if have > max(l.segmentsReady, 1) {
		return false
	}
	if len(l.prepared) == 0 {
		return true
	}
	free, err := l.fs.FreeBytes()
	return err == nil && free >= leaveFree*uint64(l.segmentBytes)
}

// recycle puts the file of a trimmed segment to those ahead of use, as it is. Written over it spares the log what a new file costs: zeros
// for each of its bytes, and the removal of another. The caller holds prepareMu.
//
// What it holds until then are frames of ops that this log has committed and trimmed, and their remains. A start takes none of them for one of its
// own: it looks for an op above these, with the sum of the last one as its parent. Should an op come again that stands there (behind the last one of a
// segment that was divided), then it has the same ones before it, of which the file now begins with a later one: where it would fit, it is not. The files
// that a cut drops never come here: one of them may begin with the same op again.
//
// The old name goes durably before a byte changes: after a power cut it would stand for ops that are not its own.
func (l *Log) recycle(s *segment, file File) (kept bool, err error) {
	if err := removeIfThere(l.fs, l.indexName(s.first)); err != nil {
		return false, err
	}
	name := l.freeNextName()
	if err := l.fs.Rename(l.segmentName(s.first), name); isFull(err) { // not even for a name
		return false, nil
	} else if err != nil {
		return false, fault(name, "rename", err)
	}
	if err := l.fs.SyncDir(l.dir); err != nil {
		return false, fault(l.dir, "sync", err)
	}
	l.prepared = append(l.prepared, preparedFile{file: file, name: name, filled: l.segmentBytes})
	l.recycled.Add(1)
	return true, nil
}

// RecycledSegments is how many files of trimmed segments were kept for ops to come since the log was opened. Anybody may ask.
func (l *Log) RecycledSegments() int64 { return l.recycled.Load() }
