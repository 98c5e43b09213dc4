package builtin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"go.uber.org/goleak"

	"rejoin/loadgen"
	"rejoin/loadgen/targettest"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

func TestMain(m *testing.M) {
	// The stub servers' fasthttp keeps a clock, and cleaners that sleep 10 s after a shutdown.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"))
}

func TestConformance(t *testing.T) {
	targettest.Run(t, func(t *testing.T) targettest.System {
		s := startStub(t)
		return targettest.System{
			Target:   s,
			Sessions: true,
			Evict:    s.evict,
			Freeze:   func(address int) { s.nodes[address].frozen.Store(true) },
			Refuse:   func(address int) { s.nodes[address].refuse() },
		}
	})
}

var testBatch = &loadgen.Batch{Messages: [][]byte{[]byte("one message"), []byte("and another")}}

func openRegistered(t *testing.T, s *stub) loadgen.Producer {
	t.Helper()
	p, err := s.OpenProducer(t.Context(), loadgen.ProducerOptions{BatchMessages: 2, MessageBytes: 100})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	if r := p.Register(0, soon()); r.Outcome != loadgen.TryAcked {
		t.Fatalf("register: %v", r.Err)
	}
	return p
}

func soon() time.Time { return time.Now().Add(10 * time.Second) }

// C5, trap 11: a connection that the server closed while idle is noticed before anything is sent; a
// request is sent once and not again.
func TestIdleConnectionClosedByTheServer(t *testing.T) {
	s := startStub(t)
	p := openRegistered(t, s)
	for request := range uint64(5) {
		s.nodes[0].tcp.cut()
		waitForEnd(t, p.(*producer).links[0])
		before := s.nodes[0].requests.Load()
		r := p.Try(loadgen.Attempt{Request: request + 1, Batch: testBatch, Deadline: soon()})
		if r.Outcome != loadgen.TryAcked {
			t.Fatalf("request %d: %v %v: %v", request, r.Outcome, r.Cause, r.Err)
		}
		if n := s.nodes[0].requests.Load() - before; n != 1 {
			t.Fatalf("the server saw %d requests for one try", n)
		}
	}
}

// waitForEnd waits until the end of the connection has arrived here.
func waitForEnd(t *testing.T, l *link) {
	t.Helper()
	l.conn.SetDeadline(soon())
	if _, err := l.in.Peek(1); err == nil {
		t.Fatal("the connection is still open")
	}
	l.in.Reset(l.conn)
}

// A server that takes the request and breaks the connection leaves the outcome open, and gets no
// second request.
func TestCutBeforeTheAnswerIsUnknown(t *testing.T) {
	s := startStub(t)
	p := openRegistered(t, s)
	s.nodes[0].answerInPlace(func(ctx *fasthttp.RequestCtx) bool {
		ctx.HijackSetNoResponse(true)
		ctx.Conn().Close()
		return true
	})
	before := s.nodes[0].requests.Load()
	r := p.Try(loadgen.Attempt{Request: 1, Batch: testBatch, Deadline: soon()})
	if r.Outcome != loadgen.TryUnknown || r.Cause != loadgen.CauseReset || r.Final {
		t.Fatalf("%v %v final=%v: %v, want unknown by reset", r.Outcome, r.Cause, r.Final, r.Err)
	}
	if n := s.nodes[0].requests.Load() - before; n != 1 {
		t.Fatalf("the server saw %d requests for one try", n)
	}
}

