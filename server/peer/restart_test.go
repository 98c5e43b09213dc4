package peer

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"rejoin/server/vsr"
)

// Both the side that dials and the side that is dialled learn that nobody listens any more.
func TestDeathOfAPeerIsLinkDownAndThenRefused(t *testing.T) {
	for dead := range 2 {
		t.Run(fmt.Sprintf("n%d dies", dead), func(t *testing.T) {
			a, b := pair(t)
			nodes := []*node{a, b}
			alive := nodes[1-dead]
			alive.heard.await(t, 1, fmt.Sprintf("up %d", dead))
			nodes[dead].stop()
			alive.heard.await(t, 1, fmt.Sprintf("down %d refused true", dead))
			lines := alive.heard.all()
			first := slices.Index(lines, fmt.Sprintf("down %d refused false", dead))
			if last := slices.Index(lines, fmt.Sprintf("down %d refused true", dead)); first < 0 || first > last {
				t.Errorf("heard %q", lines)
			}
		})
	}
}

func TestAPeerThatNeverWasUpIsNotReportedDown(t *testing.T) {
	c := newCluster(t, 3)
	c.held[1].Close()
	c.held[1] = nil
	a, d := c.start(0), c.start(2)
	bothUp(t, a, d)
	eventually(t, "some refused dials", func() bool { return a.Stats().Peers[1].DialsRefused >= 3 })
	if n := a.heard.count("down"); n != 0 {
		t.Errorf("heard %q", a.heard.all())
	}
}

func TestRestartIsANewHelloBeforeItsFirstMessage(t *testing.T) {
	c := newCluster(t, 2)
	a, b := c.start(0), c.start(1)
	bothUp(t, a, b)
	b.Send(0, b.message(vsr.MsgAskStartView, 0))
	a.heard.await(t, 1, "ask_start_view from 1 boot 1")
	b.stop()
	again := c.start(1, boot(2))
	bothUp(t, a, again)
	again.Send(0, again.message(vsr.MsgAskStartView, 0))
	a.heard.await(t, 1, "ask_start_view from 1 boot 2")
	lines := a.heard.all()
	place := func(prefix string) int {
		return slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, prefix) })
	}
	order := []int{place("hello 1 boot 1"), place("ask_start_view from 1 boot 1"), place("down 1"), place("hello 1 boot 2"), place("ask_start_view from 1 boot 2")}
	if !slices.IsSorted(order) || order[0] < 0 {
		t.Errorf("order %v of %q", order, lines)
	}
	if n := a.heard.count("hello"); n != 2 {
		t.Errorf("%d hellos in %q, want one for each incarnation", n, lines)
	}
	if known := a.KnownBoot(1); known != 2 {
		t.Errorf("boot counter %d is known, want 2", known)
	}
	again.heard.await(t, 1, "hello 0 boot 1 nonce 100 used")
}

// A directory that was lost, or restored from an old copy: the node is told the number to go above.
func TestASmallerBootCounterIsRefusedWithTheNumber(t *testing.T) {
	for old := range 2 {
		t.Run(fmt.Sprintf("n%d is old", old), func(t *testing.T) {
			c := newCluster(t, 2)
			remember := func(o *Options) {
				o.KnownBoots = make([]uint64, 2)
				o.KnownBoots[old] = 7
			}
			sure := c.start(1-old, remember)
			lost := c.start(old, func(o *Options) { o.Local = Local{Format: FormatBlank} })
			lost.heard.await(t, 1, fmt.Sprintf("refused %d by_peer true boot", 1-old))
			sure.heard.await(t, 1, fmt.Sprintf("refused %d by_peer false boot", old))
			lost.heard.mu.Lock()
			told := *lost.heard.refused[0]
			lost.heard.mu.Unlock()
			if told.KnownBoot != 7 || told.Format != FormatUsed || !strings.Contains(told.Text, "boot counter 0") {
				t.Errorf("told %+v", told)
			}
			if n := sure.heard.count("hello"); n != 0 {
				t.Errorf("heard %q", sure.heard.all())
			}
			lost.SetLocal(Local{Incarnation: vsr.Incarnation{Boot: told.KnownBoot + 1, Nonce: 5}, Format: FormatWiped})
			sure.heard.await(t, 1, fmt.Sprintf("hello %d boot 8 nonce 5 wiped", old))
			bothUp(t, sure, lost)
		})
	}
}

