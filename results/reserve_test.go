package results

import (
	"os"
	"testing"
	"time"
)

// TestEndInPlace: run.json keeps its length and all it says, but the status.
func TestEndInPlace(t *testing.T) {
	f, err := Create(t.TempDir(), "builtin", "quick", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := f.EndInPlace(); err == nil {
		t.Error("a run without run.json was ended")
	}
	before := Run{Status: StatusRunning, Pid: 77, Asked: Asked{Target: "builtin", Scenario: []byte(`{"status": "running","name":"quick"}`)}}
	if err := f.WriteRun(before); err != nil {
		t.Fatal(err)
	}
	was, _ := os.Stat(f.RunFile())
	if err := f.EndInPlace(); err != nil {
		t.Fatal(err)
	}
	is, _ := os.Stat(f.RunFile())
	after, err := f.ReadRun()
	if err != nil || after.Status != StatusFailed || after.Pid != 77 || after.Asked.Target != "builtin" || is.Size() != was.Size() {
		t.Errorf("%+v of %d bytes, before %d: %v", after, is.Size(), was.Size(), err)
	}
	if err := f.EndInPlace(); err == nil {
		t.Error("a run was ended twice")
	}
}

// TestReserve: the space is really taken, and given back once and for all.
func TestReserve(t *testing.T) {
	f, err := Create(t.TempDir(), "builtin", "quick", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Reserve(); err != nil {
		t.Fatal(err)
	}
	if n, err := treeBytes(f.Dir); err != nil || n != reserveBytes {
		t.Errorf("%d bytes are reserved: %v", n, err)
	}
	for range 2 {
		if err := f.ReleaseReserve(); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := treeBytes(f.Dir); err != nil || n != 0 {
		t.Errorf("%d bytes are left: %v", n, err)
	}
}
