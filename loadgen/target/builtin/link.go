package builtin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"rejoin/loadgen"
	"rejoin/loadgen/socket"
)

const mediaFrame = "application/vnd.rejoin.frame"

// link is one connection to one address, made when needed, with one request at a time. It never
// repeats a request. Requests are written by hand, so that it is known what has left, and what comes
// back is parsed by fasthttp.
type link struct {
	address string
	fixed   string // header lines of every request

	conn     *socket.Conn
	in       *bufio.Reader
	response fasthttp.Response
	head     []byte // of the request in hand
	parts    [2][]byte
}

func (t *Target) newLink(address string) *link {
	l := &link{address: address, fixed: "Host: " + address + "\r\n"}
	if t.options.Token != "" {
		l.fixed += "Authorization: Bearer " + t.options.Token + "\r\n"
	}
	return l
}

// failure is how an exchange broke without an answer.
type failure struct {
	cause loadgen.TryCause
	sent  bool // the whole request left: the server may have acted on it
	err   error
}

func (f *failure) Error() string { return f.err.Error() }

func (f *failure) result() loadgen.TryResult {
	outcome := loadgen.TryNotAppended
	if f.sent {
		outcome = loadgen.TryUnknown
	}
	return loadgen.NotAcked(outcome, f.cause, f.err)
}

// request is one request; lines are extra header lines, each with its end.
type request struct {
	method, path, lines string
	body                []byte
	answerBytesMax      int
	into                []byte // memory for the body of the answer, for one that is large; nil: the response's own
}

// do makes one exchange. The response is valid until the next one. ctx may be nil; when it is done,
// the exchange is broken off.
func (l *link) do(ctx context.Context, r request, deadline time.Time) (*fasthttp.Response, *failure) {
	if f := l.connect(deadline); f != nil {
		return nil, f
	}
	if ctx != nil {
		conn := l.conn
		defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })()
	}
	if f := l.send(r); f != nil {
		l.close()
		return nil, f
	}
	if err := l.receive(r); err != nil {
		l.close()
		return nil, &failure{cause: causeOf(err), sent: true, err: fmt.Errorf("%s: waiting for the answer: %w", l.address, err)}
	}
	if l.response.ConnectionClose() {
		l.close()
	}
	return &l.response, nil
}

// receive reads the answer. fasthttp would take new memory for each large body.
func (l *link) receive(r request) error {
	l.response.Reset()
	if r.into == nil {
		return l.response.ReadLimitBody(l.in, r.answerBytesMax)
	}
	if err := l.response.Header.Read(l.in); err != nil {
		return err
	}
	n := l.response.Header.ContentLength()
	if n < 0 {
		return errors.New("the answer does not tell its length")
	}
	if n > r.answerBytesMax {
		return fmt.Errorf("the answer is to have %d bytes, and may have %d", n, r.answerBytesMax)
	}
	body := slices.Grow(r.into[:0], n)[:n]
	if _, err := io.ReadFull(l.in, body); err != nil {
		return err
	}
	l.response.SetBodyRaw(body)
	return nil
}

// connect makes sure of a connection that the other side has not closed. Asking before sending keeps
// a request from being lost on a connection that was dead already, which nobody could tell from one
// that was cut after the request arrived.
func (l *link) connect(deadline time.Time) *failure {
	if l.conn != nil {
		l.conn.SetDeadline(deadline)
		if l.stale() {
			l.close()
		}
	}
	if l.conn != nil {
		return nil
	}
	dialer := net.Dialer{Deadline: deadline}
	conn, err := dialer.Dial("tcp", l.address)
	if err != nil {
		f := &failure{cause: loadgen.CauseRefused, err: fmt.Errorf("connect: %w", err)}
		if causeOf(err) == loadgen.CauseTimeout {
			f.cause = loadgen.CauseTimeout
		}
		return f
	}
	l.conn, err = socket.New(conn.(*net.TCPConn))
	if err != nil {
		conn.Close()
		return &failure{cause: loadgen.CauseRefused, err: fmt.Errorf("connect %s: %w", l.address, err)}
	}
	l.conn.SetDeadline(deadline)
	if l.in == nil {
		l.in = bufio.NewReader(l.conn) // 4 KiB: larger bodies go straight to their buffer
	} else {
		l.in.Reset(l.conn)
	}
	return nil
}

// stale reports whether anything but silence waits on the idle connection: its end, an error, or an
// answer that nobody asked for.
func (l *link) stale() bool { return l.in.Buffered() > 0 || !l.conn.Silent() }

func (l *link) send(r request) *failure {
	h := append(l.head[:0], r.method...)
	h = append(append(append(h, ' '), r.path...), " HTTP/1.1\r\n"...)
	h = append(append(h, l.fixed...), r.lines...)
	if r.method == fasthttp.MethodPost {
		h = strconv.AppendInt(append(h, "Content-Length: "...), int64(len(r.body)), 10)
		h = append(h, "\r\n"...)
	}
	l.head = append(h, "\r\n"...)
	l.parts = [2][]byte{l.head, r.body}
	total := int64(len(l.head) + len(r.body))
	if n, err := l.conn.Writev(l.parts[:]); err != nil || n < total {
		return &failure{cause: causeOf(err), sent: n >= total, err: fmt.Errorf("%s: after %d of %d bytes of the request: %w", l.address, n, total, err)}
	}
	return nil
}

func (l *link) close() error {
	if l.conn == nil {
		return nil
	}
	err := l.conn.Close()
	l.conn = nil
	return err
}

// causeOf tells a deadline from a broken connection. Each library has an error of its own for that;
// fasthttp's is not a net.Error.
func causeOf(err error) loadgen.TryCause {
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return loadgen.CauseTimeout
	}
	return loadgen.CauseReset
}
