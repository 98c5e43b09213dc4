package main

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"rejoin/server/peer"
)

// payloadText prints the payload of a state file by its fields. Their places are drawn in server/directory.go and, of a partition's
// files, in server/journal: state.go, mark.go, start.go.
func payloadText(name string, b []byte) string {
	p := payload(b)
	var fields []string
	switch {
	case name == "node.state" && len(b) == 68:
		fields = p.node()
	case name == "state" && (len(b) == 64 && p.u32(0) == 1 || len(b) == 104 && p.u32(0) == 2):
		fields = p.state()
	case name == "mark" && (len(b) == 64 && p.u32(0) == 1 || len(b) == 72 && p.u32(0) == 2 || len(b) == 88 && p.u32(0) == 3):
		fields = p.mark()
	case name == "start" && len(b) == 48 && p.u32(0) == 1:
		fields = p.start()
	default:
		return fmt.Sprintf("  %d bytes of a version that this build does not know: %x", len(b), b)
	}
	var text strings.Builder
	for pair := range slices.Chunk(fields, 2) {
		fmt.Fprintf(&text, "  %-12s %s\n", pair[0], plainLine(pair[1]))
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// payload is the bytes of one copy, little-endian. Its methods give names and values in turn.
type payload []byte

func (p payload) u32(at int) uint32 { return binary.LittleEndian.Uint32(p[at:]) }
func (p payload) u64(at int) uint64 { return binary.LittleEndian.Uint64(p[at:]) }

func (p payload) number(at int) string { return fmt.Sprint(p.u64(at)) }
func (p payload) sum(at int) string    { return fmt.Sprintf("%016x", p.u64(at)) }

// op is one with its sum, where the sum is known.
func (p payload) op(at int, known bool) string {
	switch {
	case !known:
		return p.number(at) + ", its sum is not known"
	case p.u64(at) == 0:
		return "0, none"
	}
	return p.number(at) + ", sum " + p.sum(at+8)
}

func (p payload) node() []string {
	machine := strings.TrimRight(string(p[32:]), "\x00")
	if machine == "" {
		machine = "none yet"
	}
	return []string{
		"cluster", p.sum(0) + ", of its name",
		"fixed", p.sum(8) + ", of its topics and limits.pipeline_ops",
		"node", fmt.Sprint(p.u32(16)),
		"format", peer.Format(p[20]).String(),
		"boot", p.number(24) + ", starts counted",
		"machine", machine,
	}
}

// owner is whose log a partition's file belongs to.
func (p payload) owner() []string {
	return []string{"cluster", p.sum(8) + ", of its name", "group", fmt.Sprintf("%d, of the partitions of all topics in order", p.u32(4))}
}

func (p payload) state() []string {
	wiped := "no"
	if p.u64(48)&1 != 0 {
		wiped = fmt.Sprintf("yes: what it acknowledged above op %d is forgotten, and it does not vote", p.u64(56))
	}
	fields := append(p.owner(),
		"view", p.number(16),
		"log_view", p.number(24),
		"commit", p.op(32, true)+"; the mark may tell a later one",
		"wiped", wiped)
	if len(p) > 64 {
		var lives []string
		for at := 64; at < len(p); at += 8 {
			lives = append(lives, p.number(at))
		}
		fields = append(fields, "lives", strings.Join(lives, " ")+", boot counters known of nodes 0 to 4")
	}
	return fields
}

func (p payload) mark() []string {
	flags := p.u64(56)
	fields := append(p.owner(),
		"mark", "op "+p.op(16, flags&2 != 0)+"; was durable, or is on record as if it had been",
		"next_offset", p.number(32),
		"commit", p.op(40, true))
	if len(p) > 64 {
		fields = append(fields, "synced", "op "+p.number(64)+"; of what is held, ops up to here were synced")
	}
	if len(p) > 72 && p.u64(80) > 0 {
		fields = append(fields, "filling", fmt.Sprintf("ops %d to %d; a hole, what stands in it may not have been synced", p.u64(72), p.u64(80)))
	}
	if flags&1 != 0 {
		fields = append(fields, "fenced", "yes: the disk failed, what is above the mark is in doubt")
	}
	if flags&4 != 0 {
		fields = append(fields, "top", "unknown: a mark was lost and the log ended in damage, ops above may have been acknowledged")
	}
	return fields
}

func (p payload) start() []string {
	return append(p.owner(), "before", "op "+p.op(16, p.u64(40)&1 != 0)+"; the log begins behind it", "next_offset", p.number(32))
}
