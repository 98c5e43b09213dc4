package builtin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"

	"rejoin/loadgen"
	"rejoin/results"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

const segmentSuffix = ".seg"

// FilesOptions of NewFiles.
type FilesOptions struct {
	Replicas  []ReplicaDir
	Topic     string
	Partition int

	// UpTo ends the reading: records that begin at or above this offset are not shown. Files do not
	// tell what is committed, so pass the end of what was acknowledged (Verifier.AckedEnds), which is 0
	// where nothing was: then nothing is shown. nil shows everything, the uncommitted tail too. A node
	// that died with uncommitted ops below that offset, and never caught up, shows them: it differs from
	// the others then, rightly.
	UpTo *uint64
}

// ReplicaDir is a node's data directory.
type ReplicaDir struct {
	Name string // n0, n1, …
	Dir  string
}

// Files reads the data directories of dead nodes, without the server's code path:
//
//	DIR/topics/<topic>/<partition>/<first op, 20 digits>.seg
//
// each frames back to back from byte 0, up to the first bytes that are no frame or do not continue the
// chain. It changes nothing.
type Files struct{ options FilesOptions }

var _ loadgen.Source = (*Files)(nil)

// NewFiles makes a source of data directories.
func NewFiles(options FilesOptions) (*Files, error) {
	if len(options.Replicas) == 0 {
		return nil, errors.New("builtin files: no data directories")
	}
	return &Files{options: options}, checkPartition(options.Topic, options.Partition)
}

// DamageError says where a data directory cannot be read on.
type DamageError struct {
	File       string
	ByteOffset int64
	Why        string
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%s at byte %d: %s", e.File, e.ByteOffset, e.Why)
}

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
		return loadgen.ReadEnd{}, fmt.Errorf("builtin files: no replica %q", replica)
	}
	dir := filepath.Join(f.options.Replicas[i].Dir, "topics", f.options.Topic, strconv.Itoa(f.options.Partition))
	segments, err := loadgen.ListSegments(dir, segmentSuffix)
	if err != nil {
		return loadgen.ReadEnd{}, fmt.Errorf("builtin files: %w", err)
	}
	r := &fileReader{upTo: f.options.UpTo, yield: yield, body: make([]byte, wire.BodyBytesMax)}
	for n, s := range segments {
		if err := ctx.Err(); err != nil {
			return loadgen.ReadEnd{}, err
		}
		if n > 0 && s.First != r.chain.last.Op+1 {
			return loadgen.ReadEnd{}, r.stop.before(s)
		}
		if err := r.segment(s); err != nil {
			return loadgen.ReadEnd{}, err
		}
		if r.done {
			break
		}
	}
	end := r.chain.end
	if r.upTo != nil {
		if end < *r.upTo && r.stop.damage {
			return loadgen.ReadEnd{}, r.stop.short(*r.upTo)
		}
		end = min(end, *r.upTo)
	}
	return loadgen.ReadEnd{EarliestOffset: min(r.chain.earliest, end), EndOffset: end}, nil
}

// fileReader reads the segments of one replica.
type fileReader struct {
	chain chain
	upTo  *uint64 // nil: no bound
	yield func(loadgen.ReadBatch) error
	body  []byte
	done  bool // upTo was reached
	stop  segmentStop
}

// segmentStop is where and why a segment's frames ended. That is how a log ends, and damage when
// another segment follows that does not continue there.
type segmentStop struct {
	file   string
	at     int64
	why    string
	last   uint64 // op
	damage bool   // there is something there, and it is no frame: more than the end of a log
}

// short is the error of a log that ends below what was acknowledged, and not like a log that is
// merely behind.
func (s segmentStop) short(upTo uint64) error {
	return &DamageError{File: s.file, ByteOffset: s.at,
		Why: fmt.Sprintf("the frames end after op %d (%s), below the acknowledged offset %d", s.last, s.why, upTo-1)}
}

func (s segmentStop) before(next loadgen.SegmentFile) error {
	return &DamageError{File: s.file, ByteOffset: s.at,
		Why: fmt.Sprintf("the frames end after op %d (%s), the next segment begins with op %d", s.last, s.why, next.First)}
}

