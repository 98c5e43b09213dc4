package limits

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"rejoin/cmd/bench/limits/child"
	"rejoin/results"
)

// Appends are frames appended to a file of their own, each with its own fdatasync.
type Appends struct {
	Dir        string        `json:"dir"`
	FrameBytes int           `json:"frame_bytes"`
	Frames     int           `json:"frames"`
	Growing    bool          `json:"growing"` // else the file was filled with zeros, as segments are
	TimeMax    time.Duration `json:"time_max"`
}

// Do appends and records the time of each; it ends early after TimeMax. All frames are then read back and compared.
func (a Appends) Do(ctx context.Context, record func(ns int64)) (frames int64, err error) {
	f, err := a.open()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if frames, err = a.append(ctx, f, record); err != nil {
		return 0, err
	}
	return frames, a.readBack(f, frames)
}

func (a Appends) open() (*os.File, error) {
	size := int64(a.Frames) * int64(a.FrameBytes)
	if a.Growing {
		size = 0
	}
	return tempFile(a.Dir, size)
}

func (a Appends) append(ctx context.Context, f *os.File, record func(ns int64)) (frames int64, err error) {
	frame, limit := newContent(a.FrameBytes), time.Now().Add(a.TimeMax)
	for n := range int64(a.Frames) {
		bytes := frame.of(n)
		began := time.Now()
		if ctx.Err() != nil || began.After(limit) {
			return n, ctx.Err()
		}
		if _, err := f.WriteAt(bytes, n*int64(a.FrameBytes)); err != nil {
			return n, err
		}
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			return n, fmt.Errorf("sync: %w", err)
		}
		record(int64(time.Since(began)))
	}
	return int64(a.Frames), nil
}

func (a Appends) readBack(f *os.File, frames int64) error {
	if err := forget(f); err != nil {
		return err
	}
	frame, read := newContent(a.FrameBytes), make([]byte, a.FrameBytes)
	for n := range frames {
		if _, err := f.ReadAt(read, n*int64(a.FrameBytes)); err != nil {
			return fmt.Errorf("read back: %w", err)
		}
		if err := frame.check(n, read); err != nil {
			return err
		}
	}
	return nil
}

// roleAppends is a process that appends when it is told to: its file is ready before.
const roleAppends = "appends"

// appended is its answer.
type appended struct {
	TimesNs []int64 `json:"times_ns"`
	Frames  int64   `json:"frames"` // read back
}

func serveAppends(settings string, in io.Reader, out io.Writer) error {
	var a Appends
	if err := json.Unmarshal([]byte(settings), &a); err != nil {
		return fmt.Errorf("settings of appends: %w", err)
	}
	f, err := a.open()
	if err != nil {
		return err
	}
	defer f.Close()
	var done appended
	return child.Serve(in, out, child.Handlers{
		"ready": func(json.RawMessage) (any, error) { return nil, nil },
		"append": func(json.RawMessage) (any, error) {
			var err error
			done.Frames, err = a.append(context.Background(), f, func(ns int64) { done.TimesNs = append(done.TimesNs, ns) })
			return nil, err
		},
		"read_back": func(json.RawMessage) (any, error) { return done, a.readBack(f, done.Frames) },
	})
}

// measureSyncs appends with growing and with zero-filled files, by one process and by three at the same time.
func measureSyncs(ctx context.Context, o Options, l *results.Limits) error {
	for _, processes := range []int{1, 3} {
		for _, file := range []string{results.FileGrowing, results.FileZeroFilled} {
			limit, err := appendsBy(ctx, o, processes, file)
			if err != nil {
				return err
			}
			l.Syncs = append(l.Syncs, limit)
		}
	}
	return nil
}

func appendsBy(ctx context.Context, o Options, processes int, file string) (limit results.SyncLimit, err error) {
	settings := Appends{Dir: o.Dir, FrameBytes: o.FrameBytes, Frames: o.Syncs, Growing: file == results.FileGrowing, TimeMax: eachMeasurementMax / 4}
	all := make([]*child.Process, processes)
	for i := range all {
		if all[i], err = child.Start(ctx, o.Launch, roleAppends, settings); err != nil {
			return limit, err
		}
		defer func() { err = errors.Join(err, all[i].Close()) }()
	}
	for _, command := range []string{"ready", "append"} { // nobody reads back while another one appends
		if err := askAll(all, command, func(int) any { return nil }); err != nil {
			return limit, err
		}
	}
	done := make([]appended, processes)
	if err := askAll(all, "read_back", func(i int) any { return &done[i] }); err != nil {
		return limit, err
	}
	times := results.NewHistogram()
	limit.File, limit.Processes = file, processes
	for _, d := range done {
		limit.ReadBackFrames += d.Frames
		for _, ns := range d.TimesNs {
			times.Record(ns)
		}
	}
	if limit.LatencyNs = times.Quantiles(); limit.LatencyNs.Count != limit.ReadBackFrames {
		return limit, fmt.Errorf("%d frames were appended, %d read back", limit.LatencyNs.Count, limit.ReadBackFrames)
	}
	return limit, nil
}

// askAll lets all do something at the same time.
func askAll(all []*child.Process, command string, value func(i int) any) error {
	for _, p := range all {
		if err := p.Tell(command, nil); err != nil {
			return err
		}
	}
	var errs []error
	for i, p := range all {
		errs = append(errs, p.Hear(command, value(i)))
	}
	return errors.Join(errs...)
}
