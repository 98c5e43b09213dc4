package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"rejoin/loadgen"
	"rejoin/server/wire"
)

const (
	headerCommitOffset   = "Rejoin-Commit-Offset"
	headerEarliestOffset = "Rejoin-Earliest-Offset"
	headerNextOffset     = "Rejoin-Next-Offset"

	// emptyReadsMax is how often a replica may answer "nothing here" below the commit it names
	// itself before the read is over: its commit may have moved between the two.
	emptyReadsMax = 3

	// readPause lies between a "not now" and the next question.
	readPause = 100 * time.Millisecond

	// streamAnswers is how many answers of a stream have memory. With two, who checks and who receives wait for each other.
	streamAnswers = 4
)

// answer is what a replica says about the frames from an offset on.
type answer struct {
	from             uint64 // the offset; a replica that has trimmed its log begins later
	next             uint64 // the offset behind the frames, as the head tells; 0: it does not
	earliest, commit uint64
	body             []byte
	err              error // of the last answer
}

// stream fetches one replica's answers from the earliest offset to the commit of that very replica. The next
// is asked for as soon as the head of one has told where it ends: the replica is not idle while a body is on
// its way or is checked.
type stream struct {
	target *Target
	link   *link
	asked  bool // the request for the next answer has left

	answers chan answer           // the body of one is valid until the next is taken
	memory  [streamAnswers][]byte // one is checked, one arrives, and the others wait in between
}

// openStream begins to read. The stream ends with the log, with an error, or with the context.
func (t *Target) openStream(ctx context.Context, address string) *stream {
	s := &stream{target: t, link: t.newLink(address), answers: make(chan answer, streamAnswers-2)}
	go s.run(ctx)
	return s
}

// drain waits for the end of a stream whose context is done.
func (s *stream) drain() {
	for range s.answers {
	}
}

func (s *stream) run(ctx context.Context) {
	defer close(s.answers)
	defer s.link.close()
	from, empty := uint64(0), 0
	for i := 0; empty < emptyReadsMax; i++ {
		a := s.fetch(ctx, from, i == 0, &s.memory[i%len(s.memory)])
		select {
		case s.answers <- a:
		case <-ctx.Done():
			return
		}
		switch end, known := a.end(); {
		case a.err != nil || !known:
			return
		case len(a.body) > 0:
			from, empty = end, 0
		case a.from >= a.commit:
			return
		default:
			from, empty = a.from, empty+1
		}
	}
}

// end is the offset behind an answer: as its head said, or else as the frames' own headers do; false where those do not tell.
func (a *answer) end() (end uint64, known bool) {
	if a.next > 0 {
		return a.next, true
	}
	for body := a.body; len(body) > 0; {
		h, err := wire.ParseSealed(body)
		if err != nil || len(body)-wire.HeaderBytes < int(h.BodyBytes) {
			return 0, false
		}
		end, body = h.NextOffset(), body[wire.HeaderBytes+int(h.BodyBytes):]
	}
	return end, true
}

// fetch returns the answer from an offset on, and asks again while the replica says "not now": a read may be
// repeated freely. The answer lies in memory, which grows where it is too little.
func (s *stream) fetch(ctx context.Context, from uint64, first bool, memory *[]byte) answer {
	deadline := time.Now().Add(s.target.options.ReadTimeout)
	for {
		a := answer{from: from}
		if a.err = ctx.Err(); a.err != nil {
			return a
		}
		if a.err = s.exchange(ctx, &a, memory, deadline); a.err != nil {
			return a
		}
		switch response := &s.link.response; response.StatusCode() {
		case fasthttp.StatusOK:
			return a
		case fasthttp.StatusGone:
			if from, a.err = skipTrimmed(response, from, first); a.err != nil {
				return a
			}
		case fasthttp.StatusServiceUnavailable, fasthttp.StatusTooManyRequests:
			if time.Until(deadline) < readPause {
				a.err = refusedRead(response)
				return a
			}
			loadgen.Pause(ctx, readPause)
		default:
			a.err = refusedRead(response)
			return a
		}
	}
}

