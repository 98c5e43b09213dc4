package journal

import (
	"bytes"
	"testing"

	"rejoin/server/vsr"
)

func FuzzIndex(f *testing.F) {
	x := &index{first: 5, parent: 6, end: 900, nextOffset: 44, entries: []entry{{0, 40, 1}, {200, 42, 2}, {500, 43, 3}}}
	f.Add(encodeIndex(testCluster, testGroup, x))
	f.Fuzz(func(t *testing.T, b []byte) {
		before := bytes.Clone(b)
		x, err := decodeIndex(b, testCluster, testGroup)
		if !bytes.Equal(before, b) {
			t.Fatal("the input was changed")
		}
		if err == nil && !bytes.Equal(encodeIndex(testCluster, testGroup, x), b) {
			t.Fatal("decodes to something else")
		}
	})
}

func FuzzMark(f *testing.F) {
	var b [markBytes]byte
	putMark(b[:], testCluster, testGroup, &Mark{ID: vsr.ID{Op: 4, Sum: 5}, Synced: 3, Filling: OpRange{2, 3}, SumKnown: true, NextOffset: 7, Commit: vsr.ID{Op: 3, Sum: 2}, Fenced: true})
	f.Add(b[:])
	f.Add(firstMark(b))
	f.Add(secondMark(b))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseMark(b, testCluster, testGroup)
		if err != nil {
			return
		}
		var again [markBytes]byte
		putMark(again[:], testCluster, testGroup, &m)
		if len(b) < len(again) { // of an older version
			b = append(append([]byte{markVersion}, b[1:]...), make([]byte, len(again)-len(b))...)
		}
		if !bytes.Equal(again[:], b) {
			t.Fatal("decodes to something else")
		}
	})
}

func FuzzState(f *testing.F) {
	var b [stateBytes]byte
	putState(b[:], testCluster, testGroup, &State{View: 4, LogView: 3, Commit: vsr.ID{Op: 3, Sum: 2}, Wiped: true, WipedAbove: 9, Lives: vsr.Lives{1, 2, 3, 4, 5}})
	f.Add(b[:])
	f.Add(firstState())
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := parseState(b, testCluster, testGroup)
		if err != nil {
			return
		}
		var again [stateBytes]byte
		putState(again[:], testCluster, testGroup, &s)
		if len(b) < len(again) { // of version 1
			b = append(append([]byte{stateVersion}, b[1:]...), make([]byte, len(again)-len(b))...)
		}
		if !bytes.Equal(again[:], b) {
			t.Fatal("decodes to something else")
		}
	})
}

func FuzzStateFileCopy(f *testing.F) {
	b := make([]byte, 200)
	f.Add(b[:putCopy(b, 3, []byte("payload"))])
	f.Fuzz(func(t *testing.T, b []byte) {
		payload, sequence, err := parseCopy(b)
		if err != nil {
			return
		}
		again := make([]byte, copyHeaderBytes+len(payload))
		if n := putCopy(again, sequence, payload); !bytes.Equal(again[:n], b[:n]) {
			t.Fatal("decodes to something else")
		}
	})
}

func FuzzTable(f *testing.F) {
	t := &Table{ID: vsr.ID{Op: 3, Sum: 4}, NextOffset: 9, Bytes: []byte("sessions")}
	f.Add(append(encodeTableHeader(testCluster, testGroup, t), t.Bytes...))
	f.Fuzz(func(t *testing.T, b []byte) {
		table, err := decodeTable(b, testCluster, testGroup)
		if err != nil {
			return
		}
		if again := append(encodeTableHeader(testCluster, testGroup, table), table.Bytes...); !bytes.Equal(again, b) {
			t.Fatal("decodes to something else")
		}
	})
}

// firstMark is a mark as version 1 wrote it.
func firstMark(b [markBytes]byte) []byte {
	b[0] = 1
	return b[:markBytesFirst]
}

// secondMark is a mark as version 2 wrote it.
func secondMark(b [markBytes]byte) []byte {
	b[0] = 2
	return b[:markBytesSecond]
}

// firstState is a state of version 1.
func firstState() []byte {
	var b [stateBytes]byte
	putState(b[:], testCluster, testGroup, &State{View: 4, LogView: 3, Commit: vsr.ID{Op: 3, Sum: 2}, Wiped: true, WipedAbove: 9})
	b[0] = 1
	return b[:stateBytesFirst]
}
