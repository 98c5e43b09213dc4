package journal

// LoadedSegments counts the segments whose file is open.
func LoadedSegments(l *Log) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.segments {
		if s.file != nil {
			n++
		}
	}
	return n
}

// PrepareStepBytes is what Prepare fills between two syncs.
const PrepareStepBytes = prepareStepBytes
