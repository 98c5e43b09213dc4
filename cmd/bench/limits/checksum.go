package limits

import (
	"context"
	"fmt"
	"hash/crc32"
	"runtime"
	"time"

	"github.com/zeebo/xxh3"

	"rejoin/results"
)

const (
	checksumTime  = 300 * time.Millisecond
	checksumRound = 100 // frames between two looks at the clock
)

// measureChecksums sums one frame in the cache: by the log's checksum, and by that of the shape.
func measureChecksums(ctx context.Context, o Options, l *results.Limits) error {
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	frame := newContent(o.FrameBytes)
	for _, c := range []struct {
		name  string
		sum   func([]byte) uint64
		of    string
		known uint64 // by the algorithm's definition
	}{
		{"XXH3-64", xxh3.Hash, "", 0x2d06800538d394c2},
		{"CRC-32C", func(b []byte) uint64 { return uint64(crc32.Checksum(b, castagnoli)) }, "123456789", 0xe3069283},
	} {
		if sum := c.sum([]byte(c.of)); sum != c.known {
			return fmt.Errorf("%s of %q is %x, not %x", c.name, c.of, sum, c.known)
		}
		frames, all := 0, uint64(0)
		began := time.Now()
		for time.Since(began) < checksumTime && ctx.Err() == nil {
			for range checksumRound {
				frame.block[0]++
				all ^= c.sum(frame.block)
			}
			frames += checksumRound
		}
		ns := float64(time.Since(began)) / float64(max(frames, 1))
		runtime.KeepAlive(all) // or there would be nothing to compute
		l.Checksums = append(l.Checksums, results.ChecksumLimit{Name: c.name, NsPerFrame: ns, BytesPerS: float64(o.FrameBytes) / ns * 1e9})
	}
	return ctx.Err()
}
