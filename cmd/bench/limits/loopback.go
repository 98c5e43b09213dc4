package limits

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"rejoin/results"
)

const (
	sendfileBytes = 32 << 20 // of a file that is sent several times
	tripsDefault  = 5_000
)

func measureLoopback(ctx context.Context, o Options, l *results.Limits) error {
	trips := results.NewHistogram()
	if err := RoundTrips(ctx, o.FrameBytes, tripsDefault, eachMeasurementMax/4, trips); err != nil {
		return err
	}
	l.Loopback.RoundTripNs, l.Loopback.Bytes = trips.Quantiles(), o.LoopbackBytes
	block := newContent(blockBytes / 4)
	var err error
	l.Loopback.BytesPerS, err = fastest(ctx, o.LoopbackBytes, func(conn net.Conn) error {
		for sent := int64(0); sent < o.LoopbackBytes; sent += int64(len(block.block)) {
			if _, err := conn.Write(block.block); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	l.Loopback.SendfileBytesPerS, err = sendfile(ctx, o.Dir, o.LoopbackBytes)
	return err
}

// streams is how many are measured for the fastest of them. Sender and receiver are on two cores one time and take turns on
// one the next: the rates of streams in a row differ by half, and a limit is what the machine can do.
const streams = 3

// fastest returns the highest bytes a second of some streams.
func fastest(ctx context.Context, bytes int64, send func(net.Conn) error) (perS float64, err error) {
	for range streams {
		one, err := stream(ctx, bytes, send)
		if err != nil {
			return 0, err
		}
		perS = max(perS, one)
	}
	return perS, nil
}

// stream lets send fill a connection and returns the bytes a second at which the other end took all of them.
func stream(ctx context.Context, bytes int64, send func(net.Conn) error) (perS float64, err error) {
	near, far, err := connected()
	if err != nil {
		return 0, err
	}
	defer near.Close()
	defer far.Close()
	defer context.AfterFunc(ctx, func() { near.Close() })()
	sent := make(chan error, 1)
	began := time.Now()
	go func() { sent <- errors.Join(send(near), near.Close()) }()
	got, err := drain(far)
	took := time.Since(began)
	if err := errors.Join(err, <-sent); err != nil {
		return 0, err
	}
	if got != bytes {
		return 0, fmt.Errorf("%d of %d bytes came through", got, bytes)
	}
	return float64(bytes) / took.Seconds(), nil
}

// drain reads to the end into memory, as a client does: io.Copy to io.Discard would let the kernel drop the bytes.
func drain(conn net.Conn) (bytes int64, err error) {
	memory := make([]byte, blockBytes/4)
	for {
		n, err := conn.Read(memory)
		bytes += int64(n)
		if err == io.EOF {
			return bytes, nil
		}
		if err != nil {
			return bytes, err
		}
	}
}

// sendfile sends a file out of the page cache again and again.
func sendfile(ctx context.Context, dir string, bytes int64) (perS float64, err error) {
	f, err := tempFile(dir, sendfileBytes)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return fastest(ctx, bytes, func(conn net.Conn) error { return sendFile(conn, f, bytes) })
}

func sendFile(conn net.Conn, f *os.File, bytes int64) error {
	for sent := int64(0); sent < bytes; sent += sendfileBytes {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if n, err := conn.(*net.TCPConn).ReadFrom(&io.LimitedReader{R: f, N: sendfileBytes}); err != nil || n != sendfileBytes {
			return fmt.Errorf("%d of %d bytes were sent: %w", n, sendfileBytes, err)
		}
	}
	return nil
}

// connected are both ends of a TCP connection on loopback.
func connected() (near, far net.Conn, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	defer listener.Close()
	if near, err = net.Dial("tcp", listener.Addr().String()); err != nil {
		return nil, nil, err
	}
	if far, err = listener.Accept(); err != nil {
		return nil, nil, errors.Join(err, near.Close())
	}
	return near, far, nil
}

// RoundTrips sends so many frames over loopback, waits for a byte of each in answer, and ends early after so much time.
func RoundTrips(ctx context.Context, frameBytes, trips int, timeMax time.Duration, times *results.Histogram) error {
	near, far, err := connected()
	if err != nil {
		return err
	}
	defer near.Close()
	defer far.Close()
	go echo(far, frameBytes)
	frame, answer, limit := newContent(frameBytes), make([]byte, 1), time.Now().Add(timeMax)
	for n := range trips {
		bytes := frame.of(int64(n))
		began := time.Now()
		if ctx.Err() != nil || began.After(limit) {
			return ctx.Err()
		}
		if _, err := near.Write(bytes); err != nil {
			return err
		}
		if _, err := io.ReadFull(near, answer); err != nil {
			return err
		}
		times.Record(int64(time.Since(began)))
		if answer[0] != bytes[0] {
			return fmt.Errorf("frame %d came back as %d, not %d", n, answer[0], bytes[0])
		}
	}
	return nil
}

// echo answers each frame of a connection with its first byte, until it closes.
func echo(conn net.Conn, frameBytes int) {
	frame := make([]byte, frameBytes)
	for {
		if _, err := io.ReadFull(conn, frame); err != nil {
			return
		}
		if _, err := conn.Write(frame[:1]); err != nil {
			return
		}
	}
}
