package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"rejoin/loadgen"
	"rejoin/results"
)

// docsBlocks are the fenced blocks behind a heading of docs/targets.md, by what stands in the line before each.
func docsBlocks(t *testing.T, heading string) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/targets.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("docs/targets.md has no section %q", heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := map[string]string{}
	parts := strings.Split(section, "\n```")
	for i := 1; i+1 < len(parts); i += 2 {
		before := strings.TrimSpace(parts[i-1])
		name := before[strings.LastIndexByte(before, '\n')+1:]
		if at := strings.LastIndexByte(strings.TrimSuffix(name, "`:"), '`'); at >= 0 {
			name = strings.TrimSuffix(name, "`:")[at+1:]
		}
		_, body, _ := strings.Cut(parts[i], "\n")
		blocks[name] = body + "\n"
	}
	return blocks
}

// TestNodesElsewhere runs the example of docs/targets.md: nodes that commands start and kill pass like those of the harness.
func TestNodesElsewhere(t *testing.T) {
	playedOnce(t, "a whole run")
	blocks := docsBlocks(t, "Nodes elsewhere")
	dir := t.TempDir()
	for _, name := range []string{"cluster.yaml", "node.sh", "short.yaml"} {
		if blocks[name] == "" {
			t.Fatalf("docs/targets.md shows no %s; it has %d blocks", name, len(blocks))
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(blocks[name]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "bench")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Chdir(dir)
	code, out := bench(t, append([]string{"--results", "results"}, wordsOf(t, blocks[""])...)...)
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	folder, err := results.Open("results", "latest")
	if err != nil {
		t.Fatal(err)
	}
	events, err := folder.ReadEvents()
	if err != nil {
		t.Fatal(err)
	}
	commands := map[string]int{}
	for _, e := range events {
		if e.Kind == results.KindCommand {
			commands[e.Reason]++
			if e.WaitStatus == nil || *e.WaitStatus != 0 || e.DurationNs == nil {
				t.Errorf("command %s of %s without an end: %+v", e.Reason, e.Node, e)
			}
		}
	}
	// One kill and restart of the run, three of the verifier's, three kills at the end.
	if commands["start"] != 3 || commands["restart"] != 4 || commands["kill"] != 7 {
		t.Errorf("commands that were run: %v", commands)
	}
	summary, err := folder.ReadSummary()
	if err != nil {
		t.Fatal(err)
	}
	if len(summary.Kills) != 1 || summary.Kills[0].CaughtUpMs == nil || summary.Kills[0].FirstAckMs == nil {
		t.Errorf("kills %+v, want one with its recovery", summary.Kills)
	}
	if r := summary.Replicas[0]; r.RssAnonMaxBytes != nil || r.DataBytes != nil || summary.Cost.NodesCPUNs != nil || summary.Tells(results.UntoldRepairs) {
		t.Errorf("figures of processes that the harness does not see: %+v, %+v", r, summary.Cost)
	}
}

// TestFromRepeatsElsewhere: a run is repeated at its nodes and by its commands, unless flags say otherwise.
func TestFromRepeatsElsewhere(t *testing.T) {
	root := t.TempDir()
	s, err := loadScenario("quick")
	if err != nil {
		t.Fatal(err)
	}
	scenario, err := s.toJSON()
	if err != nil {
		t.Fatal(err)
	}
	folder, err := results.Create(root, targetBuiltin, "quick", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	of := ExternalFlags{Addresses: []string{"a:1", "b:1", "c:1"}, Monitors: []string{"a:2", "b:2", "c:2"}, StartCommand: "up {node}", KillCommand: "down {node}",
		CommandLimit: durationFlag{true, time.Minute}}
	if err := folder.WriteRun(results.Run{Status: results.StatusFinished, Asked: results.Asked{Scenario: scenario, Seed: 7, Elsewhere: of.record()}}); err != nil {
		t.Fatal(err)
	}
	killed := of
	killed.KillCommand = "stop {node}"
	moved := ExternalFlags{Addresses: []string{"d:1", "e:1", "f:1"}}
	for _, c := range []struct {
		name  string
		given runCommand
		want  ExternalFlags
	}{
		{"nothing else given", runCommand{}, of},
		{"another command", runCommand{ExternalFlags: ExternalFlags{KillCommand: "stop {node}"}}, killed},
		{"its own addresses given again", runCommand{ExternalFlags: ExternalFlags{Addresses: of.Addresses}}, of},
		{"other addresses", runCommand{ExternalFlags: moved}, moved},
		{"another system", runCommand{Target: targetMemory}, ExternalFlags{}},
	} {
		c.given.From = folder.Dir
		if _, seed, _, err := c.given.asked(&environment{results: root}); err != nil || seed != 7 {
			t.Errorf("%s: seed %d, error %v", c.name, seed, err)
		}
		if !reflect.DeepEqual(c.given.ExternalFlags, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, c.given.ExternalFlags, c.want)
		}
	}
}

// TestFromRepeatsPrograms: a run of another system is repeated with the program that it was told of, unless a flag names another.
func TestFromRepeatsPrograms(t *testing.T) {
	root := t.TempDir()
	first, told := runCommand{PeerFlags: PeerFlags{NatsServer: "/opt/nats-server"}}, runCommand{PeerFlags: PeerFlags{KafkaHome: "/opt/kafka"}}
	s, seed, _, err := first.asked(&environment{results: root})
	if err != nil {
		t.Fatal(err)
	}
	r, err := newSession(&environment{ctx: t.Context(), out: io.Discard, errs: io.Discard, results: root}, &first, s, seed, profiling{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.record.close(); r.status.Close() })
	told.From = r.folder.Dir
	if _, _, _, err := told.asked(&environment{results: root}); err != nil || told.NatsServer != "/opt/nats-server" || told.KafkaHome != "/opt/kafka" {
		t.Errorf("error %v, %+v", err, told.PeerFlags)
	}
	other := runCommand{From: r.folder.Dir, PeerFlags: PeerFlags{NatsServer: "/usr/bin/nats-server"}}
	if _, _, _, err := other.asked(&environment{results: root}); err != nil || other.NatsServer != "/usr/bin/nats-server" || other.KafkaHome != "" {
		t.Errorf("named again: error %v, %+v", err, other.PeerFlags)
	}
}

// wordsOf splits the example's command as a shell does; the word bench goes.
func wordsOf(t *testing.T, command string) []string {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", "printf '%s\\0' "+strings.TrimPrefix(command, "bench "))
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for word := range bytes.SplitSeq(bytes.TrimSuffix(text, []byte{0}), []byte{0}) {
		words = append(words, string(word))
	}
	return words
}

func TestExternalFlagsAreChecked(t *testing.T) {
	root := t.TempDir()
	const three = "a:1,b:1,c:1"
	for _, c := range []struct{ args, want string }{
		{"quick --start-command true", "pass --addresses"},
		{"steady --addresses a:1,b:1", "names 2 nodes and the scenario has 3"},
		{"quick --addresses " + three, "pass --kill-command"},
		{"quick --addresses " + three + " --kill-command true", "pass --restart-command or --start-command"},
		{"steady --target memory --addresses " + three, "cannot run elsewhere"},
		{"steady --command-limit 0s --addresses " + three, "pass a number above 0"},
	} {
		code, out := bench(t, append([]string{"--results", root, "run"}, strings.Fields(c.args)...)...)
		if code != results.ExitUsage || !strings.Contains(out, c.want) {
			t.Errorf("%s: exit code %d, output %q; want a refusal with %q", c.args, code, out, c.want)
		}
	}
}

// heldSource is a log of one replica that holds so many batches.
type heldSource int

func (heldSource) Replicas() []string { return []string{"n0"} }

func (h heldSource) ReadReplica(_ context.Context, _ string, yield func(loadgen.ReadBatch) error) (loadgen.ReadEnd, error) {
	for i := range uint64(h) {
		if err := yield(loadgen.ReadBatch{BaseOffset: i, Messages: [][]byte{{}}}); err != nil {
			return loadgen.ReadEnd{}, fmt.Errorf("read n0: %w", err)
		}
	}
	return loadgen.ReadEnd{EndOffset: uint64(h)}, nil
}

// TestUsedLogIsRefused: what an earlier run left there is not this one's loss.
func TestUsedLogIsRefused(t *testing.T) {
	if err := refuseUsed(t.Context(), heldSource(0)); err != nil {
		t.Errorf("an empty log: %v", err)
	}
	if err := refuseUsed(t.Context(), heldSource(3)); !refused(err) || !strings.Contains(err.Error(), "n0 holds messages already") {
		t.Errorf("a used log: %v", err)
	}
	if _, asked := any(&remoteCluster{}).(unusedProduct); !asked {
		t.Error("nodes of our log elsewhere are not asked")
	}
}

// TestCommandsThatFail: a command that ends badly or not at all is an error with its last words, and its wait status is kept.
func TestCommandsThatFail(t *testing.T) {
	folder, record := testRecord(t)
	flags := ExternalFlags{Addresses: []string{"a:1", "b:1"}, CommandLimit: durationFlag{true, 300 * time.Millisecond}, KillCommand: "echo $REJOIN_NODE {node} $REJOIN_ADDRESS; exit 7",
		StartCommand: "echo waits; sleep 600"}
	c := newCommands(flags, folder, record, newPoller(nil, record, 2, mute{}))
	if err := c.kill(t.Context(), 1, results.RolePrimary); err == nil || !strings.Contains(err.Error(), "exit status 7") || !strings.Contains(err.Error(), "1 1 b:1") {
		t.Errorf("kill: %v", err)
	}
	if c.killsOf(1) != 0 {
		t.Error("a kill that failed was counted")
	}
	if err := c.start(0); err == nil || !strings.Contains(err.Error(), "not done within") || !strings.Contains(err.Error(), "waits") {
		t.Errorf("start: %v", err)
	}
	status := map[string]int64{}
	for _, e := range recorded(t, folder, record) {
		if e.Kind == results.KindCommand && e.WaitStatus != nil {
			status[e.Reason] = *e.WaitStatus
		}
	}
	if status["kill"] != 7<<8 || status["start"] != 9 {
		t.Errorf("wait statuses %v, want those of exit code 7 and of SIGKILL", status)
	}
}
