package limits

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rejoin/cmd/bench/limits/child"
	"rejoin/cmd/bench/limits/shape"
	"rejoin/results"
)

// Options say where and with what to measure. Zero values are filled in, but for Dir and Launch.
type Options struct {
	Dir        string // its file system is what is measured; nothing is left there
	FrameBytes int    // 26,928: 100 messages of 256 bytes in a frame
	Launch     child.Launcher
	Only       string // one of Kinds; all of them

	Shape      shape.Options // Dir and Launch follow from the above
	Saturated  time.Duration // of the saturated shape, 3 s
	Steady     time.Duration // of the shape at SteadyRate, 5 s; less than 0: not measured
	SteadyRate float64       // batches a second, 300

	DiskBytes     int64 // 256 MiB
	LoopbackBytes int64 // 512 MiB; a multiple of 32 MiB
	Syncs         int   // of one file, 1,000
}

// Quick are options for a first look: about a tenth of each measurement, and rough.
func Quick() Options {
	return Options{Shape: shape.Options{FileBytes: shapeFileBytes / 8}, Saturated: saturatedDefault / 10, Steady: steadyDefault / 5,
		DiskBytes: diskBytesDefault / 8, LoopbackBytes: loopbackDefault / 8, Syncs: syncsDefault / 10}
}

// Sizes where nothing else is said.
const (
	FrameBytesDefault  = 128 + 100*(12+256)
	shapeFileBytes     = 1 << 30
	shapeProducers     = 12
	saturatedDefault   = 3 * time.Second
	steadyDefault      = 5 * time.Second
	SteadyRateDefault  = 300 // batches a second: 30,000 messages
	diskBytesDefault   = 256 << 20
	loopbackDefault    = 512 << 20
	syncsDefault       = 1_000
	shapeWarmup        = 300 * time.Millisecond
	eachMeasurementMax = 20 * time.Second // on a slow disk it ends early, with fewer samples
)

// UsualShape is the one that is measured where nothing else is said.
func UsualShape(dir string) shape.Options { return Options{Dir: dir}.filled().Shape }

func (o Options) filled() Options {
	fill(&o.FrameBytes, FrameBytesDefault)
	fill(&o.Shape.Nodes, 3)
	fill(&o.Shape.Producers, shapeProducers)
	fill(&o.Shape.BodyBytes, o.FrameBytes)
	fill(&o.Shape.FileBytes, shapeFileBytes)
	fill(&o.Saturated, saturatedDefault)
	fill(&o.Steady, steadyDefault)
	fill(&o.SteadyRate, SteadyRateDefault)
	fill(&o.DiskBytes, diskBytesDefault)
	fill(&o.LoopbackBytes, loopbackDefault)
	fill(&o.Syncs, syncsDefault)
	o.Shape.Dir, o.Shape.Sync = o.Dir, true
	return o
}

func fill[T comparable](to *T, value T) {
	if *to == *new(T) {
		*to = value
	}
}

var kinds = []struct {
	name    string
	measure func(context.Context, Options, *results.Limits) error
}{
	{"syncs", measureSyncs}, {"disk", measureDisk}, {"loopback", measureLoopback}, {"checksums", measureChecksums}, {"http", measureHTTP},
	{"shape", measureShape},
}

// Kinds are the names of all measurements, in the order in which they are made.
func Kinds() (names []string) {
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// Measure measures everything, one after the other, and tells each result as it comes. It takes about 30 s.
func Measure(ctx context.Context, o Options, tell func(Line)) (results.Limits, error) {
	o = o.filled()
	began := time.Now()
	l := results.Limits{Moment: results.MomentAlone, MeasuredAt: began, Dir: o.Dir, FileSystem: results.Probe(o.Dir).FileSystem, FrameBytes: int64(o.FrameBytes)}
	for _, k := range kinds {
		if o.Only != "" && o.Only != k.name {
			continue
		}
		told := len(Lines(l))
		if err := k.measure(ctx, o, &l); err != nil {
			return l, fmt.Errorf("measure limit %s: %w", k.name, errors.Join(ctx.Err(), err))
		}
		for _, line := range Lines(l)[told:] {
			tell(line)
		}
	}
	l.TookMs = float64(time.Since(began)) / 1e6
	return l, nil
}

// measureShape takes both loads from one cluster, whose files are filled once.
func measureShape(ctx context.Context, o Options, l *results.Limits) (err error) {
	cluster, err := shape.Start(ctx, o.Launch, o.Shape)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Close()) }()
	if _, err := cluster.Drive(shapeWarmup, 0); err != nil {
		return err
	}
	for _, load := range []struct {
		duration time.Duration
		rate     float64
	}{{o.Saturated, 0}, {o.Steady, o.SteadyRate}} {
		if load.duration < 0 {
			continue
		}
		figures, err := cluster.Drive(load.duration, load.rate)
		if err != nil {
			return err
		}
		l.Shapes = append(l.Shapes, figures)
	}
	read, err := cluster.ReadBack()
	for i := range l.Shapes {
		l.Shapes[i].ReadBackBatches = read.Batches
	}
	return err
}