func TestAnswersAreRead(t *testing.T) {
	for _, c := range []struct {
		status  int
		body    string
		outcome loadgen.TryOutcome
		final   bool
		gone    bool
		hint    int
	}{
		{421, `{"error":"not_primary","message":"m","outcome":"not_appended","primary":"PRIMARY","view":5}`, loadgen.TryNotAppended, false, false, 2},
		{421, `{"error":"not_primary","message":"m","outcome":"not_appended","primary":"elsewhere:1"}`, loadgen.TryNotAppended, false, false, loadgen.NoHint},
		{421, `{"error":"not_primary","message":"m","outcome":"not_appended","primary":""}`, loadgen.TryNotAppended, false, false, loadgen.NoHint},
		{503, `{"error":"busy","message":"m","outcome":"not_appended"}`, loadgen.TryNotAppended, false, false, loadgen.NoHint},
		{503, `{"error":"unknown","message":"m","outcome":"unknown"}`, loadgen.TryUnknown, false, false, loadgen.NoHint},
		{503, `{"error":"busy","message":"no word on the outcome"}`, loadgen.TryUnknown, false, false, loadgen.NoHint},
		{429, `{"error":"busy","message":"m","outcome":"not_appended"}`, loadgen.TryNotAppended, false, false, loadgen.NoHint},
		{507, `{"error":"disk_full","message":"m","outcome":"not_appended"}`, loadgen.TryNotAppended, false, false, loadgen.NoHint},
		{409, `{"error":"session_evicted","message":"m","outcome":"unknown"}`, loadgen.TryUnknown, true, true, loadgen.NoHint},
		{409, `{"error":"request_superseded","message":"m","outcome":"unknown"}`, loadgen.TryUnknown, true, false, loadgen.NoHint},
		{409, `{"error":"request_differs","message":"m","outcome":"unknown"}`, loadgen.TryUnknown, true, false, loadgen.NoHint},
		{400, `{"error":"malformed","message":"m","outcome":"not_appended"}`, loadgen.TryNotAppended, true, false, loadgen.NoHint},
		{401, `{"error":"unauthorized","message":"m","outcome":"not_appended"}`, loadgen.TryNotAppended, true, false, loadgen.NoHint},
		{500, `<html>oops</html>`, loadgen.TryUnknown, false, false, loadgen.NoHint},
		{502, ``, loadgen.TryUnknown, false, false, loadgen.NoHint},
		{200, `{"op":1}`, loadgen.TryUnknown, false, false, loadgen.NoHint},
		{200, ``, loadgen.TryUnknown, false, false, loadgen.NoHint},
	} {
		t.Run(fmt.Sprintf("%d %s", c.status, c.body), func(t *testing.T) {
			s := startStub(t)
			p := openRegistered(t, s)
			s.nodes[0].answerInPlace(func(ctx *fasthttp.RequestCtx) bool {
				ctx.SetStatusCode(c.status)
				ctx.SetBodyString(strings.ReplaceAll(c.body, "PRIMARY", s.nodes[2].address()))
				return true
			})
			r := p.Try(loadgen.Attempt{Request: 1, Batch: testBatch, Deadline: soon()})
			if r.Outcome != c.outcome || r.Cause != loadgen.CauseAnswer || r.Final != c.final || r.Unregistered != c.gone || r.Hint != c.hint || r.Err == nil {
				t.Errorf("%+v", r)
			}
		})
	}
}

// An acknowledgement of another request, or one that is damaged, is none.
func TestForeignAcknowledgementIsUnknown(t *testing.T) {
	for name, change := range map[string]func(*vsr.Header){
		"other request": func(h *vsr.Header) { h.Request++; wire.Seal(h) },
		"other session": func(h *vsr.Header) { h.Session++; wire.Seal(h) },
		"other body":    func(h *vsr.Header) { h.BodySum++; wire.Seal(h) },
		"other client":  func(h *vsr.Header) { h.Client.Lo++; wire.Seal(h) },
		"damaged":       func(h *vsr.Header) { h.BaseOffset++ },
	} {
		t.Run(name, func(t *testing.T) {
			s := startStub(t)
			p := openRegistered(t, s)
			s.nodes[0].answerInPlace(func(ctx *fasthttp.RequestCtx) bool {
				stamped, code := s.log.append(ctx.PostBody())
				if code != "" {
					t.Errorf("refused: %s", code)
				}
				change(&stamped)
				var b [wire.HeaderBytes]byte
				wire.PutHeader(b[:], &stamped)
				ctx.SetBody(b[:])
				return true
			})
			r := p.Try(loadgen.Attempt{Request: 1, Batch: testBatch, Deadline: soon()})
			if r.Outcome != loadgen.TryUnknown || r.Err == nil {
				t.Errorf("%v: %v, want unknown", r.Outcome, r.Err)
			}
		})
	}
}

