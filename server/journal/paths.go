package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

const (
	segmentSuffix = ".seg"
	indexSuffix   = ".idx"
	tableSuffix   = ".tab"
	tablePrefix   = "table-"
	nextPrefix    = "next"
	opDigits      = 20
)

func (l *Log) path(name string) string { return path.Join(l.dir, name) }

func (l *Log) segmentName(first uint64) string {
	return l.path(fmt.Sprintf("%0*d%s", opDigits, first, segmentSuffix))
}

func (l *Log) indexName(first uint64) string {
	return l.path(fmt.Sprintf("%0*d%s", opDigits, first, indexSuffix))
}

func (l *Log) tableName(op uint64) string {
	return l.path(fmt.Sprintf("%s%0*d%s", tablePrefix, opDigits, op, tableSuffix))
}

func (l *Log) nextName(i int) string {
	if i == 0 {
		return l.path(nextPrefix + segmentSuffix)
	}
	return l.path(fmt.Sprintf("%s-%d%s", nextPrefix, i, segmentSuffix))
}

// parseOpName takes the op out of a file name.
func parseOpName(name, prefix, suffix string) (op uint64, ok bool) {
	digits, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return 0, false
	}
	digits, ok = strings.CutSuffix(digits, suffix)
	if !ok || len(digits) != opDigits {
		return 0, false
	}
	op, err := strconv.ParseUint(digits, 10, 64)
	return op, err == nil
}

func dirOf(name string) string { return path.Dir(name) }

func removeIfThere(fsys FS, name string) error {
	if err := fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault(name, "remove", err)
	}
	return nil
}

// MkdirAll makes dir and what is missing above it, and makes each new name durable.
func MkdirAll(fsys FS, dir string) error {
	if dir == "." || dir == "/" || dir == "" {
		return nil
	}
	if err := MkdirAll(fsys, dirOf(dir)); err != nil {
		return err
	}
	if err := fsys.Mkdir(dir); err != nil {
		return fault(dir, "create", err)
	}
	return fault(dirOf(dir), "sync", fsys.SyncDir(dirOf(dir)))
}
