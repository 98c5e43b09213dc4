package main

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"

	"rejoin/results"
)

// writtenHead is a file of that magic and version whose head tells of count and whose checksum, by the rule of an index, is right.
func writtenHead(magic, version, count uint32, first uint64, body []byte) []byte {
	le := binary.LittleEndian
	b := make([]byte, fileHeadBytes, fileHeadBytes+len(body))
	le.PutUint32(b, magic)
	le.PutUint32(b[4:], version)
	le.PutUint32(b[28:], count)
	le.PutUint64(b[32:], first)
	b = append(b, body...)
	le.PutUint64(b[8:], xxh3.Hash(b))
	return b
}

// TestDumpDamagedIndexes: what is missing is named, and what this build cannot read is not printed as if it could.
func TestDumpDamagedIndexes(t *testing.T) {
	entries := make([]byte, 5*indexEntryBytes)
	whole := writtenHead(indexMagic, 1, 5, 7, entries)
	for name, test := range map[string]struct {
		file    string
		content []byte
		code    int
		want    []string
		not     string
	}{
		"whole":                {"a.idx", whole, 0, []string{"5 ops from op 7", "intact", "op 11  byte 0"}, "missing"},
		"a flipped bit":        {"a.idx", flip(whole, 70), 0, []string{"DAMAGED: its checksum does not match", "op 11  byte 0"}, "missing"},
		"entries missing":      {"a.idx", whole[:fileHeadBytes+indexEntryBytes], 0, []string{"DAMAGED: of 120 bytes behind its head the last 96 are missing", "op 7  byte 0", "ops 8 to 11 are missing"}, "op 8  byte"},
		"missing by its word":  {"a.idx", writtenHead(indexMagic, 1, 5, 7, entries[:24]), 0, []string{"DAMAGED", "ops 8 to 11 are missing"}, "intact"},
		"inside an entry":      {"a.idx", whole[:fileHeadBytes+indexEntryBytes+3], 0, []string{"the last 93 are missing", "ops 8 to 11 are missing"}, "op 8  byte"},
		"more than it tells":   {"a.idx", writtenHead(indexMagic, 1, 4, 7, entries), 0, []string{"DAMAGED: 24 bytes stand behind its end", "op 10  byte 0"}, "op 11"},
		"an absurd count":      {"a.idx", writtenHead(indexMagic, 1, 1<<32-1, 7, entries), 0, []string{"DAMAGED", "ops 12 to 4294967301 are missing"}, "intact"},
		"of another version":   {"a.idx", writtenHead(indexMagic, 7, 5, 7, entries), results.ExitUsage, []string{"version 7, and this build knows version 1"}, "op 7"},
		"a head cut off":       {"a.idx", whole[:40], results.ExitUsage, []string{"shorter than its head of 64 bytes"}, "EOF"},
		"nothing":              {"a.idx", nil, results.ExitUsage, []string{"shorter than its head of 64 bytes"}, "EOF"},
		"a table":              {"a.idx", writtenHead(tableMagic, 1, 5, 7, entries), results.ExitUsage, []string{"not what its name says"}, "op 7"},
		"a table of version 2": {"a.tab", writtenHead(tableMagic, 2, 120, 7, entries), results.ExitUsage, []string{"version 2, and this build knows version 1"}, "op 7"},
		"a table cut off":      {"a.tab", writtenHead(tableMagic, 1, 200, 7, entries), 0, []string{"as of op 7", "DAMAGED: of 200 bytes behind its head the last 80 are missing"}, "checksum"},
		"a table of too much":  {"a.tab", writtenHead(tableMagic, 1, 100, 7, entries), 0, []string{"DAMAGED: 20 bytes stand behind its end"}, "checksum"},
		"a table's checksum":   {"a.tab", writtenHead(tableMagic, 1, 120, 7, entries), 0, []string{"DAMAGED: its checksum does not match"}, "intact"},
	} {
		path := filepath.Join(t.TempDir(), test.file)
		if err := os.WriteFile(path, test.content, 0o644); err != nil {
			t.Fatal(err)
		}
		code, out := bench(t, "dump", path)
		for _, want := range test.want {
			if code != test.code || !strings.Contains(out, want) || strings.Contains(out, test.not) {
				t.Errorf("%s: exit code %d, want %d, %q and not %q in\n%s", name, code, test.code, want, test.not, out)
			}
		}
	}
}
