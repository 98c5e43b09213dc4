package server

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"rejoin/server/journal"
)

// TestAdviceOnAFence names the disk only where it may have failed.
func TestAdviceOnAFence(t *testing.T) {
	g := &group{topic: TopicConfig{Name: "orders"}}
	for cause, want := range map[error]string{syscall.EIO: "replace the disk", syscall.EMFILE: "ulimit -Hn", syscall.ENFILE: "fs.file-max", syscall.ENOMEM: "more memory"} {
		why := fmt.Errorf("append: %w", &journal.FaultError{File: "topics/orders/0", Verb: "sync", Err: cause})
		if advice := g.adviceOn(why); !strings.Contains(advice, want) || (cause != syscall.EIO) != strings.Contains(advice, "this says nothing of the disk") {
			t.Errorf("%v: %s", cause, advice)
		}
	}
}
