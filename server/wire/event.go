package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// EventKind says what was observed.
type EventKind string

// The kinds of events. A begin is followed by progress and one end with the same topic, partition
// and OpFrom.
const (
	EventNodeStart          EventKind = "node_start"
	EventNodeStop           EventKind = "node_stop"
	EventRole               EventKind = "role"
	EventViewChangeBegin    EventKind = "view_change_begin"
	EventViewChangeProgress EventKind = "view_change_progress"
	EventViewChangeEnd      EventKind = "view_change_end"
	EventRepairBegin        EventKind = "repair_begin"
	EventRepairProgress     EventKind = "repair_progress"
	EventRepairEnd          EventKind = "repair_end"
	EventTransferBegin      EventKind = "transfer_begin"
	EventTransferProgress   EventKind = "transfer_progress"
	EventTransferEnd        EventKind = "transfer_end"
	EventRecovery           EventKind = "recovery"
	EventFenced             EventKind = "fenced"
	EventWiped              EventKind = "wiped"
	EventUnwiped            EventKind = "unwiped"
	EventStepDown           EventKind = "step_down"
	EventDiskFull           EventKind = "disk_full"
	EventDiskSpace          EventKind = "disk_space" // there is room again
	EventHole               EventKind = "hole"
	EventWaiting            EventKind = "waiting" // a view cannot start before another replica brings an op
	EventCannotKeepUp       EventKind = "cannot_keep_up"
	EventHeartbeatGap       EventKind = "heartbeat_gap"
	EventPeerUp             EventKind = "peer_up"
	EventPeerDown           EventKind = "peer_down"
	EventGC                 EventKind = "gc"      // Rounds collections ended; the longest stopped the process for DurationNs
	EventDropped            EventKind = "dropped" // the recorder had no room for Rounds events
)

// Event is one line of a node's events file and of its event stream. Zero fields that do not apply
// are left out of the line, except the first five.
type Event struct {
	TimeMonoNs int64 // raw CLOCK_MONOTONIC, common to all processes of a host; see MonoNow
	Node       int
	Topic      string // empty: the event is the node's
	Partition  int
	Kind       EventKind

	View, LogView uint64
	OpFrom, OpTo  uint64 // inclusive
	Bytes         uint64
	HasPeer       bool // tells peer 0 from none
	Peer          int
	Rounds        uint64
	DurationNs    int64
	Reason        string // one word, snake_case
	Detail        string // for a person
}

// EventLineBytesMax bounds a line, its newline included. AppendJSON cuts long texts to keep it, and
// ParseEvent refuses what is longer.
const (
	EventLineBytesMax = 4 << 10

	eventTopicBytesMax  = 64
	eventReasonBytesMax = 64
	eventDetailBytesMax = 320 // escaping takes at most 6 bytes for one
)

// ErrEvent is wrapped by every error of ParseEvent.
var ErrEvent = errors.New("not an event line")

// AppendJSON appends e as one line of JSON with its newline. Texts are escaped so that nothing in
// them can end the line, forge a field or steer a terminal.
func (e *Event) AppendJSON(b []byte) []byte {
	b = append(b, `{"t_mono_ns":`...)
	b = strconv.AppendInt(b, e.TimeMonoNs, 10)
	b = append(b, `,"node":`...)
	b = strconv.AppendInt(b, int64(e.Node), 10)
	b = append(b, `,"topic":`...)
	b = appendQuoted(b, e.Topic, eventTopicBytesMax)
	b = append(b, `,"partition":`...)
	b = strconv.AppendInt(b, int64(e.Partition), 10)
	b = append(b, `,"kind":`...)
	b = appendQuoted(b, string(e.Kind), eventReasonBytesMax)
	b = appendCount(b, `,"view":`, e.View)
	b = appendCount(b, `,"log_view":`, e.LogView)
	b = appendCount(b, `,"op_from":`, e.OpFrom)
	b = appendCount(b, `,"op_to":`, e.OpTo)
	b = appendCount(b, `,"bytes":`, e.Bytes)
	if e.HasPeer {
		b = append(b, `,"peer":`...)
		b = strconv.AppendInt(b, int64(e.Peer), 10)
	}
	b = appendCount(b, `,"rounds":`, e.Rounds)
	if e.DurationNs != 0 {
		b = append(b, `,"duration_ns":`...)
		b = strconv.AppendInt(b, e.DurationNs, 10)
	}
	if e.Reason != "" {
		b = append(b, `,"reason":`...)
		b = appendQuoted(b, e.Reason, eventReasonBytesMax)
	}
	if e.Detail != "" {
		b = append(b, `,"detail":`...)
		b = appendQuoted(b, e.Detail, eventDetailBytesMax)
	}
	return append(b, '}', '\n')
}

func appendCount(b []byte, key string, n uint64) []byte {
	if n == 0 {
		return b
	}
	return strconv.AppendUint(append(b, key...), n, 10)
}

// appendQuoted appends text as a JSON string, cut to limit bytes. Control characters, quotes, the
// line separators of Unicode and bytes that are not UTF-8 are escaped or replaced.
func appendQuoted(b []byte, text string, limit int) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		if at+size > limit {
			break
		}
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == utf8.RuneError && size == 1:
			b = append(b, `\ufffd`...)
		case r < 0x20, r >= 0x7f && r < 0xa0, r == 0x2028, r == 0x2029, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			b = append(b, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
		default:
			b = append(b, text[at:at+size]...)
		}
		at += size
	}
	return append(b, '"')
}

// eventLine is the line's shape for reading.
type eventLine struct {
	TimeMonoNs int64     `json:"t_mono_ns"`
	Node       int       `json:"node"`
	Topic      string    `json:"topic"`
	Partition  int       `json:"partition"`
	Kind       EventKind `json:"kind"`
	View       uint64    `json:"view"`
	LogView    uint64    `json:"log_view"`
	OpFrom     uint64    `json:"op_from"`
	OpTo       uint64    `json:"op_to"`
	Bytes      uint64    `json:"bytes"`
	Peer       *int      `json:"peer"`
	Rounds     uint64    `json:"rounds"`
	DurationNs int64     `json:"duration_ns"`
	Reason     string    `json:"reason"`
	Detail     string    `json:"detail"`
}

// ParseEvent reads one line, with or without its newline. Fields that it does not know are passed
// over, so that an older reader understands a newer node.
func ParseEvent(line []byte) (Event, error) {
	if len(line) > EventLineBytesMax {
		return Event{}, fmt.Errorf("%w: %d bytes, the limit is %d", ErrEvent, len(line), EventLineBytesMax)
	}
	var l eventLine
	if err := json.Unmarshal(line, &l); err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrEvent, err)
	}
	if l.Kind == "" || l.TimeMonoNs < 0 || l.Node < 0 || l.Partition < 0 {
		return Event{}, fmt.Errorf("%w: kind %q, node %d, partition %d, t_mono_ns %d", ErrEvent, l.Kind, l.Node, l.Partition, l.TimeMonoNs)
	}
	e := Event{TimeMonoNs: l.TimeMonoNs, Node: l.Node, Topic: l.Topic, Partition: l.Partition, Kind: l.Kind,
		View: l.View, LogView: l.LogView, OpFrom: l.OpFrom, OpTo: l.OpTo, Bytes: l.Bytes,
		Rounds: l.Rounds, DurationNs: l.DurationNs, Reason: l.Reason, Detail: l.Detail}
	if l.Peer != nil {
		e.HasPeer, e.Peer = true, *l.Peer
	}
	return e, nil
}
