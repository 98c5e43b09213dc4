package peer

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

func hurried(o *Options) {
	o.timing = defaultTiming()
	o.timing.silence, o.timing.keepAlive, o.timing.handshake = 400*time.Millisecond, 50*time.Millisecond, 300*time.Millisecond
}

// A network that swallows packets closes nothing. Ten rounds of it, with traffic that waits, must
// each be noticed on both sides and leave nothing behind.
func TestAHalfOpenLinkDiesAndComesBack(t *testing.T) {
	c := newCluster(t, 2)
	p := newProxy(t, c.nodes[1].Dial)
	a, b := c.start(0, hurried, func(o *Options) { o.Nodes[1].Dial = p.listener.Addr().String() }), c.start(1, hurried)
	for round := 1; round <= 10; round++ {
		bothUp(t, a, b)
		p.setMute(true)
		f := a.frame(1, 100_000)
		a.SendFrame(1, a.message(vsr.MsgPrepare, 1), f)
		f.Release(wire.OwnerTest)
		a.heard.await(t, round, "down 1 refused false")
		b.heard.await(t, round, "down 0 refused false")
		p.setMute(false)
	}
	bothUp(t, a, b)
	if n := a.heard.count("down 1 refused true"); n != 0 {
		t.Error("a silent peer was called refused: something listens there")
	}
}

func TestAnIdleLinkStaysUp(t *testing.T) {
	c := newCluster(t, 2)
	lively := func(o *Options) {
		o.timing = defaultTiming()
		o.timing.silence, o.timing.keepAlive = time.Second, 10*time.Millisecond
	}
	a, b := c.start(0, lively), c.start(1, lively)
	bothUp(t, a, b)
	before := b.Stats().Peers[0].BulkReceivedBytes
	eventually(t, "keep-alives for longer than the silence that kills", func() bool { return b.Stats().Peers[0].BulkReceivedBytes >= before+150*uint64(len(keepAlive)) })
	if links := a.Stats().Peers[1].Links; links != 2 {
		t.Errorf("%d links, want the first 2", links)
	}
}

const childVariable = "REJOIN_PEER_TEST_CHILD"

// runChild is node 1 of a pair, in a process of its own that a test kills.
func runChild(addresses string) {
	nodes := []Node{{ID: "n0"}, {ID: "n1"}}
	nodes[0].Dial, nodes[1].Dial, _ = strings.Cut(addresses, " ")
	pool, err := wire.NewPool(4)
	if err != nil {
		panic(err)
	}
	n, err := New(Options{Self: 1, Nodes: nodes, Groups: testGroups, Listen: nodes[1].Dial, ClusterID: testCluster, FixedDigest: testFixed,
		Secret: []byte("secret"), Local: Local{Incarnation: vsr.Incarnation{Boot: 1}, Format: FormatUsed}, Pool: pool, Handler: newRecorder()})
	if err != nil {
		panic(err)
	}
	fmt.Println("listening")
	if err := n.Run(context.Background()); err != nil {
		panic(err)
	}
}

// The kernel closes a killed process's sockets one after another, so that a redial may still be
// taken by a listener about to die: the refusal must be reported all the same.
func TestSIGKILLOfAProcessIsReportedAsRefused(t *testing.T) {
	c := newCluster(t, 2)
	c.held[1].Close()
	c.held[1] = nil
	a := c.start(0)
	for life := 1; life <= 3; life++ {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), childVariable+"="+c.nodes[0].Dial+" "+c.nodes[1].Dial)
		child.Stderr = os.Stderr
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "listening\n" {
			t.Errorf("the child said %q, %v", line, err)
		}
		a.heard.await(t, life, "up 1")
		if err := child.Process.Kill(); err != nil {
			t.Error(err)
		}
		a.heard.await(t, life, "down 1 refused true")
		_ = child.Wait() // it was killed, and says so
	}
}
