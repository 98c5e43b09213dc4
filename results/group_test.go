package results

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func TestCreateGroup(t *testing.T) {
	root := filepath.Join(t.TempDir(), "results")
	made, err := CreateGroup(root, "ab", "scenarios/../My rig.yaml", testNow)
	if err != nil {
		t.Fatal(err)
	}
	first := made.Dir
	if filepath.Base(first) != "ab-20260102T030405Z-My-rig" {
		t.Fatal(first)
	}
	if second, err := CreateGroup(root, "ab", "My rig", testNow); err != nil || second.Dir == first {
		t.Errorf("two in one second share a folder: %+v (%v)", second, err)
	}
	for _, kind := range groupKinds {
		group, err := CreateGroup(root, kind, "other", testNow)
		if err == nil {
			err = errors.Join(group.Close(), RemoveGroup(group.Dir))
		}
		if err != nil {
			t.Errorf("kind %s: %v", kind, err)
		}
	}
	if group, err := CreateGroup(root, "heap", "other", testNow); err == nil {
		t.Errorf("%s was made, and nothing would find it again", group.Dir)
	}
	if entries, err := List(root); err != nil || len(entries) != 0 {
		t.Errorf("a group is listed as a run: %v, %v", entries, err)
	}
	for _, other := range []string{"compare", "compare-notes", "20260102T030405Z-builtin-quick"} {
		if err := os.Mkdir(filepath.Join(root, other), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := RemoveGroup(filepath.Join(root, other)); err == nil {
			t.Errorf("%s is no group and was removed", other)
		}
	}
	groups, err := Groups(root)
	if err != nil || len(groups) != 2 || groups[0] != first {
		t.Fatalf("groups %v, %v", groups, err)
	}
	listed, err := ListGroups(root)
	if err != nil || len(listed) != 2 || listed[0].Kind != "ab" || !listed[0].CreatedAt.Equal(testNow) || !listed[0].Held {
		t.Errorf("listed %+v, %v", listed, err)
	}
	for _, ref := range []string{first, filepath.Base(first), first + "/"} {
		if dir, ok := OpenGroup(root, ref); !ok || dir != first {
			t.Errorf("%s opens %q", ref, dir)
		}
	}
	for _, ref := range []string{"compare-notes", "20260102T030405Z-builtin-quick", ""} {
		if dir, ok := OpenGroup(root, ref); ok {
			t.Errorf("%q opens %q", ref, dir)
		}
	}
	if err := RemoveGroup(first); !errors.Is(err, ErrHeld) || !GroupHeld(first) {
		t.Errorf("a group that is still being filled was removed: %v", err)
	}
	if err := made.Close(); err != nil || GroupHeld(first) {
		t.Errorf("a group that was closed is still held: %v", err)
	}
	if err := RemoveGroup(first); err != nil {
		t.Fatal(err)
	}
	if groups, _ := Groups(root); len(groups) != 1 {
		t.Errorf("after removal: %v", groups)
	}
}

// TestWhoLooksHoldsNobodyUp: groups are made beside lists of them, and two lists do not take each other for the maker.
func TestWhoLooksHoldsNobodyUp(t *testing.T) {
	root := t.TempDir()
	idle, err := CreateGroup(root, "ab", "idle", testNow)
	if err != nil {
		t.Fatal(err)
	}
	if err := idle.Close(); err != nil {
		t.Fatal(err)
	}
	var lookers sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		lookers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				groups, err := ListGroups(root)
				if err != nil {
					t.Error(err)
					return
				}
				for _, g := range groups {
					if g.Held && g.Dir == idle.Dir {
						t.Error("a group that nobody fills is held")
						return
					}
				}
			}
		})
	}
	for range 100 {
		made, err := CreateGroup(root, "repeat", "busy", testNow)
		if err != nil {
			t.Error(err)
			continue
		}
		if err := errors.Join(made.Close(), os.Remove(made.Dir)); err != nil {
			t.Error(err)
		}
	}
	close(done)
	lookers.Wait()
}
