package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/zeebo/xxh3"

	"rejoin/results"
)

// A state or mark file holds two copies of one payload, each at the start of a block of its own: magic u32, length u32, sequence u64,
// checksum u64 of header and payload with this field zero, payload.
const (
	copyMagic       = 0x31534a52 // "RJS1", little-endian
	copyHeaderBytes = 24
	copyFileMax     = 1 << 20
	copyBlockBytes  = 4096
)

// dumpCopies prints every valid copy, newest marked; words of eight bytes, because the payloads differ by file.
func dumpCopies(path string, say sayer) error {
	file, err := results.OpenRegular(path)
	if err != nil {
		return err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, copyFileMax+1))
	if err != nil {
		return err
	}
	if len(text) > copyFileMax {
		return fmt.Errorf("more than %d bytes are too many for such a file", copyFileMax)
	}
	le := binary.LittleEndian
	found := 0
	for at := 0; at+copyHeaderBytes <= len(text); at += copyBlockBytes {
		if le.Uint32(text[at:]) != copyMagic {
			continue
		}
		length := int(le.Uint32(text[at+4:]))
		if length < 0 || length > len(text)-at-copyHeaderBytes {
			if err := say("byte %d: a copy of %d bytes runs over the end of the file", at, length); err != nil {
				return err
			}
			continue
		}
		whole := slices.Clone(text[at : at+copyHeaderBytes+length])
		sum := le.Uint64(whole[16:])
		le.PutUint64(whole[16:], 0)
		state := "DAMAGED"
		if xxh3.Hash(whole) == sum {
			state, found = "intact", found+1
		}
		if err := say("byte %d: copy with sequence %d, %d bytes, %s\n  %x", at, le.Uint64(whole[8:]), length, state, whole[copyHeaderBytes:]); err != nil {
			return err
		}
	}
	if found == 0 {
		return fmt.Errorf("no intact copy")
	}
	return nil
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
