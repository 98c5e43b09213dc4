package peer

import (
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// talk connects, says something and returns what is answered until the node hangs up.
func talk(t *testing.T, address string, say []byte) []byte {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(say); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil && !strings.Contains(err.Error(), "reset") {
		t.Fatalf("the node did not hang up: %v", err)
	}
	return answer
}

func TestStrangersAreTurnedAway(t *testing.T) {
	c := newCluster(t, 2)
	b := c.start(1)
	startView := wire.AppendEnvelope(nil, &vsr.Message{Kind: vsr.MsgStartView, From: 0, To: 1, View: 1 << 60, LogView: 1 << 60}, 0)
	hello := make([]byte, helloBytes)
	hello[0], hello[1], hello[2] = byte(purposeProtocol), 0, 1
	withHello := func(change func(body []byte)) []byte {
		body := append([]byte{}, hello...)
		change(body)
		return appendRecord(nil, recordHello, body)
	}
	huge := appendRecord(nil, recordHello, hello)
	binary.LittleEndian.PutUint32(huge[8:], 1<<32-1)
	proof := appendRecord(appendRecord(nil, recordHello, hello), recordProof, make([]byte, factsBytes+macBytes))
	version := appendRecord(nil, recordHello, hello)
	version[4] = 9
	cases := []struct {
		name  string
		say   []byte
		words string
	}{
		{"start_view for view 2^60", startView, "no node"},
		{"HTTP", []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), "no node"},
		{"a length of 4 GiB", huge, "4294967295 bytes, the limit is 512"},
		{"another version", version, "version 1 met version 9"},
		{"a proof without the secret", proof, "does not know this cluster's secret"},
		{"a proof first", appendRecord(nil, recordProof, make([]byte, factsBytes+macBytes)), "record 3 came where 1 was expected"},
		{"an unknown node", withHello(func(b []byte) { b[1] = 200 }), "node number 200 does not exist"},
		{"a node that does not dial us", withHello(func(b []byte) { b[1] = 1 }), "node number 1 does not exist or is not one that dials"},
		{"a call for another node", withHello(func(b []byte) { b[2] = 3 }), "node number 3 was called"},
		{"an unknown purpose", withHello(func(b []byte) { b[0] = 9 }), "wrong length"},
		{"a short hello", appendRecord(nil, recordHello, hello[:5]), "wrong length"},
		{"half a hello", appendRecord(nil, recordHello, hello)[:20], ""},
		{"a refusal that asks for a new boot counter", appendRecord(appendRecord(nil, recordHello, hello), recordRefusal, []byte{byte(RefusedBoot)}), ""},
	}
	for _, test := range cases {
		if answer := talk(t, b.Addr().String(), test.say); !strings.Contains(string(answer), test.words) {
			t.Errorf("%s: answered %q, want %q in it", test.name, answer, test.words)
		}
	}
	for _, line := range b.heard.all() {
		if !strings.HasPrefix(line, "refused") || strings.HasSuffix(line, "boot") {
			t.Errorf("a stranger made the node hear %q", line)
		}
	}
	a := c.start(0)
	bothUp(t, a, b)
}

// Everything that a real dialer said, said again by somebody who listened.
func TestAReplayedHandshakeIsRefused(t *testing.T) {
	c := newCluster(t, 2)
	p := newProxy(t, c.nodes[1].Dial)
	a, b := c.start(0, func(o *Options) { o.Nodes[1].Dial = p.listener.Addr().String() }), c.start(1)
	bothUp(t, a, b)
	m := a.message(vsr.MsgStartView, 1)
	m.View = 1 << 60
	a.Send(1, m)
	b.heard.await(t, 1, "start_view from 0")
	replays := p.said()
	a.stop()
	b.heard.await(t, 1, "down 0")
	for _, replay := range replays {
		if answer := talk(t, b.Addr().String(), replay); !strings.Contains(string(answer), "does not know this cluster's secret") {
			t.Errorf("answered %q", answer)
		}
	}
	if hellos, messages := b.heard.count("hello"), b.heard.count("start_view"); hellos != 1 || messages != 1 {
		t.Errorf("heard %q", b.heard.all())
	}
}

