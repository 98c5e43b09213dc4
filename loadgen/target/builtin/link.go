package builtin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
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
}

// do makes one exchange. The response is valid until the next one. ctx may be nil; when it is done,
// the exchange is broken off.
func (l *link) do(ctx context.Context, r request, deadline time.Time) (*fasthttp.Response, *failure) {
	if f := l.connect(deadline); f != nil {
		return nil, f
	}
	if ctx != nil {
		defer l.breakOffWith(ctx)()
	}
	if f := l.send(r); f != nil {
		return nil, f
	}
	l.response.Reset()
	if err := l.response.ReadLimitBody(l.in, r.answerBytesMax); err != nil {
		return nil, l.unanswered(err)
	}
	if l.response.ConnectionClose() {
		l.close()
	}
	return &l.response, nil
}

// breakOffWith breaks off what goes over the connection once the context is done, or until it is told to stop.
func (l *link) breakOffWith(ctx context.Context) (stop func() bool) {
	conn := l.conn
	return context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
}

// unanswered ends a connection whose answer did not arrive.
func (l *link) unanswered(err error) *failure {
	l.close()
	return &failure{cause: causeOf(err), sent: true, err: fmt.Errorf("%s: waiting for the answer: %w", l.address, err)}
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
		l.close()
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
