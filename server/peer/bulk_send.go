package peer

import (
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// Span is a run of whole frames in a segment file.
type Span struct {
	File          *os.File // its position is neither used nor moved: spans of one file may share a handle
	Offset, Bytes int64
	Release       func() // called once, sent or not; may be nil
}

// Payload is what a bulk job sends: a fetched with one frame, or a chunk with its frames either in
// buffers or in a file. A zero Message means that there is nothing to send.
type Payload struct {
	Message vsr.Message
	Frames  []*wire.Buffer // one reference each, of OwnerPeerSend, given away with the payload
	Span    *Span
}

func (p *Payload) release() {
	for _, frame := range p.Frames {
		frame.Release(wire.OwnerPeerSend)
	}
	if p.Span != nil && p.Span.Release != nil {
		p.Span.Release()
	}
}

func (p *Payload) bytes() int64 {
	bytes := int64(0)
	if p.Span != nil {
		bytes = p.Span.Bytes
	}
	for _, frame := range p.Frames {
		bytes += int64(len(frame.Frame()))
	}
	return bytes
}

// job is a payload still to be loaded.
type job struct {
	load func() (Payload, error)
	done func(bytes int64, err error)
	drop func() // lets go of what load would have given; nil if nothing is held before load
}

// SendLater queues a job for the bulk link. load runs on the link's writer, so that reading a disk
// holds up nothing but this node's bulk. done is called once, there or where the link is torn down,
// with the bytes of the payload or with the error, and may be nil; load may never be called. If
// SendLater itself returns an error, neither is.
func (n *Network) SendLater(to int, load func() (Payload, error), done func(bytes int64, err error)) error {
	return n.putJob(to, job{load: load, done: done})
}

func (n *Network) putPayload(to int, p Payload, done func(bytes int64, err error)) error {
	err := n.putJob(to, job{load: func() (Payload, error) { return p, nil }, done: done, drop: p.release})
	if err != nil {
		p.release()
	}
	return err
}

func (n *Network) putJob(to int, j job) error {
	if j.done == nil {
		j.done = func(int64, error) {}
	}
	r := n.remotes[to]
	l := r.bulk.Load()
	if l == nil {
		r.counters.droppedLinkDown.Add(1)
		return ErrLinkDown
	}
	return l.jobs.put(j)
}

// jobQueue is what waits for the writer of a bulk link.
type jobQueue struct {
	counters *counters
	wake     chan struct{}

	mu     sync.Mutex
	closed bool
	jobs   []job
}

func newJobQueue(c *counters) *jobQueue {
	return &jobQueue{counters: c, wake: make(chan struct{}, 1)}
}

func (q *jobQueue) put(j job) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		q.counters.droppedLinkDown.Add(1)
		return ErrLinkDown
	case len(q.jobs) == bulkJobsMax:
		q.counters.droppedBulk.Add(1)
		return ErrQueueFull
	}
	q.jobs = append(q.jobs, j)
	signal(q.wake)
	return nil
}

func (q *jobQueue) take() (j job, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.jobs) == 0 {
		return j, false
	}
	j = q.jobs[0]
	copy(q.jobs, q.jobs[1:])
	q.jobs[len(q.jobs)-1] = job{}
	q.jobs = q.jobs[:len(q.jobs)-1]
	return j, true
}

// close tells every job that waits that the link is down.
func (q *jobQueue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	for {
		j, ok := q.take()
		if !ok {
			return
		}
		q.counters.droppedLinkDown.Add(1)
		j.abandon()
	}
}

func (j *job) abandon() {
	if j.drop != nil {
		j.drop()
	}
	j.done(0, ErrLinkDown)
}

// writeBulk carries out jobs one after another until the link ends.
func (l *link) writeBulk() error {
	idle := time.NewTicker(l.n.options.timing.keepAlive)
	defer idle.Stop()
	w := bulkWriter{l: l, pacer: pacer{perSecond: l.n.options.BulkBytesPerSecondMax}}
	for {
		select {
		case <-l.ended:
			return nil
		case <-idle.C:
			if err := l.writeKeepAlive(); err != nil {
				return err
			}
		case <-l.jobs.wake:
			for {
				j, ok := l.jobs.take()
				if !ok {
					break
				}
				if err := w.carryOut(j); err != nil {
					return fmt.Errorf("write: %w", err)
				}
			}
		}
	}
}

