package nats

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"rejoin/loadgen"
)

// asyncPendingMax is how many acknowledgements the library lets a connection wait for before it blocks the publisher. One batch is under way on a
// connection, so this is never reached.
const asyncPendingMax = 1 << 20

// link is one client's connection to one server, made when it is needed.
type link struct {
	address string
	raw     net.Conn // below nc
	nc      *nats.Conn
	js      jetstream.JetStream
	stream  jetstream.Stream // made when it is needed
	ended   chan struct{}    // closed when the connection is
}

// open connects unless there is a connection; ok is false where the try ends here, before anything of a batch was sent.
func (l *link) open(deadline time.Time) (result loadgen.TryResult, ok bool) {
	if l.nc != nil && l.nc.IsConnected() {
		return loadgen.TryResult{}, true
	}
	l.close()
	if !time.Now().Before(deadline) {
		return loadgen.NotAcked(loadgen.TryNotAppended, loadgen.CauseTimeout, os.ErrDeadlineExceeded), false
	}
	err := l.connect(deadline)
	if err == nil {
		return loadgen.TryResult{}, true
	}
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return loadgen.NotAcked(loadgen.TryNotAppended, loadgen.CauseRefused, err), false
	case errors.Is(err, nats.ErrTimeout), errors.As(err, &timeout) && timeout.Timeout():
		return loadgen.NotAcked(loadgen.TryNotAppended, loadgen.CauseTimeout, err), false
	}
	return loadgen.NotAcked(loadgen.TryNotAppended, loadgen.CauseReset, err), false
}

func (l *link) connect(deadline time.Time) error {
	dialer, ended := &dialer{deadline: deadline}, make(chan struct{})
	nc, err := nats.Connect("nats://"+l.address, nats.NoReconnect(), nats.SetCustomDialer(dialer), nats.Timeout(time.Until(deadline)),
		nats.Name("rejoin"), nats.ClosedHandler(func(*nats.Conn) { close(ended) }), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})) // which would else be printed; calls return it, too
	if err != nil {
		if dialer.err != nil {
			return dialer.err // the library says "no servers" of a refusal
		}
		return err
	}
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(asyncPendingMax))
	if err != nil {
		nc.Close()
		return err
	}
	l.raw, l.nc, l.js, l.ended = dialer.conn, nc, js, ended
	return nil
}

// cutGrace lies between a deadline and the end of the connection: an answer that does not come leaves the connection whole.
const cutGrace = 20 * time.Millisecond

// cut breaks the connection soon after a deadline, unless the returned function is called before: a write to a server that takes nothing more
// would block for longer than its caller may.
func (l *link) cut(deadline time.Time) (keep func() bool) {
	raw := l.raw
	return time.AfterFunc(time.Until(deadline)+cutGrace, func() { raw.Close() }).Stop
}

func (l *link) close() {
	if l.nc != nil {
		l.raw.Close() // first: Close of the library flushes, which may block
		l.nc.Close()
	}
	l.raw, l.nc, l.js, l.stream = nil, nil, nil, nil
}

// dialer dials until a deadline and remembers what came of it, which the library wraps or hides.
type dialer struct {
	deadline time.Time
	conn     net.Conn
	err      error
}

// Dial implements nats.CustomDialer.
func (d *dialer) Dial(network, address string) (net.Conn, error) {
	d.conn, d.err = (&net.Dialer{Deadline: d.deadline}).Dial(network, address)
	return d.conn, d.err
}
