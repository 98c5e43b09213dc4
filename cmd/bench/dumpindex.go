package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/zeebo/xxh3"

	"rejoin/results"
)

// An index of a segment (.idx) and a checkpoint of the client table (.tab) begin with 64 bytes: magic u32, version u32, checksum u64, cluster u64,
// group u32, count u32, and four u64 of their own. server/journal/index.go and table.go draw them.
const (
	fileHeadBytes   = 64
	indexMagic      = 0x31584a52 // "RJX1", little-endian
	tableMagic      = 0x31544a52 // "RJT1"
	fileVersion     = 1          // of both
	indexEntryBytes = 24
)

// dumpIndex prints where each op of a segment stands.
func dumpIndex(path string, title titler, say sayer) error {
	file, head, err := openHead(path, indexMagic)
	if err != nil {
		return err
	}
	defer file.Close()
	le := binary.LittleEndian
	sum := xxh3.New()
	_, _ = sum.Write(withoutSum(head)) // a hash never fails
	n, err := io.Copy(sum, file)
	if err != nil {
		return err
	}
	first, count := le.Uint64(head[32:]), uint64(le.Uint32(head[28:]))
	title("cluster %016x  group %d  %d ops from op %d  parent %016x  frames end at byte %d  next offset %d  %s", le.Uint64(head[16:]), le.Uint32(head[24:]), count,
		first, le.Uint64(head[40:]), le.Uint64(head[48:]), le.Uint64(head[56:]), intactText(n, int64(count)*indexEntryBytes, sum.Sum64() == le.Uint64(head[8:])))
	if _, err := file.Seek(fileHeadBytes, io.SeekStart); err != nil {
		return err
	}
	return dumpEntries(bufio.NewReader(file), first, count, say)
}

// dumpEntries prints the ops that an index tells of, and which of them it does not hold.
func dumpEntries(in io.Reader, first, count uint64, say sayer) error {
	le := binary.LittleEndian
	for i := range count {
		var e [indexEntryBytes]byte
		if _, err := io.ReadFull(in, e[:]); err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
			return say("the file ends here: the entries of ops %d to %d are missing", first+i, first+count-1)
		} else if err != nil {
			return err
		}
		if err := say("op %d  byte %d  offset %d  sum %016x", first+i, le.Uint64(e[:]), le.Uint64(e[8:]), le.Uint64(e[16:])); err != nil {
			return err
		}
	}
	return nil
}

// dumpTable prints what a checkpoint of the client table is of.
func dumpTable(path string, say sayer) error {
	file, head, err := openHead(path, tableMagic)
	if err != nil {
		return err
	}
	defer file.Close()
	le := binary.LittleEndian
	body := xxh3.New()
	n, err := io.Copy(body, file)
	if err != nil {
		return err
	}
	whole := le.AppendUint64(withoutSum(head), body.Sum64())
	return say("client table as of op %d, sum %016x, next offset %d  cluster %016x  group %d  %d bytes of sessions  %s", le.Uint64(head[32:]), le.Uint64(head[40:]),
		le.Uint64(head[48:]), le.Uint64(head[16:]), le.Uint32(head[24:]), n, intactText(n, int64(le.Uint32(head[28:])), xxh3.Hash(whole) == le.Uint64(head[8:])))
}

func openHead(path string, magic uint32) (file io.ReadSeekCloser, head []byte, err error) {
	f, err := results.OpenRegular(path)
	if err != nil {
		return nil, nil, err
	}
	head = make([]byte, fileHeadBytes)
	if _, err = io.ReadFull(f, head); err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("it is shorter than its head of %d bytes", fileHeadBytes)
	}
	if err == nil {
		err = knownHead(head, magic)
	}
	if err != nil {
		_ = f.Close() // opened for reading only
		return nil, nil, err
	}
	return f, head, nil
}

// knownHead refuses what this build would read wrongly.
func knownHead(head []byte, magic uint32) error {
	le := binary.LittleEndian
	if le.Uint32(head) != magic {
		return fmt.Errorf("it begins with %x, which is not what its name says", head[:4])
	}
	if version := le.Uint32(head[4:]); version != fileVersion {
		return fmt.Errorf("it is of version %d, and this build knows version %d: a later build wrote it, or it is damaged", version, fileVersion)
	}
	return nil
}

// withoutSum is a head as its checksum takes it.
func withoutSum(head []byte) []byte {
	head = append([]byte{}, head...)
	clear(head[8:16])
	return head
}

// intactText says whether a file holds as many bytes behind its head as that tells, and those that it is the checksum of.
func intactText(bytes, told int64, sumRight bool) string {
	switch {
	case bytes < told:
		return fmt.Sprintf("DAMAGED: of %d bytes behind its head the last %d are missing", told, told-bytes)
	case bytes > told:
		return fmt.Sprintf("DAMAGED: %d bytes stand behind its end", bytes-told)
	case !sumRight:
		return "DAMAGED: its checksum does not match"
	}
	return "intact"
}
