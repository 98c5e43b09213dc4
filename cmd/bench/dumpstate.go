package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"github.com/zeebo/xxh3"

	"rejoin/results"
)

// A state file (node.state, state, mark, start) holds two copies of one payload, each at the start of a block of its own: magic u32, length u32, sequence u64,
// checksum u64 of header and payload with this field zero, payload.
const (
	copyMagic       = 0x31534a52 // "RJS1", little-endian
	copyHeaderBytes = 24
	copyFileMax     = 1 << 20
	copyBlockBytes  = 4096
)

// copyOf is one of the two copies of a state file.
type copyOf struct {
	at       int
	sequence uint64
	payload  []byte // nil: it is damaged, as why says
	why      string
}

// dumpCopies prints both copies, field by field, and which of them a start reads.
func dumpCopies(path string, say sayer) error {
	copies, err := readCopies(path)
	if err != nil {
		return err
	}
	newest := -1
	for i, c := range copies {
		if c.payload != nil && (newest < 0 || c.sequence > copies[newest].sequence) {
			newest = i
		}
	}
	for i, c := range copies {
		state := "older"
		switch {
		case c.payload == nil:
			state = "DAMAGED, " + c.why
		case i == newest:
			state = "this one counts: of the intact copies it has the highest sequence"
		case c.sequence == copies[newest].sequence:
			state = "the same once more"
		}
		text := fmt.Sprintf("byte %d: copy with sequence %d, %s", c.at, c.sequence, state)
		if c.payload != nil {
			text += "\n" + payloadText(filepath.Base(path), c.payload)
		}
		if err := say("%s", text); err != nil {
			return err
		}
	}
	if newest < 0 {
		return errors.New("no intact copy")
	}
	return nil
}

// readCopies finds what begins like a copy at the start of a block.
func readCopies(path string) ([]copyOf, error) {
	file, err := results.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, copyFileMax+1))
	if err != nil {
		return nil, err
	}
	if len(text) > copyFileMax {
		return nil, fmt.Errorf("more than %d bytes are too many for such a file", copyFileMax)
	}
	le := binary.LittleEndian
	var copies []copyOf
	for at := 0; at+copyHeaderBytes <= len(text); at += copyBlockBytes {
		if le.Uint32(text[at:]) != copyMagic {
			continue
		}
		c := copyOf{at: at, sequence: le.Uint64(text[at+8:])}
		length := uint64(le.Uint32(text[at+4:]))
		if length > uint64(len(text)-at-copyHeaderBytes) {
			c.why = fmt.Sprintf("its %d bytes run over the end of the file", length)
			copies = append(copies, c)
			continue
		}
		whole := slices.Clone(text[at : at+copyHeaderBytes+int(length)])
		sum := le.Uint64(whole[16:])
		le.PutUint64(whole[16:], 0)
		if xxh3.Hash(whole) == sum {
			c.payload = whole[copyHeaderBytes:]
		} else {
			c.why = "its checksum does not match"
		}
		copies = append(copies, c)
	}
	return copies, nil
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// firstOf is the first of the names that is there; empty if none is.
func firstOf(m map[string]any, names ...string) string {
	for _, name := range names {
		if m[name] != nil {
			return name
		}
	}
	return ""
}

// plain prints whole numbers without an exponent, and what is null as "no data".
func plain(v any) any {
	if v == nil {
		return "–"
	}
	if f, ok := v.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f)
	}
	return v
}
