package main

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"rejoin/loadgen"
	"rejoin/results"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

const segmentSuffix = ".seg"

// dumpSegment prints the header of every frame, and where and why the frames end.
func dumpSegment(path string, say sayer) error {
	file, err := results.OpenRegular(path)
	if err != nil {
		return err
	}
	defer file.Close()
	in := bufio.NewReaderSize(file, wire.FrameBytesMax)
	named, isNamed := loadgen.ParseSegmentName(filepath.Base(path), segmentSuffix)
	last := uint64(0)
	for at := int64(0); ; {
		head, err := in.Peek(wire.HeaderBytes)
		if err != nil && err != io.EOF {
			return err
		}
		if len(head) < wire.HeaderBytes || zeros(head) {
			return say("byte %d: end of the frames", at)
		}
		h, err := wire.ParseSealed(head)
		switch {
		case err != nil:
		case last == 0 && isNamed && h.Op != named:
			err = fmt.Errorf("op %d, and the name says that op %d begins here", h.Op, named)
		case last > 0 && h.Op <= last:
			err = fmt.Errorf("op %d comes after op %d", h.Op, last)
		}
		if err != nil {
			return say("byte %d: end of the frames, or damage: %v; a recycled file has there what it held before", at, err)
		}
		last = h.Op
		frame, err := in.Peek(wire.HeaderBytes + int(h.BodyBytes))
		if err != nil {
			return say("byte %d: op %d: the file ends inside its body", at, h.Op)
		}
		if err := say("byte %d  %s", at, frameText(&h, frame[wire.HeaderBytes:])); err != nil {
			return err
		}
		n, err := in.Discard(len(frame))
		if err != nil {
			return err
		}
		at += int64(n)
	}
}

func zeros(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

func frameText(h *vsr.Header, body []byte) string {
	kind, state := "register", "intact"
	if h.Kind == vsr.KindBatch {
		kind = "batch"
	}
	if err := wire.CheckBody(h, body); err != nil {
		state = "DAMAGED: " + err.Error()
	}
	return fmt.Sprintf("op %d  %s  view %d  offset %d  messages %d  body %d bytes %s  client %016x%016x  session %d  request %d  sum %016x  parent %016x  %s",
		h.Op, kind, h.View, h.BaseOffset, h.MessageCount, h.BodyBytes, state, h.Client.Hi, h.Client.Lo, h.Session, h.Request, h.Sum, h.Parent,
		time.Unix(0, h.Timestamp).UTC().Format(time.RFC3339Nano))
}
