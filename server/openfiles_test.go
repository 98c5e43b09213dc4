package server

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestOpenFiles: what a node may have open at once must be allowed, and the least that is allowed anywhere does for a small cluster
// as it is when nothing is said.
func TestOpenFiles(t *testing.T) {
	c := newCluster(t, 3, TopicConfig{Name: "orders", Partitions: 1}).config
	if err := c.checkOpenFiles(1024); err != nil {
		t.Errorf("one partition, 1024 open files: %v", err)
	}
	small := c.openFilesMax()
	c.Limits.ClientConnections += 100
	if grown := c.openFilesMax() - small; grown != 300 {
		t.Errorf("100 connections more may open %d files more, want 300: each one, its segment, and that once more", grown)
	}
	c.Topics[0].Partitions = 64
	need := c.openFilesMax()
	if err := c.checkOpenFiles(need); err != nil {
		t.Error(err)
	}
	err := c.checkOpenFiles(need - 1)
	if field := (*ConfigError)(nil); !errors.As(err, &field) || field.Field != "limits.client_connections" || !strings.Contains(err.Error(), "ulimit -Hn") {
		t.Errorf("one file too few: %v", err)
	}
}

// TestANodeThatMayOpenTooFewFiles is refused before it touches its directory.
func TestANodeThatMayOpenTooFewFiles(t *testing.T) {
	c := newCluster(t, 1, TopicConfig{Name: "orders", Partitions: 1})
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
			t.Fatal(err)
		}
	}()
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: c.config.openFilesMax() - 1, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "data")
	err := Run(context.Background(), Options{Config: c.config, ID: 0, Dir: dir})
	if field := (*ConfigError)(nil); !errors.As(err, &field) {
		t.Errorf("the node ended with %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its directory: %v", err)
	}
}
