package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rejoin/loadgen"
	"rejoin/results"
)

// files reads replicas from the segment files of dead nodes.
type files struct {
	names []string
	dirs  []string // of the partition's segments, by replica
}

var _ loadgen.Source = (*files)(nil)

// offlineSource finds the one partition of every node under the run's data directories.
func offlineSource(folder results.Folder, nodes int) (loadgen.Source, error) {
	f := &files{}
	for i := range nodes {
		dir, err := partitionDir(folder.DataDir(i))
		if err != nil {
			return nil, err
		}
		f.names = append(f.names, results.NodeName(i))
		f.dirs = append(f.dirs, dir)
	}
	return f, nil
}

const segmentSuffix = ".seg"

// partitionDir is the directory under root that holds segment files; there must be one.
func partitionDir(root string) (string, error) {
	found := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && isSegmentName(d.Name()) {
			found[filepath.Dir(path)] = true
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("look for segment files: %w", err)
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%s holds %d partitions, a run's node holds one", root, len(found))
	}
	for dir := range found {
		return dir, nil
	}
	panic("unreachable")
}

// isSegmentName tells 00000000000000000001.seg from a prepared file that holds nothing yet.
func isSegmentName(name string) bool {
	digits, ok := strings.CutSuffix(name, segmentSuffix)
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// segmentsOf lists the segment files of a partition; their names sort by first op.
func segmentsOf(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, e := range entries {
		if isSegmentName(e.Name()) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	slices.Sort(paths)
	return paths, nil
}

// Replicas implements loadgen.Source.
func (f *files) Replicas() []string { return f.names }

// ReadReplica implements loadgen.Source.
func (f *files) ReadReplica(ctx context.Context, replica string, yield func(loadgen.ReadBatch) error) (loadgen.ReadEnd, error) {
	i := slices.Index(f.names, replica)
	if i < 0 {
		return loadgen.ReadEnd{}, fmt.Errorf("no replica %q", replica)
	}
	paths, err := segmentsOf(f.dirs[i])
	if err != nil {
		return loadgen.ReadEnd{}, err
	}
	w := walk{yield: yield}
	for n, path := range paths {
		if err := w.segment(ctx, path, n == len(paths)-1); err != nil {
			return w.end, err
		}
	}
	return w.end, nil
}

// walk follows the chain of frames through the segments.
type walk struct {
	yield    func(loadgen.ReadBatch) error
	end      loadgen.ReadEnd
	started  bool
	lastOp   uint64
	lastSum  uint64
	payloads [][]byte
}

// segment reads one file. Only the last one may end in anything but zeros, and only behind its first frame, whose op is the file's name:
// what follows the chain there was never acknowledged.
func (w *walk) segment(ctx context.Context, path string, last bool) error {
	r, err := openSegment(path)
	if err != nil {
		return err
	}
	defer r.close()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		f, err := r.next()
		if err == nil && w.started && (f.op != w.lastOp+1 || f.parent != w.lastSum) {
			err = fmt.Errorf("%w at byte %d: op %d does not follow op %d", errSegment, f.at, f.op, w.lastOp)
		}
		switch {
		case err == io.EOF, last && f.at > 0 && errors.Is(err, errSegment):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := w.frame(&f); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
}

func (w *walk) frame(f *segFrame) error {
	if !f.bodyIntact {
		return fmt.Errorf("op %d at byte %d: the body's checksum does not match", f.op, f.at)
	}
	if !w.started {
		w.started = true
		w.end.EarliestOffset = f.baseOffset
	}
	w.lastOp, w.lastSum = f.op, f.sum
	w.end.EndOffset = f.baseOffset + uint64(f.messages)
	if f.kind != segKindBatch {
		return nil
	}
	var err error
	if w.payloads, err = payloads(f, w.payloads); err != nil {
		return err
	}
	return w.yield(loadgen.ReadBatch{BaseOffset: f.baseOffset, Identity: f.sum, Messages: w.payloads})
}
