package limits

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"rejoin/results"
)

// measureDisk writes one stream and reads it back with an empty page cache. Only the calls count, not the comparison.
func measureDisk(ctx context.Context, o Options, l *results.Limits) (err error) {
	f, err := tempFile(o.Dir, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	blocks := max(1, o.DiskBytes/blockBytes)
	data := newContent(blockBytes)
	writing, err := writeBlocks(ctx, f, data, blocks)
	if err != nil {
		return err
	}
	if err := forget(f); err != nil {
		return err
	}
	reading, err := readBlocks(ctx, f, data, blocks)
	if err != nil {
		return err
	}
	bytes := blocks * blockBytes
	l.Disk = results.DiskLimit{Bytes: bytes, WriteBytesPerS: float64(bytes) / writing.Seconds(), ReadBytesPerS: float64(bytes) / reading.Seconds()}
	return nil
}

func writeBlocks(ctx context.Context, f *os.File, data *content, blocks int64) (time.Duration, error) {
	began := time.Now()
	for n := range blocks {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if _, err := f.WriteAt(data.of(n), n*blockBytes); err != nil {
			return 0, err
		}
	}
	err := f.Sync()
	return time.Since(began), err
}

func readBlocks(ctx context.Context, f *os.File, data *content, blocks int64) (took time.Duration, err error) {
	block := make([]byte, blockBytes)
	for n := range blocks {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		began := time.Now()
		if _, err := f.ReadAt(block, n*blockBytes); err != nil {
			return 0, fmt.Errorf("read back: %w", err)
		}
		took += time.Since(began)
		if err := data.check(n, block); err != nil {
			return 0, err
		}
	}
	return took, nil
}
