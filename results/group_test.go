package results

import (
	"path/filepath"
	"testing"
)

func TestCreateGroup(t *testing.T) {
	root := filepath.Join(t.TempDir(), "results")
	first, err := CreateGroup(root, "ab", "scenarios/../My rig.yaml", testNow)
	if err != nil || filepath.Base(first) != "ab-20260102T030405Z-My-rig" {
		t.Fatalf("%s, %v", first, err)
	}
	if second, err := CreateGroup(root, "ab", "My rig", testNow); err != nil || second == first {
		t.Errorf("two in one second share %s (%v)", second, err)
	}
	if entries, err := List(root); err != nil || len(entries) != 0 {
		t.Errorf("a group is listed as a run: %v, %v", entries, err)
	}
}
