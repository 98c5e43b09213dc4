package events

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"rejoin/server/wire"
)

const (
	// queueEventsMax is room for a view change and a repair of 64 partitions at once, some tens of
	// events each. When it is full, events are dropped and counted.
	queueEventsMax = 4096

	// fileBytesMaxDefault bounds the events file. A full one becomes FILE.1, in place of an older
	// one, and a new file begins.
	fileBytesMaxDefault = 64 << 20
)

// Options of Open.
type Options struct {
	Path         string // of the events file; created when it is missing, appended to otherwise
	Node         int    // stamped into every event
	FileBytesMax int64  // 0: 64 MiB

	now func() int64 // for tests; nil: wire.MonoNow
}

// Recorder takes events. Emit, Dropped and Follow are safe for concurrent use.
type Recorder struct {
	options  Options
	queue    chan wire.Event
	dropped  atomic.Uint64 // no room in the queue, or the file could not be written
	slow     atomic.Uint64 // followers that were cut off
	reported uint64        // of dropped, in lines; the writer's own

	mu        sync.Mutex // guards what follows: a line reaches the file and all followers in one step
	file      *os.File
	fileBytes int64
	torn      bool // the file ends inside a line
	followers map[*follower]struct{}
	stopped   bool
	line      []byte
}

// Open opens the events file. Nothing is written before Run.
func Open(o Options) (*Recorder, error) {
	if o.Path == "" || o.Node < 0 || o.FileBytesMax < 0 {
		return nil, fmt.Errorf("events: a path, a node and a size that are not negative are needed, got %q, %d, %d", o.Path, o.Node, o.FileBytesMax)
	}
	if o.FileBytesMax == 0 {
		o.FileBytesMax = fileBytesMaxDefault
	}
	if o.now == nil {
		o.now = wire.MonoNow
	}
	r := &Recorder{options: o, queue: make(chan wire.Event, queueEventsMax), followers: map[*follower]struct{}{},
		line: make([]byte, 0, wire.EventLineBytesMax)}
	if err := r.openFile(); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Recorder) openFile() error {
	f, err := os.OpenFile(r.options.Path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("open events file: %w", err)
	}
	size, torn, err := endsTorn(f)
	if err != nil {
		return errors.Join(fmt.Errorf("open events file: %w", err), f.Close())
	}
	r.file, r.fileBytes, r.torn = f, size, torn
	return nil
}

// endsTorn tells whether a file's last line lacks its newline: a power cut can leave one so.
func endsTorn(f *os.File) (size int64, torn bool, err error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return 0, false, err
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], info.Size()-1); err != nil {
		return 0, false, err
	}
	return info.Size(), last[0] != '\n', nil
}

// Emit records e. It stamps the node, and the time where e has none. It never blocks.
func (r *Recorder) Emit(e wire.Event) {
	e.Node = r.options.Node
	if e.TimeMonoNs == 0 {
		e.TimeMonoNs = r.options.now()
	}
	select {
	case r.queue <- e:
	default:
		r.dropped.Add(1)
	}
}

// Dropped counts the events that are not in the file.
func (r *Recorder) Dropped() uint64 { return r.dropped.Load() }

// SlowFollowers counts the followers that were cut off because they did not keep up.
func (r *Recorder) SlowFollowers() uint64 { return r.slow.Load() }

// Run writes until ctx is done, then writes what is queued, ends all followers and closes the file.
func (r *Recorder) Run(ctx context.Context) error {
	for {
		select {
		case e := <-r.queue:
			r.write(&e)
		case <-ctx.Done():
			return r.finish()
		}
	}
}

func (r *Recorder) finish() error {
	for {
		select {
		case e := <-r.queue:
			r.write(&e)
			continue
		default:
		}
		break
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	for f := range r.followers {
		r.cutLocked(f)
	}
	if err := r.file.Close(); err != nil {
		return fmt.Errorf("close events file: %w", err)
	}
	return nil
}

// write puts out what was dropped so far, then e.
func (r *Recorder) write(e *wire.Event) {
	if dropped := r.dropped.Load(); dropped != r.reported {
		lost := wire.Event{TimeMonoNs: r.options.now(), Node: r.options.Node, Kind: wire.EventDropped, Rounds: dropped - r.reported,
			Reason: "no_room", Detail: "events that were not recorded, because the queue or the disk had no room"}
		if r.writeLine(&lost) {
			r.reported = dropped
		}
	}
	if !r.writeLine(e) {
		r.dropped.Add(1)
	}
}

// writeLine tells whether the line is in the file. Followers get it in any case.
func (r *Recorder) writeLine(e *wire.Event) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.line = r.line[:0]
	if r.torn {
		r.line = append(r.line, '\n')
	}
	begin := len(r.line)
	r.line = e.AppendJSON(r.line)
	r.rotateLocked()

	n, err := r.file.Write(r.line)
	r.fileBytes += int64(n)
	switch {
	case err == nil:
		r.torn = false
	case n > 0: // the disk was full in the middle of the line
		r.torn = true
	}
	r.feedLocked(r.line[begin:])
	return err == nil
}

// rotateLocked keeps the file bounded. Where it cannot, the file just grows.
func (r *Recorder) rotateLocked() {
	if r.fileBytes+int64(len(r.line)) <= r.options.FileBytesMax || r.fileBytes == 0 {
		return
	}
	if err := os.Rename(r.options.Path, r.options.Path+".1"); err != nil {
		return
	}
	old := r.file
	if err := r.openFile(); err != nil {
		r.file = old // it goes on under its new name
		return
	}
	_ = old.Close() // every line was written with its own error already
}

// past is what was recorded before a follower came.
type past struct {
	io.Reader
	files []*os.File
}

// Close closes the files.
func (p *past) Close() error {
	var errs []error
	for _, f := range p.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// readerLocked opens the files' present content for a follower: the full one that is kept, and this one.
func (r *Recorder) readerLocked() (io.ReadCloser, error) {
	p := &past{}
	before, err := os.Open(r.options.Path + ".1")
	switch {
	case err == nil:
		p.files = append(p.files, before)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read events file: %w", err)
	}
	f, err := os.Open(r.options.Path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read events file: %w", err), p.Close())
	}
	p.files = append(p.files, f)
	p.Reader = io.NewSectionReader(f, 0, r.fileBytes)
	if before != nil {
		p.Reader = io.MultiReader(before, p.Reader)
	}
	return p, nil
}
