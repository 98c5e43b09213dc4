package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"rejoin/loadgen"
)

// Versions beyond which topics are named by ids that a client must look up first. The adapter asks
// for one topic by its name.
const (
	produceVersionMax = 12
	fetchVersionMax   = 12
	fetchVersionMin   = 11 // from here on a follower answers consumers
)

var versions = sync.OnceValue(func() *kversion.Versions {
	v := kversion.Stable()
	v.SetMaxKeyVersion(int16(kmsg.Produce), produceVersionMax)
	v.SetMaxKeyVersion(int16(kmsg.Fetch), fetchVersionMax)
	return v
})

// clientOptions are those of every client: brokers are not told how it fares, which would be requests
// that no try made.
func clientOptions(addresses ...string) []kgo.Opt {
	return []kgo.Opt{kgo.SeedBrokers(addresses...), kgo.MaxVersions(versions()), kgo.DisableClientMetrics()}
}

// link is the way to one address: a franz-go client that knows this broker only, and so cannot ask
// another. It belongs to one goroutine.
type link struct {
	address string
	client  *kgo.Client // nil: none is open
	// connected says that the client had a connection once.
	connected atomic.Bool
	dialer    func(ctx context.Context, network, address string) (net.Conn, error)
}

func newLink(address string) *link {
	return &link{address: address, dialer: new(net.Dialer).DialContext}
}

// dial connects for the client. That it did is known before the client sends anything.
func (l *link) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := l.dialer(ctx, network, address)
	if err == nil {
		l.connected.Store(true)
	}
	return conn, err
}

func (l *link) close() {
	if l.client != nil {
		l.client.Close()
		l.client = nil
	}
}

// failure is why an exchange had no answer.
type failure struct {
	cause   loadgen.TryCause
	outcome loadgen.TryOutcome
	err     error
}

func (f *failure) Error() string { return f.err.Error() }

func (f *failure) result() loadgen.TryResult { return loadgen.NotAcked(f.outcome, f.cause, f.err) }

// do sends one request, once, and returns its answer. After a failure the connection is given up: an
// answer that comes late is nobody's.
func (l *link) do(ctx context.Context, request kmsg.Request, deadline time.Time) (kmsg.Response, *failure) {
	if l.client == nil {
		l.connected.Store(false)
		client, err := kgo.NewClient(append(clientOptions(l.address), kgo.Dialer(l.dial))...)
		if err != nil {
			return nil, &failure{loadgen.CauseRefused, loadgen.TryNotAppended, fmt.Errorf("client for %s: %w", l.address, err)}
		}
		l.client = client
	}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	// Request, not RetriableRequest: franz-go sends it at most once, on a second connection only if
	// not a byte went over the first.
	response, err := l.client.SeedBrokers()[0].Request(ctx, request)
	if err == nil {
		return response, nil
	}
	l.close()
	return nil, classify(l.address, err, l.connected.Load())
}

// classify sorts failures by what they leave open. Only a connection that was never made is certain
// to have carried nothing: the error says so, or there was none since the client began, whose own
// error of a deadline does not tell which of its steps it met.
func classify(address string, err error, connected bool) *failure {
	f := &failure{loadgen.CauseReset, loadgen.TryUnknown, fmt.Errorf("%s: %w", address, err)}
	var op *net.OpError
	dialing := errors.As(err, &op) && op.Op == "dial"
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), op != nil && op.Timeout():
		f.cause = loadgen.CauseTimeout
	case dialing:
		f.cause = loadgen.CauseRefused
	}
	if dialing || !connected {
		f.outcome = loadgen.TryNotAppended
	}
	return f
}