// A message of the old life that is just being handled must be done with before the new life is
// announced: after its Hello nothing of the old one may be heard.
func TestHelloWaitsForTheLastMessageOfTheOldLife(t *testing.T) {
	c := newCluster(t, 2)
	entered, goOn := make(chan struct{}), make(chan struct{})
	b := c.start(1, func(o *Options) {
		o.Handler.(*recorder).onFrame = sync.OnceFunc(func() { close(entered); <-goOn })
	})
	release := sync.OnceFunc(func() { close(goOn) })
	t.Cleanup(release)
	a := c.start(0)
	bothUp(t, a, b)
	a.Send(1, a.message(vsr.MsgAskStartView, 1))
	a.Send(1, a.message(vsr.MsgAskHead, 1))
	<-entered
	a.stop()
	again := c.start(0, boot(2))
	again.heard.await(t, 1, "up 1") // proven, and from its side ready to speak
	again.Send(1, again.message(vsr.MsgAskHead, 1))
	release()
	b.heard.await(t, 1, "ask_head from 0 boot 2")
	lines := b.heard.all()
	hello := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "hello 0 boot 2") })
	for i, line := range lines {
		if old := strings.Contains(line, "from 0 boot 1 "); old && i > hello {
			t.Errorf("%q after the hello in %q", line, lines)
		}
	}
	if b.heard.count("ask_start_view from 0 boot 1") != 1 {
		t.Errorf("heard %q", lines)
	}
}

// Two lives that believe in the same counter, after a directory was copied or forgotten, are told
// apart by their nonce.
func TestTheNonceTellsLivesApart(t *testing.T) {
	c := newCluster(t, 2)
	a, b := c.start(0), c.start(1)
	bothUp(t, a, b)
	b.stop()
	c.start(1, func(o *Options) { o.Local.Incarnation.Nonce = 999 })
	a.heard.await(t, 1, "hello 1 boot 1 nonce 999")
}

func TestANewFormatIsToldByANewHandshake(t *testing.T) {
	c := newCluster(t, 2)
	blank := func(o *Options) { o.Local.Format = FormatBlank }
	a, b := c.start(0, blank), c.start(1, blank)
	bothUp(t, a, b)
	for _, n := range []*node{a, b} {
		l := n.localNow().Local
		l.Format = FormatUnused
		n.SetLocal(l)
	}
	a.heard.await(t, 1, "hello 1 boot 1 nonce 101 unused")
	b.heard.await(t, 1, "hello 0 boot 1 nonce 100 unused")
	bothUp(t, a, b)
}

// The first op of a cluster turns every directory from unused to used: no link may fall for that.
func TestFirstUseKeepsTheLinks(t *testing.T) {
	c := newCluster(t, 2)
	unused := func(o *Options) { o.Local.Format = FormatUnused }
	a, b := c.start(0, unused), c.start(1, unused)
	bothUp(t, a, b)
	b.SetFormat(FormatUsed)
	a.Send(1, a.message(vsr.MsgAskHead, 1))
	b.heard.await(t, 1, "ask_head")
	if n := a.heard.count("down") + b.heard.count("down"); n != 0 {
		t.Errorf("heard %q", a.heard.all())
	}
	a.stop()
	a = c.start(0, boot(2))
	a.heard.await(t, 1, "hello 1 boot 1 nonce 101 used")
}

func TestTenKillsLeaveNothingBehind(t *testing.T) {
	c := newCluster(t, 2)
	a := c.start(0)
	for life := range uint64(10) {
		b := c.start(1, boot(life+1))
		bothUp(t, a, b)
		a.Send(1, a.message(vsr.MsgAskStartView, 1))
		b.heard.await(t, 1, "ask_start_view from 0")
		b.stop()
		a.heard.await(t, int(life)+1, "down 1 refused true")
	}
	if got := a.heard.count("hello 1"); got != 10 {
		t.Errorf("%d hellos, want 10", got)
	}
}
