package nats

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rejoin/loadgen"
	"rejoin/loadgen/targettest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serverPath is the nats-server that the tests start: the one of make peers, or NATS_SERVER.
func serverPath(t *testing.T) string {
	t.Helper()
	path := os.Getenv("NATS_SERVER")
	if path == "" {
		path = "../../../bin/peers/nats-server"
	}
	path, err := filepath.Abs(path)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Skipf("there is no nats-server to test against (%v): run make peers, or name one in NATS_SERVER", err)
	}
	return path
}

// servers are three real nats-server processes.
type servers struct {
	t     *testing.T
	path  string
	dir   string
	told  []Server
	lives []*exec.Cmd
}

func startServers(t *testing.T, sync string) *servers {
	t.Helper()
	s := &servers{t: t, path: serverPath(t), dir: t.TempDir(), lives: make([]*exec.Cmd, 3)}
	at := targettest.NatsPorts.Free(t, 9)
	for i := range 3 {
		name := fmt.Sprintf("n%d", i)
		s.told = append(s.told, Server{Node: Node{Name: name, Client: at[3*i], Monitor: at[3*i+1]}, Route: at[3*i+2],
			Routes: []string{at[2], at[5], at[8]}, StoreDir: filepath.Join(s.dir, name), SyncInterval: sync})
	}
	t.Cleanup(func() {
		for i := range s.lives {
			s.kill(i)
		}
	})
	for i, told := range s.told {
		if err := os.WriteFile(s.file(i), []byte(told.Config()), 0o644); err != nil {
			t.Fatal(err)
		}
		s.start(i)
	}
	return s
}

func (s *servers) file(i int) string { return filepath.Join(s.dir, s.told[i].Name+".conf") }
func (s *servers) log(i int) string  { return filepath.Join(s.dir, s.told[i].Name+".log") }

func (s *servers) start(i int) {
	s.t.Helper()
	log, err := os.OpenFile(s.log(i), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(s.path, "-c", s.file(i))
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.lives[i] = cmd
}

func (s *servers) kill(i int) {
	if cmd := s.lives[i]; cmd != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		s.lives[i] = nil
	}
}

func (s *servers) nodes() []Node {
	var all []Node
	for _, told := range s.told {
		all = append(all, told.Node)
	}
	return all
}

// streams counts the streams of these tests, so that each has a name of its own.
var streams atomic.Int64

// newStream makes a target with a stream of its own.
func (s *servers) newStream(t *testing.T, batches string) *Target {
	t.Helper()
	target, err := New(Options{Nodes: s.nodes(), Stream: fmt.Sprintf("s%d", streams.Add(1)), Batches: batches, SyncInterval: s.told[0].SyncInterval})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { target.Close() })
	s.until(t, "the stream is made", func(ctx context.Context) error { return target.Prepare(ctx) })
	s.until(t, "all servers know the leader", func(ctx context.Context) error { return s.settled(ctx, target) })
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = target.Remove(ctx) // a test may have killed the server that is asked
	})
	return target
}

// settled fails until one server leads the stream and the others follow.
func (s *servers) settled(ctx context.Context, target *Target) error {
	roles := ""
	for i := range s.told {
		status, err := target.Status(ctx, i)
		if err != nil {
			return err
		}
		roles += status.Role + " "
	}
	if strings.Count(roles, "primary") != 1 || strings.Count(roles, "backup") != 2 {
		return fmt.Errorf("roles are %s", roles)
	}
	return nil
}

// until tries a step until it succeeds.
func (s *servers) until(t *testing.T, what string, step func(context.Context) error) {
	t.Helper()
	var err error
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		err = step(ctx)
		cancel()
		if err == nil {
			return
		}
	}
	log, _ := os.ReadFile(s.log(0))
	t.Fatalf("%s: not within a minute: %v; the log of n0 ends: %s", what, err, log[max(0, len(log)-2000):])
}

// TestConformance runs the suite against real servers. All cases share the servers, each has a stream of its own.
func TestConformance(t *testing.T) {
	for _, mode := range []struct{ batches, sync string }{{Atomic, SyncAlways}, {Async, SyncDefault}} {
		t.Run(mode.batches, func(t *testing.T) {
			s := startServers(t, mode.sync)
			targettest.Run(t, func(t *testing.T) targettest.System {
				target := s.newStream(t, mode.batches)
				return targettest.System{
					Target:       target,
					Deduplicates: true,
					SpeaksFirst:  true,
					Freeze:       func(address int) { targettest.Stop(t, s.lives[address].Process) },
					Refuse: func(address int) {
						t.Cleanup(func() { s.start(address) })
						s.kill(address)
					},
				}
			})
			if mode.batches == Atomic {
				t.Run("DeadReplica", func(t *testing.T) { deadReplica(t, s) })
			}
		})
	}
}

// deadReplica: a server that is down is not read by way of those that live; once it is back and has caught up, it shows what it missed.
func deadReplica(t *testing.T, s *servers) {
	target := s.newStream(t, Atomic)
	const lacking = 2
	p, err := target.OpenProducer(t.Context(), loadgen.ProducerOptions{BatchMessages: 2, MessageBytes: 10})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	publish := func(request uint64) {
		address := 0
		s.until(t, "a batch", func(context.Context) error {
			r := p.Try(loadgen.Attempt{Address: address, Request: request, Deadline: time.Now().Add(2 * time.Second),
				Batch: &loadgen.Batch{Messages: [][]byte{fmt.Appendf(nil, "batch %d", request), []byte("and more")}}})
			if r.Outcome != loadgen.TryAcked {
				address = 1 - address
			}
			return r.Err
		})
	}
	publish(1)
	s.kill(lacking)
	publish(2)
	read := func(replica string) (messages int, err error) {
		_, err = target.ReadReplica(t.Context(), replica, func(loadgen.ReadBatch) error { messages++; return nil })
		return messages, err
	}
	holdsAll := func(replica string) {
		s.until(t, replica+" holds all", func(context.Context) error {
			n, err := read(replica)
			if err == nil && n != 4 {
				err = fmt.Errorf("%d messages", n)
			}
			return err
		})
	}
	holdsAll("n0") // an acknowledgement says that two hold a batch, not that a follower shows it already
	if n, err := read("n2"); err == nil {
		t.Errorf("%d messages of a server that is down were read, by way of another", n)
	}
	s.start(lacking)
	holdsAll("n2")
}
