package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"rejoin/results"
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

// TestMemoryToMeasure: a load that fits on no account is refused, before anything is started.
func TestMemoryToMeasure(t *testing.T) {
	for load, want := range map[string]string{
		"duration: 80h\nmessages_per_s: 30000\n":                       "86400000 batches take about 10.3 GiB of memory",
		"duration: 80h\nmessages_per_s: 30000\nbatch_messages: 1000\n": "",
		"duration: 60s\nmessages_per_s: 30000\n":                       "",
	} {
		r := sessionWithMemory(t, load, 8<<30)
		err := r.checkMemory()
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", load, err)
		}
		r.run.Found.MemoryBytes = nil
		if err := r.checkMemory(); err != nil {
			t.Errorf("%s: %v where nobody knows how much there is", load, err)
		}
	}
	r := sessionWithMemory(t, "duration: 1h\nclosed_loop: true\n", 4<<30)
	if err := r.checkMemory(); err != nil || len(r.warnings) != 1 || !strings.HasPrefix(r.warnings[0], "if the target takes so many") {
		t.Errorf("a closed loop: %v, warnings %q", err, r.warnings)
	}
}

func sessionWithMemory(t *testing.T, load string, bytes int64) *session {
	t.Helper()
	s, err := parseScenario("test.yaml", []byte("name: test\n"+load))
	if err != nil {
		t.Fatal(err)
	}
	return &session{scenario: s, say: newProgress(io.Discard, true), run: results.Run{Found: results.Found{MemoryBytes: &bytes}}}
}
