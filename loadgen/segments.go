package loadgen

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// SegmentFile is one file of a replica's log on its disk.
type SegmentFile struct {
	Path  string
	First uint64 // number in its name: of the first op, or message
}

// segmentDigits is how many digits that number has, so that names sort as numbers do.
const segmentDigits = 20

// ListSegments lists the files of a log in their order: those of a directory whose names are 20 digits and the suffix. Both our log and Kafka name
// them so. A directory without any is an error.
func ListSegments(dir, suffix string) ([]SegmentFile, error) {
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return nil, fmt.Errorf("list segments: %w", err)
	}
	var segments []SegmentFile
	for _, e := range entries {
		if first, ok := ParseSegmentName(e.Name(), suffix); ok {
			segments = append(segments, SegmentFile{Path: filepath.Join(dir, e.Name()), First: first})
		}
	}
	if len(segments) == 0 {
		return nil, fmt.Errorf("%s holds no segment", dir)
	}
	return segments, nil
}

// ParseSegmentName takes the number out of the name of a segment.
func ParseSegmentName(name, suffix string) (first uint64, ok bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	if !ok || len(digits) != segmentDigits {
		return 0, false
	}
	first, err := strconv.ParseUint(digits, 10, 64)
	return first, err == nil
}
