package results

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// reserveBytes is room for the files that tell how a run ended; ours are some ten KiB in all.
const reserveBytes = 1 << 20

func (f Folder) reserve() string { return f.path("reserve") }

// Reserve takes space on the disk for the end of the run: one that fills the disk must still be able to say so.
func (f Folder) Reserve() error {
	return WriteFileAtomic(f.reserve(), func(w io.Writer) error {
		_, err := w.Write(make([]byte, reserveBytes))
		return err
	})
}

// ReleaseReserve gives the space back; it may be called again.
func (f Folder) ReleaseReserve() error {
	if err := os.Remove(f.reserve()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("release the reserve of the run: %w", err)
	}
	return nil
}

// EndInPlace changes run.json's status from running to failed where no new file can be written. It overwrites bytes that the file has already,
// which needs no space; what else ended the run stays unsaid.
func (f Folder) EndInPlace() error {
	file, err := os.OpenFile(f.RunFile(), os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("end run in place: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, jsonBytesMax))
	if err != nil {
		return fmt.Errorf("end run in place: %w", err)
	}
	was, is := statusField(StatusRunning), statusField(StatusFailed)
	at := bytes.Index(text, []byte(`"status": `)) // the run's own comes first
	if at < 0 || !bytes.HasPrefix(text[at:], was) {
		return fmt.Errorf("end run in place: %s does not say that it is running", f.RunFile())
	}
	is = append(is, bytes.Repeat([]byte(" "), len(was)-len(is))...)
	if _, err := file.WriteAt(is, int64(at)); err != nil {
		return fmt.Errorf("end run in place: %w", err)
	}
	if err := file.Sync(); err != nil {
		return fmt.Errorf("end run in place: %w", err)
	}
	return nil
}

// statusField is the status as WriteJSON spells it.
func statusField(s RunStatus) []byte { return fmt.Appendf(nil, `"status": "%s",`, s) }