func TestHandshakesAtOnceAreBoundedAndEndInTime(t *testing.T) {
	c := newCluster(t, 2)
	b := c.start(1, func(o *Options) {
		o.timing = defaultTiming()
		o.timing.handshake = 300 * time.Millisecond
	})
	var conns []net.Conn
	defer func() {
		for _, conn := range conns {
			conn.Close()
		}
	}()
	for range handshakesMax + 20 {
		conn, err := net.Dial("tcp", b.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	eventually(t, "some are turned away", func() bool { return b.Stats().HandshakesBusy > 0 })
	if n := b.Stats().Handshakes; n > handshakesMax {
		t.Errorf("%d handshakes at once, the limit is %d", n, handshakesMax)
	}
	eventually(t, "silent ones time out", func() bool { return b.Stats().Handshakes == 0 })
	a := c.start(0)
	bothUp(t, a, b)
}

// TestStrangersKeepNobodyOut: they hold every place for a handshake, and would for longer than the test lasts.
func TestStrangersKeepNobodyOut(t *testing.T) {
	c := newCluster(t, 2)
	b := c.start(1, func(o *Options) {
		o.timing = defaultTiming()
		o.timing.handshake = 10 * time.Minute
	})
	for range handshakesMax {
		conn, err := net.Dial("tcp", b.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	eventually(t, "every place is taken", func() bool { return b.Stats().Handshakes == handshakesMax })
	bothUp(t, c.start(0), b)
}

// ghost is a node 0 that has proven itself and then says whatever a test wants.
func ghost(t *testing.T, c *cluster, to *node, p purpose) *link {
	t.Helper()
	o := c.options(0)
	o.Listener, c.held[0] = c.held[0], nil
	o.Pool, o.Handler = to.pool, newRecorder()
	n, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	n.listener.Close()
	conn, err := net.Dial("tcp", to.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	l, err := n.dialHandshake(conn, 1, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	to.heard.await(t, 1, "hello 0")
	return l
}

func rawFrame(op uint64, bodyBytes int) []byte {
	pool, err := wire.NewCheckedPool(1)
	if err != nil {
		panic(err)
	}
	b := pool.Get(wire.OwnerTest)
	sealedFrame(b, 1, op, bodyBytes)
	return b.Frame()
}

func ghostMessage(kind vsr.MessageKind, change ...func(*vsr.Message)) *vsr.Message {
	m := &vsr.Message{Kind: kind, Group: 1, From: 0, To: 1, Incarnation: vsr.Incarnation{Boot: 1, Nonce: 100}, FromOp: 5, ToOp: 6, View: 1}
	for _, f := range change {
		f(m)
	}
	return m
}

// What a proven peer may do wrong ends its link, at once and without a word to the partitions.
func TestAPeerThatBreaksTheRulesLosesItsLink(t *testing.T) {
	flip := func(b []byte, at int) []byte { b[at] ^= 1; return b }
	envelope := func(m *vsr.Message, payload int) []byte { return wire.AppendEnvelope(nil, m, payload) }
	good, next := rawFrame(5, 100), rawFrame(6, 100)
	damagedHeader, damagedBody := flip(rawFrame(5, 100), 90), flip(rawFrame(5, 100), 200)
	prepare := ghostMessage(vsr.MsgPrepare)
	otherGroup := ghostMessage(vsr.MsgPrepare, func(m *vsr.Message) { m.Group = 2 })
	both := len(good) + len(next)
	cases := []struct {
		name     string
		purpose  purpose
		say      [][]byte
		badFrame uint64
		heard    string
	}{
		{"damaged envelope", purposeProtocol, [][]byte{flip(envelope(ghostMessage(vsr.MsgBeat), 0), 60)}, 0, ""},
		{"no envelope", purposeProtocol, [][]byte{make([]byte, wire.EnvelopeBytes)}, 0, ""},
		{"sender of another number", purposeProtocol, [][]byte{envelope(ghostMessage(vsr.MsgBeat, func(m *vsr.Message) { m.From = 2 }), 0)}, 0, ""},
		{"for another node", purposeProtocol, [][]byte{envelope(ghostMessage(vsr.MsgBeat, func(m *vsr.Message) { m.To = 2 }), 0)}, 0, ""},
		{"fetched on the protocol link", purposeProtocol, [][]byte{envelope(ghostMessage(vsr.MsgFetched), len(good)), good}, 0, ""},
		{"beat on the bulk link", purposeBulk, [][]byte{envelope(ghostMessage(vsr.MsgBeat), 0)}, 0, ""},
		{"damaged header", purposeProtocol, [][]byte{envelope(prepare, len(good)), damagedHeader}, 5, ""},
		{"damaged body", purposeProtocol, [][]byte{envelope(prepare, len(good)), damagedBody}, 5, ""},
		{"frame of another group", purposeProtocol, [][]byte{envelope(otherGroup, len(good)), good}, 5, ""},
		{"frame shorter than said", purposeProtocol, [][]byte{envelope(prepare, len(good)+1), good, {0}}, 5, ""},
		{"chunk, first body damaged", purposeBulk, [][]byte{envelope(ghostMessage(vsr.MsgChunk), both), damagedBody, next}, 5, "chunk end round 0 window 0 ok false"},
		{"chunk, second op missing", purposeBulk, [][]byte{envelope(ghostMessage(vsr.MsgChunk), both), good, good}, 6, "chunk end round 0 window 0 ok false"},
		{"chunk with bytes left over", purposeBulk, [][]byte{envelope(ghostMessage(vsr.MsgChunk), both+128), good, next, make([]byte, 128)}, 6, "chunk end round 0 window 0 ok false"},
		{"chunk shorter than its frames", purposeBulk, [][]byte{envelope(ghostMessage(vsr.MsgChunk), both-1), good, next}, 6, "chunk end round 0 window 0 ok false"},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t, 2)
			b := c.start(1)
			l := ghost(t, c, b, test.purpose)
			for _, bytes := range test.say {
				if _, err := l.conn.Write(bytes); err != nil {
					t.Fatal(err)
				}
			}
			eventually(t, "the link ends", func() bool { s := b.Stats().Peers[0]; return s.Links == 1 && !s.ProtocolUp && !s.BulkUp })
			s := b.Stats().Peers[0]
			if s.LastBadOp != test.badFrame || (s.BadFrames > 0) != (test.badFrame > 0) {
				t.Errorf("%d bad frames, the last of op %d; want op %d", s.BadFrames, s.LastBadOp, test.badFrame)
			}
			for _, kind := range []string{"prepare", "fetched", "beat"} {
				if b.heard.count(kind) > 0 {
					t.Errorf("heard %q", b.heard.all())
				}
			}
			if test.heard != "" {
				b.heard.await(t, 1, test.heard)
			}
		})
	}
}

// Messages that are merely not for now are dropped; the link lives on.
func TestAnotherLifeAndAnotherGroupAreDropped(t *testing.T) {
	c := newCluster(t, 2)
	b := c.start(1)
	l := ghost(t, c, b, purposeProtocol)
	frame := rawFrame(5, 100)
	stale := ghostMessage(vsr.MsgPrepare, func(m *vsr.Message) { m.Incarnation.Nonce++ })
	say := wire.AppendEnvelope(nil, stale, len(frame))
	say = append(say, frame...)
	say = wire.AppendEnvelope(say, ghostMessage(vsr.MsgPrepareOK, func(m *vsr.Message) { m.Incarnation.Boot-- }), 0)
	say = wire.AppendEnvelope(say, ghostMessage(vsr.MsgBeat, func(m *vsr.Message) { m.Group = testGroups }), 0)
	say = append(say, keepAlive[:]...)
	say = wire.AppendEnvelope(say, ghostMessage(vsr.MsgAskHead), 0)
	if _, err := l.conn.Write(say); err != nil {
		t.Fatal(err)
	}
	b.heard.await(t, 1, "ask_head from 0")
	s := b.Stats().Peers[0]
	if s.DroppedIncarnation != 2 || s.DroppedGroup != 1 || b.heard.count("prepare")+b.heard.count("beat") != 0 {
		t.Errorf("%+v, heard %q", s, b.heard.all())
	}
}

func TestAnEmptyPoolDropsTheFrameAndKeepsTheLink(t *testing.T) {
	c := newCluster(t, 2)
	b := c.start(1, func(o *Options) {
		o.timing = defaultTiming()
		o.timing.poolPatience = 20 * time.Millisecond
	})
	protocol, bulk := ghost(t, c, b, purposeProtocol), (*link)(nil)
	conn, err := net.Dial("tcp", b.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if bulk, err = protocol.n.dialHandshake(conn, 1, purposeBulk); err != nil {
		t.Fatal(err)
	}
	var held []*wire.Buffer
	for f := b.pool.Get(wire.OwnerTest); f != nil; f = b.pool.Get(wire.OwnerTest) {
		held = append(held, f)
	}
	frame, next := rawFrame(5, 50_000), rawFrame(6, 100)
	say := append(wire.AppendEnvelope(nil, ghostMessage(vsr.MsgPrepare), len(frame)), frame...)
	say = wire.AppendEnvelope(say, ghostMessage(vsr.MsgAskHead), 0)
	if _, err := protocol.conn.Write(say); err != nil {
		t.Fatal(err)
	}
	b.heard.await(t, 1, "ask_head from 0")
	chunk := wire.AppendEnvelope(nil, ghostMessage(vsr.MsgChunk), len(frame)+len(next))
	chunk = append(append(chunk, frame...), next...)
	if _, err := bulk.conn.Write(chunk); err != nil {
		t.Fatal(err)
	}
	b.heard.await(t, 1, "chunk end round 0 window 0 ok false")
	for _, f := range held {
		f.Release(wire.OwnerTest)
	}
	if _, err := bulk.conn.Write(chunk); err != nil {
		t.Fatal(err)
	}
	b.heard.await(t, 1, "chunk end round 0 window 0 ok true")
	if got := b.Stats().Peers[0].DroppedNoBuffer; got != 2 {
		t.Errorf("%d counted, want 2", got)
	}
}

// What comes in bulk leaves some buffers to everybody else, and waits for its own.
func TestChunksSpareBuffers(t *testing.T) {
	const spared = 5
	c := newCluster(t, 2)
	b := c.start(1, func(o *Options) {
		o.Spared = spared
		o.timing = defaultTiming()
		o.timing.poolPatience = 20 * time.Millisecond
	})
	protocol := ghost(t, c, b, purposeProtocol)
	conn, err := net.Dial("tcp", b.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	bulk, err := protocol.n.dialHandshake(conn, 1, purposeBulk)
	if err != nil {
		t.Fatal(err)
	}
	var held []*wire.Buffer
	for b.pool.Free() > spared {
		held = append(held, b.pool.Get(wire.OwnerTest))
	}
	frame, next := rawFrame(5, 50_000), rawFrame(6, 100)
	chunk := wire.AppendEnvelope(nil, ghostMessage(vsr.MsgChunk), len(frame)+len(next))
	chunk = append(append(chunk, frame...), next...)
	if _, err := bulk.conn.Write(chunk); err != nil {
		t.Fatal(err)
	}
	b.heard.await(t, 1, "chunk end round 0 window 0 ok false")
	say := append(wire.AppendEnvelope(nil, ghostMessage(vsr.MsgPrepare), len(frame)), frame...)
	if _, err := protocol.conn.Write(append(say, wire.AppendEnvelope(nil, ghostMessage(vsr.MsgAskHead), 0)...)); err != nil {
		t.Fatal(err)
	}
	b.heard.await(t, 1, "ask_head from 0")
	if b.heard.count("prepare") != 1 {
		t.Errorf("no buffer was left for a prepare; heard %q", b.heard.all())
	}
	for _, f := range held {
		f.Release(wire.OwnerTest)
	}
	if _, err := bulk.conn.Write(chunk); err != nil {
		t.Fatal(err)
	}
	b.heard.await(t, 1, "chunk end round 0 window 0 ok true")
}