// fill appends batches to a stub's log.
func fill(t *testing.T, s *stub, batches int) {
	t.Helper()
	p := openRegistered(t, s)
	for i := range uint64(batches) {
		batch := &loadgen.Batch{Sequence: i, Messages: [][]byte{[]byte(strings.Repeat("x", int(1+i%90))), []byte("y")}}
		if r := p.Try(loadgen.Attempt{Request: i + 1, Batch: batch, Deadline: soon()}); r.Outcome != loadgen.TryAcked {
			t.Fatal(r.Err)
		}
		if i == uint64(batches)/2 {
			openRegistered(t, s) // a register frame between the batches
		}
	}
}

func readAll(ctx context.Context, source loadgen.Source, replica string) (batches, damaged int, end loadgen.ReadEnd, err error) {
	end, err = source.ReadReplica(ctx, replica, func(b loadgen.ReadBatch) error {
		batches++
		if b.Damaged {
			damaged++
		}
		return nil
	})
	return batches, damaged, end, err
}

func TestReadChecksWhatItPasses(t *testing.T) {
	for name, c := range map[string]struct {
		edit    func([]byte) []byte
		want    string // in the error; "" none
		damaged int
	}{
		"as it is":           {edit: func(b []byte) []byte { return b }},
		"a bit of a header":  {edit: flip(wire.HeaderBytes - 40), want: wire.ErrSum.Error()},
		"a bit of a payload": {edit: flip(wire.HeaderBytes + 12), damaged: 1},
		"a message's length": {edit: flip(wire.HeaderBytes + 2), want: wire.ErrFormat.Error()},
		"cut in a body":      {edit: func(b []byte) []byte { return b[:len(b)-min(len(b), 1)] }, want: "the answer ends after"},
		"cut in a header":    {edit: func(b []byte) []byte { return b[:min(len(b), 60)] }, want: wire.ErrFormat.Error()},
		"a frame missing":    {edit: withoutSecond, want: "comes after op"},
		"a frame twice":      {edit: firstTwice, want: "comes after op"},
		"the last missing":   {edit: withoutLast, want: "its frames end before"},
		"silent":             {edit: func(b []byte) []byte { return b }},
	} {
		t.Run(name, func(t *testing.T) {
			s := startStub(t)
			fill(t, s, 60)
			edited := false
			s.nodes[1].silent.Store(name == "silent")
			s.nodes[1].editReads(func(b []byte) []byte {
				if edited || len(b) == 0 {
					return b
				}
				edited = name != "cut in a body" // a cut must be there in the last answer too
				return c.edit(append([]byte(nil), b...))
			})
			batches, damaged, end, err := readAll(t.Context(), s, "n1")
			if c.want == "" && (err != nil || batches != 60 || damaged != c.damaged || end.EndOffset != 120) {
				t.Errorf("%d batches, %d damaged, end %d, err %v; want 60, %d, 120", batches, damaged, end.EndOffset, err, c.damaged)
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("err %v, want one with %q", err, c.want)
			}
		})
	}
}

func flip(at int) func([]byte) []byte {
	return func(b []byte) []byte { b[at] ^= 0x10; return b }
}

func frameSize(b []byte) int {
	h, err := wire.ParseHeader(b)
	if err != nil {
		panic(err)
	}
	return wire.HeaderBytes + int(h.BodyBytes)
}

func withoutSecond(b []byte) []byte {
	first := frameSize(b)
	return append(b[:first], b[first+frameSize(b[first:]):]...)
}

func withoutLast(b []byte) []byte {
	at := 0
	for rest := b; len(rest) > frameSize(rest); rest = rest[frameSize(rest):] {
		at += frameSize(rest)
	}
	return b[:at]
}

func firstTwice(b []byte) []byte {
	return append(append([]byte(nil), b[:frameSize(b)]...), b...)
}

func TestReadBeginsAtTheEarliestOffset(t *testing.T) {
	s := startStub(t)
	fill(t, s, 10)
	s.nodes[0].answerInPlace(func(ctx *fasthttp.RequestCtx) bool {
		if offset := ctx.QueryArgs().GetUintOrZero("offset"); offset < 8 {
			ctx.SetStatusCode(410)
			fmt.Fprint(ctx, `{"error":"below_earliest","message":"m","earliest_offset":8}`)
			return true
		}
		return false
	})
	batches, _, _, err := readAll(t.Context(), s, "n0")
	if err != nil || batches != 6 {
		t.Fatalf("%d batches, err %v, want the 6 from offset 8 on", batches, err)
	}
}

