package results

import (
	"testing"
	"time"
)

func TestFolderRoundTrip(t *testing.T) {
	root := t.TempDir()
	f, err := Create(root, "builtin", "quick", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(root, "latest"); err == nil {
		t.Fatal("opened a folder without run.json")
	}
	if err := f.WriteRun(Run{Status: StatusRunning, Found: Probe(f.Data())}); err != nil {
		t.Fatal(err)
	}
	g, err := Open(root, "latest")
	if err != nil || g.Name() != "20260102T030405Z-builtin-quick" {
		t.Fatalf("Open = %v, %v", g, err)
	}
	if r, err := g.ReadRun(); err != nil || r.Status != StatusRunning {
		t.Fatalf("ReadRun = %+v, %v", r, err)
	}
}