type bulkWriter struct {
	l        *link
	pacer    pacer
	envelope []byte
}

// carryOut returns an error if the link is of no use any more; a load that fails is the job's alone.
func (w *bulkWriter) carryOut(j job) error {
	payload, err := j.load()
	if err != nil || payload.Message.Kind == 0 {
		payload.release()
		j.done(0, err)
		return nil
	}
	bytes, err := w.write(&payload)
	payload.release()
	j.done(bytes, err)
	return err
}

func (w *bulkWriter) write(p *Payload) (int64, error) {
	total := p.bytes()
	w.envelope = wire.AppendEnvelope(w.envelope[:0], &p.Message, int(total))
	pieces := make(net.Buffers, 0, 1+len(p.Frames))
	pieces = append(pieces, w.envelope)
	for _, frame := range p.Frames {
		pieces = append(pieces, frame.Frame())
	}
	if err := w.writeBuffers(pieces); err != nil {
		return 0, err
	}
	if p.Span != nil {
		if err := w.writeSpan(p.Span); err != nil {
			return 0, err
		}
	}
	w.l.remote.counters.sentMessages.Add(1)
	return total, nil
}

// writeBuffers writes pieces by writev, as much at once as the pace allows.
func (w *bulkWriter) writeBuffers(pieces net.Buffers) error {
	for len(pieces) > 0 {
		var now net.Buffers
		left := w.pacer.piece(writeBytesMax)
		for left > 0 && len(pieces) > 0 {
			cut := min(left, len(pieces[0]))
			now = append(now, pieces[0][:cut])
			left -= cut
			if pieces[0] = pieces[0][cut:]; len(pieces[0]) == 0 {
				pieces = pieces[1:]
			}
		}
		if err := w.await(total(now)); err != nil {
			return err
		}
		written, err := now.WriteTo(w.l.conn)
		w.l.remote.counters.bulkSentBytes.Add(uint64(written))
		if err != nil {
			return err
		}
	}
	return nil
}

func total(pieces net.Buffers) (bytes int) {
	for _, b := range pieces {
		bytes += len(b)
	}
	return bytes
}

// writeSpan lets the kernel send from the file. What is short of the span ends the link: the
// envelope has promised more.
func (w *bulkWriter) writeSpan(s *Span) error {
	for done := int64(0); done < s.Bytes; {
		piece := int(min(s.Bytes-done, int64(w.pacer.piece(sendfileBytesMax))))
		if err := w.await(piece); err != nil {
			return err
		}
		sent, err := sendFile(w.l.conn, s.File, s.Offset+done, piece)
		w.l.remote.counters.bulkSentBytes.Add(uint64(sent))
		if err != nil {
			return fmt.Errorf("send %d bytes at %d of %s: %w", s.Bytes, s.Offset, s.File.Name(), err)
		}
		done += int64(sent)
	}
	return nil
}

func (w *bulkWriter) await(bytes int) error {
	if err := w.pacer.wait(bytes, w.l.ended); err != nil {
		return err
	}
	return w.l.writePatience()
}

// pacer spaces pieces so that no second carries more than perSecond bytes.
type pacer struct {
	perSecond int64 // 0: no limit
	next      time.Time
}

// piece is the largest number of bytes to write at once: an eighth of a second's, so that a paced
// link never looks silent.
func (p *pacer) piece(most int) int {
	if p.perSecond == 0 {
		return most
	}
	return int(min(int64(most), p.perSecond/8))
}

func (p *pacer) wait(bytes int, ended <-chan struct{}) error {
	if p.perSecond == 0 {
		return nil
	}
	now := time.Now()
	pause := p.next.Sub(now)
	p.next = now.Add(max(pause, 0) + time.Duration(int64(bytes)*int64(time.Second)/p.perSecond))
	if pause <= 0 {
		return nil
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ended:
		return ErrLinkDown
	}
}