// TestReadAsksAhead: the next answer is on its way before the first batch has been judged.
func TestReadAsksAhead(t *testing.T) {
	s := startStub(t)
	fill(t, s, 40)
	asked, batches := make(chan struct{}, 100), 0
	s.nodes[1].answerInPlace(func(*fasthttp.RequestCtx) bool { asked <- struct{}{}; return false })
	_, err := s.ReadReplica(t.Context(), "n1", func(b loadgen.ReadBatch) error {
		if b.Damaged {
			return fmt.Errorf("the batch at offset %d is damaged", b.BaseOffset)
		}
		if batches++; batches > 1 {
			return nil
		}
		for range 2 { // the request that brought it, and the next
			select {
			case <-asked:
			case <-time.After(5 * time.Second):
				return errors.New("nothing more was asked for within 5 s")
			}
		}
		return nil
	})
	if err != nil || batches != 40 {
		t.Fatalf("%d batches of 40, err %v", batches, err)
	}
}

// TestReadThatIsGivenUp: whoever judges the batches gives up while the next answer is on its way, and does not come.
func TestReadThatIsGivenUp(t *testing.T) {
	s := startStub(t)
	fill(t, s, 40)
	s.nodes[1].answerInPlace(func(ctx *fasthttp.RequestCtx) bool {
		s.nodes[1].frozen.Store(true) // from the next on
		return false
	})
	s.Target.options.ReadTimeout = time.Hour // it does not wait for that
	enough := errors.New("enough")
	if _, err := s.ReadReplica(t.Context(), "n1", func(loadgen.ReadBatch) error { return enough }); !errors.Is(err, enough) {
		t.Fatal(err)
	}
}

func TestReadOfALogTrimmedMeanwhile(t *testing.T) {
	s := startStub(t)
	fill(t, s, 40)
	asked := 0
	s.nodes[0].answerInPlace(func(ctx *fasthttp.RequestCtx) bool {
		if asked++; asked < 3 {
			return false
		}
		ctx.SetStatusCode(410)
		fmt.Fprint(ctx, `{"error":"below_earliest","message":"m","earliest_offset":1000}`)
		return true
	})
	if _, _, _, err := readAll(t.Context(), s, "n0"); err == nil || !strings.Contains(err.Error(), "trimmed its log up to offset 1000 while it was read") {
		t.Fatal(err)
	}
}

// TestReadOfTooMuch: no memory is taken for an answer that is longer than what was asked for.
func TestReadOfTooMuch(t *testing.T) {
	s := startStub(t)
	fill(t, s, 10)
	s.nodes[0].answerInPlace(func(ctx *fasthttp.RequestCtx) bool {
		ctx.Response.SkipBody = true
		ctx.Response.Header.Set(headerCommitOffset, "20")
		ctx.Response.Header.Set(headerEarliestOffset, "0")
		ctx.Response.Header.SetContentLength(1 << 40)
		return true
	})
	if _, _, _, err := readAll(t.Context(), s, "n0"); err == nil || !strings.Contains(err.Error(), "is to have 1099511627776 bytes") {
		t.Fatal(err)
	}
}

func TestReadWaitsForAReplicaThatSaysNotNow(t *testing.T) {
	s := startStub(t)
	fill(t, s, 3)
	left := 2
	s.nodes[2].answerInPlace(func(ctx *fasthttp.RequestCtx) bool {
		left--
		if left < 0 {
			return false
		}
		ctx.SetStatusCode(503)
		fmt.Fprint(ctx, `{"error":"unreadable","message":"repairing"}`)
		return true
	})
	if batches, _, _, err := readAll(t.Context(), s, "n2"); err != nil || batches != 3 {
		t.Fatalf("%d batches, err %v", batches, err)
	}
}

// A replica that names a higher commit than it gives is not at its end.
func TestReadThatEndsEarlyShowsIt(t *testing.T) {
	s := startStub(t)
	fill(t, s, 10)
	s.nodes[0].editReads(func([]byte) []byte { return nil })
	batches, _, end, err := readAll(t.Context(), s, "n0")
	if err != nil || batches != 0 || end.EndOffset != 20 {
		t.Fatalf("%d batches, end %d, err %v; want the replica's own word of 20", batches, end.EndOffset, err)
	}
}