// segment passes on the frames of one file.
func (r *fileReader) segment(s loadgen.SegmentFile) error {
	file, err := results.OpenRegular(s.Path)
	if err != nil {
		return fmt.Errorf("builtin files: %w", err)
	}
	defer file.Close()
	in := bufio.NewReaderSize(file, 2*wire.FrameBytesMax) // room to look at the frame after this one
	at := int64(0)
	for first := true; ; first = false {
		h, why, err := r.nextHeader(in)
		if err != nil {
			return fmt.Errorf("builtin files: read %s: %w", s.Path, err)
		}
		if why == "" && first && h.Op != s.First {
			why = fmt.Sprintf("it begins with op %d, its name says %d", h.Op, s.First)
		}
		if why == "" {
			why = r.unfit(in, &h)
		}
		if why != "" {
			r.stop = segmentStop{file: s.Path, at: at, why: why, last: r.chain.last.Op}
			r.stop.damage, err = r.holdsMore(in, s.First, at)
			if err != nil {
				return fmt.Errorf("builtin files: read %s: %w", s.Path, err)
			}
			return nil
		}
		if r.upTo != nil && h.BaseOffset >= *r.upTo {
			r.done = true
			return nil
		}
		if err := r.frame(in, &h); err != nil {
			return &DamageError{File: s.Path, ByteOffset: at, Why: err.Error()}
		}
		at += wire.HeaderBytes + int64(h.BodyBytes)
	}
}

// nextHeader looks at the next frame without taking it. why tells how the frames end here.
func (r *fileReader) nextHeader(in *bufio.Reader) (h vsr.Header, why string, err error) {
	b, err := in.Peek(wire.HeaderBytes)
	if err != nil && err != io.EOF {
		return h, "", err
	}
	if len(b) < wire.HeaderBytes {
		return h, "the file ends", nil
	}
	if !slices.ContainsFunc(b, func(c byte) bool { return c != 0 }) {
		return h, "zeros", nil
	}
	h, bad := wire.ParseSealed(b)
	if bad != nil {
		return h, bad.Error(), nil
	}
	return h, "", nil
}

// holdsMore reports whether more follows at a byte than the end of a log: anything but zeros. A file that was recycled has frames of ops below its first
// there, or their remains. That is more only where a later op is among them, or where something stands between the last frame and the end of its page,
// which each append fills up with zeros, or the next page where it ends at a border.
func (r *fileReader) holdsMore(in *bufio.Reader, first uint64, at int64) (bool, error) {
	const pageBytes = 4096
	var used, recycled, later bool
	if at > 0 { // or else nothing was written to it
		b, err := in.Peek(int(pageBytes - at%pageBytes))
		if err != nil && err != io.EOF {
			return false, err
		}
		if slices.ContainsFunc(b, func(c byte) bool { return c != 0 }) {
			return true, nil
		}
	}
	for {
		b, err := in.Peek(in.Size())
		if err != nil && err != io.EOF {
			return false, err
		}
		used = used || slices.ContainsFunc(b, func(c byte) bool { return c != 0 })
		wire.FindSealed(b, func(_ int, h *vsr.Header) {
			if h.Cluster == r.chain.last.Cluster && h.Group == r.chain.last.Group {
				recycled = recycled || h.Op < first
				later = later || h.Op > r.chain.last.Op
			}
		})
		if err == io.EOF {
			return used && (later || !recycled), nil
		}
		if _, err := in.Discard(len(b) - wire.HeaderBytes + 1); err != nil { // the rest may be the beginning of a header
			return false, err
		}
	}
}

// unfit says why a frame with a whole header is not the log's next one; "" if it is. A body that fails
// its checksum is a torn end, unless the next frame goes on from here: then it is damage, which is
// passed on and named.
func (r *fileReader) unfit(in *bufio.Reader, h *vsr.Header) string {
	if err := r.chain.fits(h, false); err != nil {
		return err.Error() // a leftover of an older log in a recycled file
	}
	size := wire.HeaderBytes + int(h.BodyBytes)
	b, _ := in.Peek(size)
	if len(b) < size {
		return "the file ends inside a frame"
	}
	if wire.Sum(b[wire.HeaderBytes:]) == h.BodySum {
		return ""
	}
	if after, _ := in.Peek(size + wire.HeaderBytes); len(after) == size+wire.HeaderBytes {
		if next, err := wire.ParseSealed(after[size:]); err == nil && next.Parent == h.Sum {
			return ""
		}
	}
	return fmt.Sprintf("the body of op %d does not match its checksum", h.Op)
}

// frame takes a frame that fits and passes it on.
func (r *fileReader) frame(in *bufio.Reader, h *vsr.Header) error {
	body := r.body[:h.BodyBytes]
	if _, err := in.Discard(wire.HeaderBytes); err != nil {
		return err
	}
	if _, err := io.ReadFull(in, body); err != nil {
		return err
	}
	if err := r.chain.join(h, false); err != nil {
		return err
	}
	return r.chain.yield(h, body, r.yield)
}
