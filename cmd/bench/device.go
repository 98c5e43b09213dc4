package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// diskstatsFile has a line for each block device, partitions included.
const diskstatsFile = "/proc/diskstats"

// deviceWatch counts what reaches the block device under a directory.
type deviceWatch struct {
	major, minor uint32
	looks        []int64 // bytes written since the machine began, at each look
	err          error   // why it cannot be told
}

// watchDevice finds the device under a directory, which need not be there yet, but its parent.
func watchDevice(dir string) *deviceWatch {
	w := &deviceWatch{}
	var stat unix.Stat_t
	if w.err = unix.Stat(dir, &stat); w.err != nil {
		w.err = fmt.Errorf("the device under %s is not known: %w", dir, w.err)
		return w
	}
	w.major, w.minor = unix.Major(stat.Dev), unix.Minor(stat.Dev)
	return w
}

// watchPhase looks at the beginning and at the end of a phase, or until ctx is done.
func (w *deviceWatch) watchPhase(ctx context.Context, begin, end time.Time) {
	for _, at := range []time.Time{begin, end} {
		if !sleep(ctx, time.Until(at)) {
			return
		}
		w.look()
	}
}

// look takes the present count.
func (w *deviceWatch) look() {
	if w.err != nil {
		return
	}
	text, err := os.ReadFile(diskstatsFile)
	if err != nil {
		w.err = err
		return
	}
	written, err := writtenToDevice(text, w.major, w.minor)
	if err != nil {
		w.err = err
		return
	}
	w.looks = append(w.looks, written)
}

// writtenToDevice reads the bytes written to a device from the text of /proc/diskstats.
func writtenToDevice(text []byte, major, minor uint32) (int64, error) {
	const (
		sector        = 512 // of this file, whatever the device's are
		sectorsColumn = 9   // written; major, minor and name come first
	)
	for line := range bytes.Lines(text) {
		columns := bytes.Fields(line)
		if len(columns) <= sectorsColumn || string(columns[0]) != fmt.Sprint(major) || string(columns[1]) != fmt.Sprint(minor) {
			continue
		}
		sectors, err := strconv.ParseInt(string(columns[sectorsColumn]), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: sectors written: %w", diskstatsFile, err)
		}
		return sectors * sector, nil
	}
	return 0, fmt.Errorf("the file system of the data has device %d:%d, of which %s has no line: it is no file system of one block device", major, minor, diskstatsFile)
}

// written is what the device took between the two ends of the measured phase, or why that cannot be told.
func (w *deviceWatch) written() (bytes *int64, unknown string) {
	switch {
	case w == nil:
		return nil, "the nodes keep nothing on this machine's disks"
	case w.err != nil:
		return nil, w.err.Error()
	case len(w.looks) < 2:
		return nil, "the measured phase had no end"
	}
	return new(w.looks[1] - w.looks[0]), ""
}
