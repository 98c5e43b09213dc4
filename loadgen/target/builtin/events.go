package builtin

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"rejoin/results"
	"rejoin/server/wire"
)

// NeutralEvent turns an event of our server into the form that all targets share. baseMonoNs is the
// raw CLOCK_MONOTONIC of the run's start.
func NeutralEvent(e wire.Event, baseMonoNs int64) results.Event {
	out := results.Event{
		TNs: e.TimeMonoNs - baseMonoNs, TMonoNs: e.TimeMonoNs, Source: results.NodeName(e.Node), Kind: results.Kind(e.Kind),
		Topic: e.Topic, Reason: e.Reason, Detail: e.Detail,
		View: count(e.View), OpFrom: count(e.OpFrom), OpTo: count(e.OpTo), Bytes: count(e.Bytes), Rounds: count(e.Rounds),
	}
	if e.Topic != "" {
		out.Partition = new(int64(e.Partition))
	}
	if e.DurationNs != 0 {
		out.DurationNs = new(e.DurationNs)
	}
	if e.HasPeer {
		out.Peer = results.NodeName(e.Peer)
	}
	return out
}

// count is nil for a field that the server left out.
func count(n uint64) *int64 {
	if n == 0 {
		return nil
	}
	return new(int64(n))
}

// ReadEvents passes on the events of a node's events file, in order, and counts the lines that are
// none: a node killed while it wrote leaves a torn line, and its next life appends to that.
func ReadEvents(path string, baseMonoNs int64, take func(results.Event) error) (damaged int, err error) {
	file, err := results.OpenRegular(path)
	if err != nil {
		return 0, fmt.Errorf("read node events: %w", err)
	}
	defer file.Close()
	in := bufio.NewReaderSize(file, wire.EventLineBytesMax+1)
	for {
		line, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			damaged++
			if err := skipLine(in); err != nil && err != io.EOF {
				return damaged, fmt.Errorf("read node events: %w", err)
			}
			continue
		case err == io.EOF && len(bytes.TrimSpace(line)) == 0:
			return damaged, nil
		case err != nil && err != io.EOF:
			return damaged, fmt.Errorf("read node events: %w", err)
		}
		event, bad := wire.ParseEvent(line)
		if bad != nil {
			damaged++
		} else if err := take(NeutralEvent(event, baseMonoNs)); err != nil {
			return damaged, err
		}
		if err == io.EOF {
			return damaged, nil
		}
	}
}

// skipLine reads past the end of a line that is too long to be an event.
func skipLine(in *bufio.Reader) error {
	for {
		if _, err := in.ReadSlice('\n'); !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}
