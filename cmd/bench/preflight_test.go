package main

import (
	"strings"
	"testing"
	"time"
)

// TestRetentionIsOurs: other systems are not given the retention of a scenario. Their logs may lack nothing, and need all the room.
func TestRetentionIsOurs(t *testing.T) {
	s, err := loadScenario("saturate")
	if err != nil || s.Cluster.RetentionBytes == 0 {
		t.Fatalf("retention of %d bytes, error %v", s.Cluster.RetentionBytes, err)
	}
	frames := int64(closedLoopPerSMax*time.Duration(s.Duration).Seconds()) * frameBytesOf(s.BatchMessages, s.PayloadBytes)
	for _, k := range targetKinds() {
		if k.ports == 0 {
			continue
		}
		s.Target = k.name
		if s.trims() != k.own {
			t.Errorf("%s: trimmed is %v", k.name, s.trims())
		}
		need := s.diskNeeded()
		if capped := need < int64(s.Nodes)*frames; capped != k.own {
			t.Errorf("%s: %s for %d bytes of frames a node", k.name, bytesText(&need), frames)
		}
	}
}

// TestDiskFactor: a system that writes a batch several times needs the room several times, unless the disk limits how much comes.
func TestDiskFactor(t *testing.T) {
	need := func(target, load string) (frames, bytes int64) {
		s, err := parseScenario("test.yaml", []byte("name: test\nduration: 60s\n"+load))
		if err != nil {
			t.Fatal(err)
		}
		s.Target = target
		frame := frameBytesOf(s.BatchMessages, s.payloadBytesMost())
		return int64(s.batchesOffered(0, 60e9)) * frame * int64(s.Nodes), s.diskNeeded()
	}
	nats := ""
	for _, k := range targetKinds() {
		if strings.HasPrefix(k.name, "nats") && k.diskFactor > 1 {
			nats = k.name
		}
	}
	if nats == "" {
		t.Fatal("no target writes a batch more than once")
	}
	frames, once := need(targetBuiltin, "messages_per_s: 30000\n")
	if _, often := need(nats, "messages_per_s: 30000\n"); often-once < frames || often-once > 3*frames {
		t.Errorf("%s: %d bytes, %d if each is written once; %d are sent", nats, often, once, frames)
	}
	_, once = need(targetBuiltin, "closed_loop: true\n")
	if _, often := need(nats, "closed_loop: true\n"); often != once {
		t.Errorf("%s in a closed loop: %d bytes, want %d", nats, often, once)
	}
}
