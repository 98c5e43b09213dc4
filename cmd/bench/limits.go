package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"time"

	"github.com/zeebo/xxh3"
	"golang.org/x/sys/unix"

	"rejoin/results"
)

type limitsCommand struct {
	Dir string `help:"Folder to write in; its file system is what is measured. Default: the present folder." default:"." placeholder:"DIR"`
}

// Help is shown by bench limits --help.
func (limitsCommand) Help() string {
	return `Measures, in about ten seconds, what no log on this machine can be faster than: a synced write of one frame, the disk, a loopback round
trip, the checksum. Compare with the latencies of a run on the same machine, on the same day.`
}

const (
	limitsFrameBytes = 128 + 100*(12+256) // one frame of the usual load
	limitsSyncs      = 1_000
	limitsTrips      = 10_000
	limitsDiskBytes  = 256 << 20
	limitsSumTime    = 500 * time.Millisecond
	limitsTime       = 20 * time.Second // for one of them, on a slow disk
)

// Run measures and prints one line each.
func (c *limitsCommand) Run(env *environment) error {
	for _, limit := range []struct {
		name    string
		measure func(context.Context) (string, error)
	}{
		{"one frame written and synced", c.syncedWrites},
		{"the same by three files at once", c.syncedByThree},
		{"disk, one stream", c.stream},
		{"loopback round trip of one frame", roundTrips},
		{"checksum", checksum},
	} {
		if env.ctx.Err() != nil {
			return &exitError{code: results.ExitInterrupted}
		}
		text, err := limit.measure(env.ctx)
		if err != nil {
			return usage("%s: %w", limit.name, err)
		}
		fmt.Fprintf(env.out, "%-34s %s\n", limit.name, text)
	}
	return nil
}

// file makes a zero-filled file of so many bytes, as segments are.
func (c *limitsCommand) file(bytes int64) (*os.File, error) {
	f, err := os.CreateTemp(c.Dir, ".bench-limits-*")
	if err != nil {
		return nil, err
	}
	os.Remove(f.Name()) // the descriptor keeps it
	zeros := make([]byte, 1<<20)
	for at := int64(0); at < bytes; at += int64(len(zeros)) {
		if _, err := f.WriteAt(zeros, at); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return f, f.Sync()
}

// syncs writes so many frames one behind another, each with its own fdatasync, and ends early after so much time.
func (c *limitsCommand) syncs(ctx context.Context, frames int64, most time.Duration, times *results.Histogram) error {
	f, err := c.file(frames * limitsFrameBytes)
	if err != nil {
		return err
	}
	defer f.Close()
	frame, limit := make([]byte, limitsFrameBytes), time.Now().Add(most)
	for i := range frames {
		began := time.Now()
		if ctx.Err() != nil || began.After(limit) {
			return ctx.Err()
		}
		if _, err := f.WriteAt(frame, i*limitsFrameBytes); err != nil {
			return err
		}
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			return err
		}
		times.Record(int64(time.Since(began)))
	}
	return nil
}

func (c *limitsCommand) syncedWrites(ctx context.Context) (string, error) {
	times := results.NewHistogram()
	err := c.syncs(ctx, limitsSyncs, limitsTime, times)
	return timesText(times), err
}

func (c *limitsCommand) syncedByThree(ctx context.Context) (string, error) {
	const files = 3
	times := [files]*results.Histogram{}
	ended := make(chan error, files)
	for i := range times {
		times[i] = results.NewHistogram()
		go func() { ended <- c.syncs(ctx, limitsSyncs, limitsTime, times[i]) }()
	}
	all := results.NewHistogram()
	var errs []error
	for range times {
		errs = append(errs, <-ended)
	}
	for _, h := range times {
		all.Merge(h)
	}
	return timesText(all), errors.Join(errs...)
}

func timesText(h *results.Histogram) string {
	return fmt.Sprintf("p50 %s  p99 %s  max %s  (%d bytes, %d times)", h.QuantileText(0.5), h.QuantileText(0.99), nsText(h.MaxNs()), limitsFrameBytes, h.Count())
}

func (c *limitsCommand) stream(context.Context) (string, error) {
	f, err := c.file(0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	block := make([]byte, 1<<20)
	began := time.Now()
	for at := int64(0); at < limitsDiskBytes; at += int64(len(block)) {
		if _, err := f.WriteAt(block, at); err != nil {
			return "", err
		}
	}
	if err := f.Sync(); err != nil {
		return "", err
	}
	return fmt.Sprintf("%.0f MB/s  (%d MiB, one sync at the end)", float64(limitsDiskBytes)/1e6/time.Since(began).Seconds(), limitsDiskBytes>>20), nil
}

func roundTrips(ctx context.Context) (string, error) {
	times := results.NewHistogram()
	err := tripTimes(ctx, limitsTrips, limitsTime, times)
	return timesText(times), err
}

// tripTimes sends so many frames over loopback, waits for a short answer to each, and ends early after so much time.
func tripTimes(ctx context.Context, trips int, most time.Duration, times *results.Histogram) error {
	ports, err := reservePorts(1)
	if err != nil {
		return err
	}
	defer ports.release()
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", ports.numbers[0]))
	if err != nil {
		return err
	}
	defer listener.Close()
	go echo(listener)
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		return err
	}
	defer conn.Close()
	frame, answer, limit := make([]byte, limitsFrameBytes), make([]byte, 1), time.Now().Add(most)
	for range trips {
		began := time.Now()
		if ctx.Err() != nil || began.After(limit) {
			return ctx.Err()
		}
		if _, err := conn.Write(frame); err != nil {
			return err
		}
		if _, err := io.ReadFull(conn, answer); err != nil {
			return err
		}
		times.Record(int64(time.Since(began)))
	}
	return nil
}

// echo answers each frame of one connection with a byte, until it closes.
func echo(listener net.Listener) {
	conn, err := listener.Accept()
	if err != nil {
		return
	}
	defer conn.Close()
	frame := make([]byte, limitsFrameBytes)
	for {
		if _, err := io.ReadFull(conn, frame); err != nil {
			return
		}
		if _, err := conn.Write(frame[:1]); err != nil {
			return
		}
	}
}

func checksum(context.Context) (string, error) {
	frame := make([]byte, limitsFrameBytes)
	n, sum := 0, uint64(0)
	began := time.Now()
	for time.Since(began) < limitsSumTime {
		for range 100 {
			frame[0]++
			sum ^= xxh3.Hash(frame)
			n++
		}
	}
	took := time.Since(began)
	runtime.KeepAlive(sum) // or there would be nothing to compute
	return fmt.Sprintf("%.1f GB/s, %.1f µs a frame  (XXH3-64, hot)", float64(n)*limitsFrameBytes/1e9/took.Seconds(), took.Seconds()*1e6/float64(n)), nil
}