func TestReadOfADeadNodeIsAnError(t *testing.T) {
	s := startStub(t)
	fill(t, s, 1)
	s.nodes[1].refuse()
	if _, _, _, err := readAll(t.Context(), s, "n1"); err == nil {
		t.Fatal("a dead node was read")
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.nodes[2].frozen.Store(true)
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, _, _, err := readAll(ctx, s, "n2"); err == nil {
		t.Fatal("a frozen node was read")
	}
}

func TestOptionsAreChecked(t *testing.T) {
	good := Options{Nodes: []Node{{"n0", "127.0.0.1:1"}}, Topic: "t"}
	if _, err := New(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Options){
		"no nodes":        func(o *Options) { o.Nodes = nil },
		"no name":         func(o *Options) { o.Nodes = []Node{{"", "a:1"}} },
		"two of a name":   func(o *Options) { o.Nodes = []Node{{"a", "a:1"}, {"a", "b:1"}} },
		"address":         func(o *Options) { o.Nodes = []Node{{"a", "a:1\r\nX: y"}} },
		"topic":           func(o *Options) { o.Topic = "../x" },
		"no topic":        func(o *Options) { o.Topic = "" },
		"partition":       func(o *Options) { o.Partition = -1 },
		"token":           func(o *Options) { o.Token = "a\r\nb" },
		"durability":      func(o *Options) { o.Durability = "perhaps" },
		"negative reads":  func(o *Options) { o.ReadBytes = -1 },
		"negative timout": func(o *Options) { o.ReadTimeout = -1 },
	} {
		bad := good
		change(&bad)
		if _, err := New(bad); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	target, _ := New(good)
	for _, o := range []loadgen.ProducerOptions{{BatchMessages: wire.MessagesMax + 1, MessageBytes: 1}, {BatchMessages: 100, MessageBytes: 1 << 20}} {
		if _, err := target.OpenProducer(t.Context(), o); err == nil {
			t.Errorf("%+v: accepted", o)
		}
	}
}

var errEnough = errors.New("enough")

func TestEncodeAllocatesNothing(t *testing.T) {
	s := startStub(t)
	p := openRegistered(t, s).(*producer)
	request := uint64(0)
	got := testing.AllocsPerRun(50, func() {
		request++
		p.encode(loadgen.Attempt{Request: request, Batch: testBatch})
	})
	if got > 0 {
		t.Errorf("encoding a batch allocates %.0f times, want 0", got)
	}
}

// Messages that were made in the producer's places leave as they are there; a batch that has only some of
// them, or others, leaves as it is too.
func TestMessagesMadeInPlace(t *testing.T) {
	s := startStub(t)
	p, err := s.OpenProducer(t.Context(), loadgen.ProducerOptions{BatchMessages: 3, MessageBytes: 50})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	if r := p.Register(0, soon()); r.Outcome != loadgen.TryAcked {
		t.Fatalf("register: %v", r.Err)
	}
	places := p.(loadgen.Placer).Places()
	if len(places) != 3 || len(places[0]) != 50 {
		t.Fatalf("%d places", len(places))
	}
	request := uint64(0)
	send := func(messages ...[]byte) {
		t.Helper()
		var want []byte
		for _, m := range messages {
			want = wire.AppendMessage(want, wire.Message{Payload: m})
		}
		request++
		if r := p.Try(loadgen.Attempt{Request: request, Batch: &loadgen.Batch{Sequence: request, Messages: messages}, Deadline: soon()}); r.Outcome != loadgen.TryAcked {
			t.Fatalf("batch %d: %v", request, r.Err)
		}
		s.log.mu.Lock()
		defer s.log.mu.Unlock()
		if got := s.log.frames[len(s.log.frames)-1][wire.HeaderBytes:]; !bytes.Equal(got, want) {
			t.Errorf("batch %d: the server got %q, want %q", request, got, want)
		}
	}
	fill := func(first byte) {
		for i, m := range places {
			for k := range m {
				m[k] = first + byte(i)
			}
		}
	}
	fill('a')
	send(places...)
	fill('k')
	send(places...)
	send(places[2], []byte("another"), places[0][:20])
	fill('u')
	send(places...)
}
