package results

import (
	"fmt"
	"time"
)

// LimitsFile is limits.json: what the machine could do at most, measured once by itself, or before and after a run.
type LimitsFile struct {
	SchemaVersion int      `json:"schema_version"`
	Measurements  []Limits `json:"measurements"`
}

// Moments at which limits are measured.
const (
	MomentAlone  = "alone"
	MomentBefore = "before"
	MomentAfter  = "after"
)

// Limits is one measurement. Each figure has been checked: what was written was read back and compared, what was sent was counted.
type Limits struct {
	Moment     string    `json:"moment"`
	MeasuredAt time.Time `json:"measured_at"`
	TookMs     float64   `json:"took_ms"`
	// Dir is where it wrote, on a file system of this kind.
	Dir        string `json:"dir"`
	FileSystem string `json:"file_system"`
	// FrameBytes is the size of what is written, sent and summed where nothing else is said.
	FrameBytes int64 `json:"frame_bytes"`

	Syncs     []SyncLimit     `json:"syncs"`
	Disk      DiskLimit       `json:"disk"`
	Loopback  LoopbackLimit   `json:"loopback"`
	Checksums []ChecksumLimit `json:"checksums"`
	HTTP      HTTPLimit       `json:"http"`
	Shapes    []ShapeLimit    `json:"shapes"`
}

// SyncLimit is one frame appended and made durable by fdatasync, again and again.
type SyncLimit struct {
	File           string    `json:"file"` // growing or zero_filled
	Processes      int       `json:"processes"`
	LatencyNs      Quantiles `json:"latency_ns"`
	ReadBackFrames int64     `json:"read_back_frames"`
}

// Kinds of files.
const (
	FileGrowing    = "growing"
	FileZeroFilled = "zero_filled"
)

// DiskLimit is one stream of 1 MiB blocks: written with one sync at the end, and read with an empty page cache.
type DiskLimit struct {
	Bytes          int64   `json:"bytes"`
	WriteBytesPerS float64 `json:"write_bytes_per_s"`
	ReadBytesPerS  float64 `json:"read_bytes_per_s"`
}

// LoopbackLimit is one TCP connection within the machine.
type LoopbackLimit struct {
	Bytes             int64     `json:"bytes"`
	BytesPerS         float64   `json:"bytes_per_s"`
	SendfileBytesPerS float64   `json:"sendfile_bytes_per_s"` // from the page cache
	RoundTripNs       Quantiles `json:"round_trip_ns"`        // a frame there, a byte back
}

// ChecksumLimit is one frame summed in the cache.
type ChecksumLimit struct {
	Name       string  `json:"name"`
	NsPerFrame float64 `json:"ns_per_frame"`
	BytesPerS  float64 `json:"bytes_per_s"`
}

// HTTPLimit is one frame posted and answered by fasthttp, and the same over bare TCP; CPU time is that of both ends.
type HTTPLimit struct {
	Requests           int64     `json:"requests"`
	LatencyNs          Quantiles `json:"latency_ns"`
	TCPLatencyNs       Quantiles `json:"tcp_latency_ns"`
	CPUNsPerRequest    float64   `json:"cpu_ns_per_request"`
	TCPCPUNsPerRequest float64   `json:"tcp_cpu_ns_per_request"`
}

// ShapeLimit is the bare commit by a majority: what a replicated log does at least for a batch.
type ShapeLimit struct {
	Nodes     int   `json:"nodes"`
	Producers int   `json:"producers"`
	BodyBytes int64 `json:"body_bytes"` // what a producer sends; 64 more are stored
	Synced    bool  `json:"synced"`     // false: fdatasync was left out
	// AskedBatchesPerS is 0 where each producer sends the next batch at the answer to the one before.
	AskedBatchesPerS float64 `json:"asked_batches_per_s"`
	MeasuredNs       int64   `json:"measured_ns"`
	Batches          int64   `json:"batches"` // answered
	BatchesPerS      float64 `json:"batches_per_s"`
	// LatencyNs is from due, or from sent where nothing is due.
	LatencyNs              Quantiles `json:"latency_ns"`
	BatchesPerSync         float64   `json:"batches_per_sync"` // of the primary
	PrimaryCPUNsPerBatch   float64   `json:"primary_cpu_ns_per_batch"`
	BackupCPUNsPerBatch    *float64  `json:"backup_cpu_ns_per_batch"` // of each; null without backups
	ProducersCPUNsPerBatch float64   `json:"producers_cpu_ns_per_batch"`
	// ReadBackBatches is what each node's file held in the end, at least; less than all where the file was used again.
	ReadBackBatches int64 `json:"read_back_batches"`
}

// WriteLimits writes limits.json at path, atomically, stamping the schema version.
func WriteLimits(path string, measurements []Limits) error {
	return WriteJSON(path, LimitsFile{SchemaVersion: SchemaVersion, Measurements: measurements})
}

// ReadLimits reads limits.json; the error is fs.ErrNotExist for a run that did not measure them.
func ReadLimits(path string) (LimitsFile, error) {
	var l LimitsFile
	if err := readJSON(path, &l); err != nil {
		return LimitsFile{}, err
	}
	if l.SchemaVersion != SchemaVersion {
		return LimitsFile{}, fmt.Errorf("read %s: %w %d, this bench reads %d", path, ErrSchema, l.SchemaVersion, SchemaVersion)
	}
	return l, nil
}

// Limits is the path of limits.json in a run's folder.
func (f Folder) Limits() string { return f.path("limits.json") }

// Shape is the measurement of that many producers at that rate (0: saturated), null if there is none.
func (l Limits) Shape(producers int, batchesPerS float64) *ShapeLimit {
	for i, s := range l.Shapes {
		if s.Producers == producers && s.AskedBatchesPerS == batchesPerS {
			return &l.Shapes[i]
		}
	}
	return nil
}