func refusedRead(response *fasthttp.Response) error {
	return fmt.Errorf("status %d: %s", response.StatusCode(), clip(response.Body()))
}

// exchange takes the answer to the request that has left, or sends one first.
func (s *stream) exchange(ctx context.Context, a *answer, memory *[]byte, deadline time.Time) error {
	l, response := s.link, &s.link.response
	if !s.asked {
		if f := l.connect(deadline); f != nil {
			return f.err
		}
	}
	l.conn.SetDeadline(deadline)
	defer l.breakOffWith(ctx)()
	if !s.asked {
		if f := l.send(s.request(a.from)); f != nil {
			return f.err
		}
	}
	s.asked = false
	response.Reset()
	if err := response.Header.Read(l.in); err != nil {
		return l.unanswered(err).err
	}
	if response.StatusCode() == fasthttp.StatusOK {
		if err := s.frames(a, memory); err != nil {
			return err
		}
	} else if err := response.ReadBody(l.in, s.answerBytesMax()); err != nil {
		return l.unanswered(err).err
	}
	if response.ConnectionClose() {
		l.close()
	}
	return nil
}

// frames takes what a head tells, asks for what follows, and takes the body. fasthttp would take new memory for each.
func (s *stream) frames(a *answer, memory *[]byte) (err error) {
	l, response := s.link, &s.link.response
	if a.commit, a.earliest, err = extent(response); err != nil {
		return err
	}
	if a.next, err = nextOffset(response); err != nil {
		return err
	}
	n := response.Header.ContentLength()
	if n < 0 {
		return errors.New("the answer does not tell its length")
	}
	if n > s.answerBytesMax() {
		return fmt.Errorf("the answer is to have %d bytes, and may have %d", n, s.answerBytesMax())
	}
	if n > 0 && a.next > a.from && a.next < a.commit && !response.ConnectionClose() {
		if f := l.send(s.request(a.next)); f != nil {
			return f.err
		}
		s.asked = true
	}
	a.body = slices.Grow((*memory)[:0], n)[:n]
	*memory = a.body
	if _, err := io.ReadFull(l.in, a.body); err != nil {
		return l.unanswered(err).err
	}
	return nil
}

func (s *stream) request(from uint64) request {
	return request{method: fasthttp.MethodGet,
		path: fmt.Sprintf("%s?offset=%d&max_bytes=%d&consistency=any", s.target.frames, from, s.target.options.ReadBytes)}
}

// answerBytesMax is the most that an answer may have: what was asked for, or one frame.
func (s *stream) answerBytesMax() int { return s.target.options.ReadBytes + wire.FrameBytesMax }

// extent is the replica's own word on what it holds.
func extent(response *fasthttp.Response) (commit, earliest uint64, err error) {
	if commit, err = offsetIn(response, headerCommitOffset); err == nil {
		earliest, err = offsetIn(response, headerEarliestOffset)
	}
	return commit, earliest, err
}

// nextOffset is where to go on reading, 0 where the replica does not say.
func nextOffset(response *fasthttp.Response) (uint64, error) {
	if len(response.Header.Peek(headerNextOffset)) == 0 {
		return 0, nil
	}
	return offsetIn(response, headerNextOffset)
}

func offsetIn(response *fasthttp.Response, header string) (uint64, error) {
	offset, err := strconv.ParseUint(string(response.Header.Peek(header)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("header %s: %w", header, err)
	}
	return offset, nil
}

// skipTrimmed returns the earliest offset that the replica keeps, to go on there; only before the first frame,
// later it would be a hole.
func skipTrimmed(response *fasthttp.Response, from uint64, first bool) (uint64, error) {
	var answer struct {
		Earliest *uint64 `json:"earliest_offset"`
	}
	if err := json.Unmarshal(response.Body(), &answer); err != nil || answer.Earliest == nil || *answer.Earliest <= from {
		return from, fmt.Errorf("status 410 that names no later offset: %s", clip(response.Body()))
	}
	if !first {
		return from, fmt.Errorf("the replica trimmed its log up to offset %d while it was read", *answer.Earliest)
	}
	return *answer.Earliest, nil
}
