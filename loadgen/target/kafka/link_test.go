package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"rejoin/loadgen"
)

// TestClassify: what a failure leaves open. Nothing was sent where there was no connection, however that became known.
func TestClassify(t *testing.T) {
	dial := func(err error) error { return fmt.Errorf("unable to dial: %w", &net.OpError{Op: "dial", Err: err}) }
	_, timeout := (&net.Dialer{Deadline: time.Unix(1, 0)}).Dial("tcp", "127.0.0.1:1")
	for name, c := range map[string]struct {
		err       error
		connected bool
		cause     loadgen.TryCause
		outcome   loadgen.TryOutcome
	}{
		"refused":                      {dial(syscall.ECONNREFUSED), true, loadgen.CauseRefused, loadgen.TryNotAppended},
		"no way":                       {dial(syscall.ENETUNREACH), true, loadgen.CauseRefused, loadgen.TryNotAppended},
		"dialed too long":              {fmt.Errorf("unable to dial: %w", timeout), true, loadgen.CauseTimeout, loadgen.TryNotAppended},
		"the client's own deadline":    {context.DeadlineExceeded, true, loadgen.CauseTimeout, loadgen.TryUnknown},
		"the same before a connection": {context.DeadlineExceeded, false, loadgen.CauseTimeout, loadgen.TryNotAppended},
		"read too long":                {&net.OpError{Op: "read", Err: timeout}, true, loadgen.CauseTimeout, loadgen.TryUnknown},
		"cut":                          {io.EOF, true, loadgen.CauseReset, loadgen.TryUnknown},
		"reset":                        {&net.OpError{Op: "read", Err: syscall.ECONNRESET}, true, loadgen.CauseReset, loadgen.TryUnknown},
	} {
		if f := classify("here", c.err, c.connected); f.cause != c.cause || f.outcome != c.outcome {
			t.Errorf("%s (%v): %v, %v; want %v, %v", name, c.err, f.cause, f.outcome, c.cause, c.outcome)
		}
	}
}

// TestDialThatHangs: the deadline passes while the client dials. It tells only that the deadline passed; nothing was sent all the same. With a
// connection that never answers nobody knows.
func TestDialThatHangs(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for name, c := range map[string]struct {
		dialer  func(context.Context, string, string) (net.Conn, error)
		outcome loadgen.TryOutcome
	}{
		"no connection": {func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, errors.New("never reached it")
		}, loadgen.TryNotAppended},
		"no answer": {new(net.Dialer).DialContext, loadgen.TryUnknown},
	} {
		l := newLink(silent.Addr().String())
		l.dialer = c.dialer
		_, f := l.do(t.Context(), kmsg.NewPtrMetadataRequest(), time.Now().Add(200*time.Millisecond))
		if f == nil || f.outcome != c.outcome || f.cause != loadgen.CauseTimeout {
			t.Errorf("%s: %+v, want outcome %v after a timeout", name, f, c.outcome)
		}
	}
}
