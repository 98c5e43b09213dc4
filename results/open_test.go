package results

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestNothingButFilesIsRead: a pipe would wait for ever and a device would never end.
func TestNothingButFilesIsRead(t *testing.T) {
	kinds := map[string]func(path string) error{
		"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"device": func(path string) error { return os.Symlink("/dev/zero", path) },
		"folder": func(path string) error { return os.Mkdir(path, 0o755) },
	}
	for name, make := range kinds {
		t.Run(name, func(t *testing.T) {
			f := Folder{Dir: t.TempDir()}
			for _, path := range []string{f.RunFile(), f.SummaryFile(), f.ProofFile(), f.Events(), f.StatusSamples(), f.Rates(), f.Machine(), f.Latency()} {
				if err := make(path); err != nil {
					t.Fatal(err)
				}
			}
			reads := map[string]func() error{
				"run":     func() error { _, err := f.ReadRun(); return err },
				"summary": func() error { _, err := f.ReadSummary(); return err },
				"proof":   func() error { _, err := f.ReadProof(); return err },
				"events":  func() error { _, err := f.ReadEvents(); return err },
				"latency": func() error { _, err := f.ReadLatencySet(); return err },
				"status":  func() error { _, err := f.OpenStatus(); return err },
			}
			for what, read := range reads {
				if err := read(); !errors.Is(err, ErrNotRegular) {
					t.Errorf("%s: %v, want %v", what, err, ErrNotRegular)
				}
			}
		})
	}
	if _, err := OpenRegular(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}
