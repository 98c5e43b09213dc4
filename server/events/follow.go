package events

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"

	"rejoin/server/wire"
)

const (
	// followersMax bounds what followers can cost: each holds a queue of lines.
	followersMax = 16

	// followerLinesMax is how far a follower may fall behind before it is cut off.
	followerLinesMax = 1024
)

// Errors of Follow.
var (
	ErrSlow    = errors.New("the follower did not keep up and was cut off; ask again with since")
	ErrStopped = errors.New("the node is stopping")
	ErrTooMany = errors.New("too many followers of events")
)

type follower struct {
	lines chan []byte   // closed by nobody
	cut   chan struct{} // closed when no more lines will come
	slow  bool          // written before cut is closed
}

// Follow gives write every recorded line later than sinceMonoNs, oldest first, and then each new one
// as it comes, without gap or repetition, until ctx is done, write fails, or the recorder stops. It
// runs on the caller's goroutine; write must not keep the line. An idle stream calls write with nil
// first and never again: the moment for the caller to send its head.
func (r *Recorder) Follow(ctx context.Context, sinceMonoNs int64, write func(line []byte) error) error {
	f, past, err := r.subscribe()
	if err != nil {
		return err
	}
	defer r.unsubscribe(f)
	if err := write(nil); err != nil {
		return errors.Join(err, past.Close())
	}
	err = replay(ctx, past, sinceMonoNs, write)
	if err := errors.Join(err, past.Close()); err != nil {
		return err
	}
	return f.live(ctx, sinceMonoNs, write)
}

func (r *Recorder) subscribe() (*follower, io.ReadCloser, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.stopped:
		return nil, nil, ErrStopped
	case len(r.followers) >= followersMax:
		return nil, nil, ErrTooMany
	}
	past, err := r.readerLocked()
	if err != nil {
		return nil, nil, err
	}
	f := &follower{lines: make(chan []byte, followerLinesMax), cut: make(chan struct{})}
	r.followers[f] = struct{}{}
	return f, past, nil
}

func (r *Recorder) unsubscribe(f *follower) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.followers, f)
}

// feedLocked hands a line to every follower; the one copy is shared, since nobody writes to it.
func (r *Recorder) feedLocked(line []byte) {
	if len(r.followers) == 0 {
		return
	}
	shared := bytes.Clone(line)
	for f := range r.followers {
		select {
		case f.lines <- shared:
		default:
			f.slow = true
			r.slow.Add(1)
			r.cutLocked(f)
		}
	}
}

func (r *Recorder) cutLocked(f *follower) {
	delete(r.followers, f)
	close(f.cut)
}

// live gives what is queued before it obeys a cut.
func (f *follower) live(ctx context.Context, sinceMonoNs int64, write func([]byte) error) error {
	for {
		var line []byte
		select {
		case line = <-f.lines:
		default:
			select {
			case line = <-f.lines:
			case <-ctx.Done():
				return ctx.Err()
			case <-f.cut:
				if len(f.lines) > 0 {
					continue
				}
				if f.slow {
					return ErrSlow
				}
				return ErrStopped
			}
		}
		if err := giveLine(line, sinceMonoNs, write); err != nil {
			return err
		}
	}
}

// replay gives the lines of the file. Foreign and torn ones are passed over.
func replay(ctx context.Context, past io.Reader, sinceMonoNs int64, write func([]byte) error) error {
	lines := bufio.NewReaderSize(past, wire.EventLineBytesMax)
	tooLong := false
	for {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			tooLong = true
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if tooLong {
			tooLong = false
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := giveLine(line, sinceMonoNs, write); err != nil {
			return err
		}
	}
}

// giveLine passes on a line that is an event and late enough.
func giveLine(line []byte, sinceMonoNs int64, write func([]byte) error) error {
	e, err := wire.ParseEvent(line)
	if err != nil || e.TimeMonoNs <= sinceMonoNs {
		return nil
	}
	return write(line)
}
