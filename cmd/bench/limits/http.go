package limits

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/sys/unix"

	"rejoin/cmd/bench/limits/shape"
	"rejoin/results"
)

const (
	httpRequests = 5_000
	httpWarmup   = 500
)

// measureHTTP posts frames on one connection, and sends the same over bare TCP. Both ends live in this process, so its CPU time is theirs.
func measureHTTP(ctx context.Context, o Options, l *results.Limits) (err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var got atomic.Int64
	server := &fasthttp.Server{Handler: takeBody(&got), NoDefaultServerHeader: true, NoDefaultDate: true, MaxRequestBodySize: 2 * o.FrameBytes}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	defer func() { err = errors.Join(err, server.Shutdown(), <-ended) }()
	post, err := shape.NewPoster(listener.Addr().String(), o.FrameBytes, 0)
	if err != nil {
		return err
	}
	defer post.Close() // before the shutdown, which waits for it
	times, cpuBefore := results.NewHistogram(), int64(0)
	for n := range httpWarmup + httpRequests {
		if n == httpWarmup {
			times.Reset()
			cpuBefore = cpuNs()
		}
		if err := postOne(ctx, post, n, times); err != nil {
			return err
		}
	}
	l.HTTP = results.HTTPLimit{Requests: httpRequests, LatencyNs: times.Quantiles(), CPUNsPerRequest: float64(cpuNs()-cpuBefore) / httpRequests}
	if all := int64(httpWarmup+httpRequests) * int64(o.FrameBytes); got.Load() != all {
		return fmt.Errorf("%d of %d bytes came through", got.Load(), all)
	}
	return measureTCP(ctx, o, l)
}

func postOne(ctx context.Context, post *shape.Poster, n int, times *results.Histogram) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	began := time.Now()
	number, err := post.Do()
	if err != nil {
		return err
	}
	times.Record(int64(time.Since(began)))
	if number != uint64(n+1) {
		return fmt.Errorf("request %d was answered as number %d", n+1, number)
	}
	return nil
}

// takeBody takes the request's memory, leaves it that of the request before, and answers with the number of the request.
func takeBody(got *atomic.Int64) fasthttp.RequestHandler {
	var spare []byte
	number := uint64(0)
	return func(ctx *fasthttp.RequestCtx) { // one connection: one call at a time
		body := ctx.Request.SwapBody(spare[:0])
		got.Add(int64(len(body)))
		spare = body
		number++
		var answer [32]byte
		binary.LittleEndian.PutUint64(answer[:], number)
		ctx.SetBody(answer[:])
	}
}

func measureTCP(ctx context.Context, o Options, l *results.Limits) error {
	if err := RoundTrips(ctx, o.FrameBytes, httpWarmup, eachMeasurementMax/4, results.NewHistogram()); err != nil {
		return err
	}
	times, cpuBefore := results.NewHistogram(), cpuNs()
	if err := RoundTrips(ctx, o.FrameBytes, httpRequests, eachMeasurementMax/4, times); err != nil {
		return err
	}
	l.HTTP.TCPLatencyNs, l.HTTP.TCPCPUNsPerRequest = times.Quantiles(), float64(cpuNs()-cpuBefore)/float64(max(times.Count(), 1))
	return nil
}

// cpuNs is user and system time of this process.
func cpuNs() int64 {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		panic("limits: getrusage: " + err.Error())
	}
	return used.Utime.Nano() + used.Stime.Nano()
}
