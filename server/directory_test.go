package server

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rejoin/server/peer"
)

func testConfig(nodes, partitions int) *Config {
	c := Config{Cluster: "test", Topics: []TopicConfig{{Name: "orders", Partitions: partitions}}}
	for i := range nodes {
		c.Nodes = append(c.Nodes, NodeConfig{ID: i})
	}
	c = c.withDefaults()
	return &c
}

// TestDirectoryIsOneProcess: two nodes in one directory would write over each other's log.
func TestDirectoryIsOneProcess(t *testing.T) {
	root, c := t.TempDir(), testConfig(1, 1)
	first, err := openDirectory(root, c, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openDirectory(root, c, 0); err == nil || !strings.Contains(err.Error(), "in use by another process") {
		t.Errorf("a second process got %v", err)
	}
	first.format = peer.FormatUsed
	if err := errors.Join(first.save(), first.close()); err != nil {
		t.Fatal(err)
	}
	other := testConfig(1, 1)
	other.Cluster = "other"
	if _, err := openDirectory(root, other, 0); err == nil || !strings.Contains(err.Error(), "belongs to another cluster") {
		t.Errorf("another cluster got %v", err)
	}
	other = testConfig(1, 1)
	other.Limits.PipelineOps /= 2 // ops that are not committed would be taken for committed
	if _, err := openDirectory(root, other, 0); err == nil || !strings.Contains(err.Error(), "pipeline_ops") {
		t.Errorf("another pipeline got %v", err)
	}
	again, err := openDirectory(root, c, 0)
	if err != nil {
		t.Fatalf("after both had let go: %v", err)
	}
	if again.incarnation.Boot != 2 {
		t.Errorf("boot %d, want 2: a refused start does not count", again.incarnation.Boot)
	}
	if err := again.close(); err != nil {
		t.Error(err)
	}
}

// TestDirectoryIsNamedInFull: whoever passed a file, or what lies below one, reads which.
func TestDirectoryIsNamedInFull(t *testing.T) {
	file := filepath.Join(t.TempDir(), "passwd")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{file, filepath.Join(file, "n0")} {
		if _, err := openDirectory(root, testConfig(1, 1), 0); err == nil || !strings.Contains(err.Error(), " "+root+": not a directory; pass another --data") {
			t.Errorf("%s: %v", root, err)
		}
	}
}

// TestOnlyAnEmptyDirectoryIsBlank: nothing is formatted over what may be somebody's, nor over a log that has lost its node's
// state. What a start leaves that ended too early, and what a file system makes, does not count.
func TestOnlyAnEmptyDirectoryIsBlank(t *testing.T) {
	for name, want := range map[string]bool{"": true, "lost+found/": true, "events.ndjson": true, "events.ndjson.1": true, "node.state.tmp": true,
		"topics/orders/0/": false, "letters.txt": false, "node.state.old": false, ".profile": false} {
		root := t.TempDir()
		path := filepath.Join(root, name)
		var err error
		switch {
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		case name != "":
			err = os.WriteFile(path, []byte("x"), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		d, err := openDirectory(root, testConfig(1, 1), 0)
		switch {
		case want && err != nil:
			t.Errorf("%q: %v", name, err)
		case !want && err == nil:
			t.Errorf("a directory that holds %q passes for an empty one", name)
		case want:
			err = errors.Join(d.save(), d.close())
		case !strings.Contains(err.Error(), strings.TrimSuffix(strings.SplitAfter(name, "/")[0], "/")) || !strings.Contains(err.Error(), "--data"):
			t.Errorf("%q: the refusal tells neither what is there nor what to do: %v", name, err)
		}
		if want && err != nil {
			t.Errorf("%q cannot be formatted: %v", name, err)
		}
		if left, err := os.ReadDir(root); err == nil && !want && len(left) != 1 {
			t.Errorf("%q: a refusal leaves %v", name, left)
		}
	}
}

// TestUnreadableDirectory: only what no copy holds is past mending.
func TestUnreadableDirectory(t *testing.T) {
	root, c := t.TempDir(), testConfig(1, 1)
	d, err := openDirectory(root, c, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.save(), d.close()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, nodeStateFile)
	if err := os.WriteFile(path, make([]byte, 8192), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := openDirectory(root, c, 0); err == nil || !strings.Contains(err.Error(), "cannot be trusted") {
		t.Errorf("zeros: %v", err)
	}
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o755)); err != nil {
		t.Fatal(err)
	}
	if _, err := openDirectory(root, c, 0); err == nil || strings.Contains(err.Error(), "empty one") {
		t.Errorf("a file that cannot be opened is no reason to throw the directory away: %v", err)
	}
}

// TestBootOfABlankDirectory: a life is numbered above every one before it, also above those that nobody has told of.
func TestBootOfABlankDirectory(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	for _, test := range []struct {
		verdict          peer.Format
		own, known, want uint64
	}{
		{peer.FormatUnused, 1, 0, 1},
		{peer.FormatUnused, 1, 1, 1}, // they know this very life
		{peer.FormatUnused, 1, 4, 5},
		{peer.FormatWiped, 1, 0, 1_000_000},
		{peer.FormatWiped, 1, 7, 1_000_000},
		{peer.FormatWiped, 1, 1_000_000, 1_000_001},
		{peer.FormatWiped, 1, 2_000_000, 2_000_001}, // the clock was set back
	} {
		if got := bootOf(test.verdict, test.own, test.known, now); got != test.want {
			t.Errorf("%+v: boot %d", test, got)
		}
	}
}
