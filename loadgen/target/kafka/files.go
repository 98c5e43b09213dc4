package kafka

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"rejoin/loadgen"
)

const segmentSuffix = ".log"

// FilesOptions of NewFiles.
type FilesOptions struct {
	Replicas  []ReplicaDir
	Topic     string
	Partition int32

	// UpTo ends the reading: batches that begin at or above this offset are not shown. Files do not
	// tell what is committed, so pass the end of what was acknowledged (Verifier.AckedEnd), which is 0 where
	// nothing was: then nothing is shown. nil shows everything.
	UpTo *uint64
}

// ReplicaDir is a broker's log directory (log.dirs).
type ReplicaDir struct {
	Name string // n0, n1, …
	Dir  string
}

// Files reads the log directories of dead brokers, without any code of theirs:
//
//	DIR/<topic>-<partition>/<first offset, 20 digits>.log
//
// each record batches back to back from byte 0 to the end of the file. It changes nothing.
type Files struct{ options FilesOptions }

var _ loadgen.Source = (*Files)(nil)

// NewFiles makes a source of log directories.
func NewFiles(options FilesOptions) (*Files, error) {
	if len(options.Replicas) == 0 {
		return nil, errors.New("kafka files: no log directories")
	}
	return &Files{options: options}, checkTopic(options.Topic)
}

// DamageError says where a log directory cannot be read on.
type DamageError struct {
	File       string
	ByteOffset int64
	Why        error
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%s at byte %d: %v", e.File, e.ByteOffset, e.Why)
}

// Unwrap returns what is wrong there.
func (e *DamageError) Unwrap() error { return e.Why }

// Replicas implements loadgen.Source.
func (f *Files) Replicas() []string {
	var names []string
	for _, r := range f.options.Replicas {
		names = append(names, r.Name)
	}
	return names
}

// ReadReplica implements loadgen.Source.
func (f *Files) ReadReplica(ctx context.Context, replica string, yield func(loadgen.ReadBatch) error) (loadgen.ReadEnd, error) {
	i := slices.IndexFunc(f.options.Replicas, func(r ReplicaDir) bool { return r.Name == replica })
	if i < 0 {
		return loadgen.ReadEnd{}, fmt.Errorf("kafka files: no replica %q", replica)
	}
	segments, err := loadgen.ListSegments(filepath.Join(f.options.Replicas[i].Dir, fmt.Sprintf("%s-%d", f.options.Topic, f.options.Partition)), segmentSuffix)
	if err != nil {
		return loadgen.ReadEnd{}, fmt.Errorf("kafka files: %w", err)
	}
	r := &fileReader{upTo: f.options.UpTo, yield: yield}
	r.earliest, r.next = segments[0].First, segments[0].First
	for n, s := range segments {
		if err := ctx.Err(); err != nil {
			return loadgen.ReadEnd{}, err
		}
		err := r.segment(s.Path)
		if errors.Is(err, errPartial) && n == len(segments)-1 && (r.upTo == nil || r.next >= *r.upTo) {
			err = nil // the write that SIGKILL cut; nothing of it was acknowledged
		}
		if err != nil {
			return loadgen.ReadEnd{}, err
		}
		if r.done {
			break
		}
	}
	end := r.next
	if r.upTo != nil {
		end = min(end, *r.upTo)
	}
	return loadgen.ReadEnd{EarliestOffset: min(r.earliest, end), EndOffset: end}, nil
}

// fileReader goes through the segments of one replica.
type fileReader struct {
	upTo  *uint64 // nil: no bound
	yield func(loadgen.ReadBatch) error

	earliest uint64
	next     uint64 // offset after the last batch that was shown
	done     bool   // upTo was reached

	body     []byte // reused
	messages [][]byte
}

func (r *fileReader) segment(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("kafka files: %w", err)
	}
	defer file.Close()
	in := bufio.NewReaderSize(file, 1<<20)
	for at := int64(0); !r.done; {
		n, err := r.batch(in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		var mine *yieldError
		if errors.As(err, &mine) {
			return mine.err
		}
		if err != nil {
			return &DamageError{File: path, ByteOffset: at, Why: err}
		}
		at += int64(n)
	}
	return nil
}

// yieldError carries an error of the caller's own through.
type yieldError struct{ err error }

func (e *yieldError) Error() string { return e.err.Error() }

// batch reads and shows the next batch; io.EOF where none begins.
func (r *fileReader) batch(in *bufio.Reader) (int, error) {
	prefix, err := in.Peek(batchPrefixBytes)
	if len(prefix) == 0 && err != nil {
		return 0, err
	}
	size, err := batchBytes(prefix)
	if err != nil {
		return 0, err
	}
	r.body = slices.Grow(r.body[:0], size)[:size]
	if _, err := io.ReadFull(in, r.body); errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, errPartial
	} else if err != nil {
		return 0, err
	}
	stored, _, err := parse(r.body, r.messages[:0])
	if err != nil {
		return 0, err
	}
	r.messages = stored.messages
	if r.upTo != nil && stored.base >= *r.upTo {
		r.done = true
		return size, nil
	}
	r.next = stored.base + uint64(len(stored.messages))
	if stored.control {
		return size, nil
	}
	err = r.yield(loadgen.ReadBatch{BaseOffset: stored.base, Identity: stored.identity, Damaged: stored.damaged, Messages: stored.messages})
	if err != nil {
		return 0, &yieldError{err}
	}
	return size, nil
}
