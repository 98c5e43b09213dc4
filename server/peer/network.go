package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"rejoin/server/wire"
)

// Network is a node's links to all others.
type Network struct {
	options     Options
	nodesDigest uint64
	listener    net.Listener // nil in a cluster of one
	remotes     []*remote    // by node; nil at Self

	mu    sync.Mutex
	local localState

	handshakes     chan struct{} // one token each
	handshakesBusy atomic.Uint64
	handshakesBad  atomic.Uint64
	refusals       refusalLog
}

// localState numbers what this node says about itself, so that a link that was made with an older
// saying is known.
type localState struct {
	Local
	generation uint64
}

// New checks the options and takes the port. It starts nothing.
func New(options Options) (*Network, error) {
	if err := options.validate(); err != nil {
		return nil, fmt.Errorf("peer network: %w", err)
	}
	options.fillDefaults()
	n := &Network{options: options, local: localState{Local: options.Local}, handshakes: make(chan struct{}, handshakesMax),
		nodesDigest: nodesDigest(options.Nodes), remotes: make([]*remote, len(options.Nodes)), listener: options.Listener}
	for i := range options.Nodes {
		if i == options.Self {
			continue
		}
		n.remotes[i] = newRemote(n, i)
		if options.KnownBoots != nil {
			n.remotes[i].known = options.KnownBoots[i]
		}
	}
	if len(options.Nodes) > 1 {
		if err := n.listen(); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func (n *Network) listen() (err error) {
	address := n.options.Listen
	if n.listener != nil {
		address = n.listener.Addr().String()
	}
	if err := checkExposure(address, n.options.Secret); err != nil {
		return err
	}
	if n.listener != nil {
		return nil
	}
	n.listener, err = net.Listen("tcp", address)
	if errors.Is(err, unix.EADDRINUSE) {
		return fmt.Errorf("peer port %s is taken; another node may be running; stop it or change listen.peer in cluster.yaml: %w", address, err)
	}
	if err != nil {
		return fmt.Errorf("listen for peers: %w", err)
	}
	return nil
}

// Addr is the address listened on, nil in a cluster of one.
func (n *Network) Addr() net.Addr {
	if n.listener == nil {
		return nil
	}
	return n.listener.Addr()
}

// Run keeps the links until ctx ends, then closes everything and waits for it. It returns nil
// unless the listener fails by itself. A Network runs once.
func (n *Network) Run(ctx context.Context) error {
	if n.listener == nil {
		<-ctx.Done()
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	for _, r := range n.remotes {
		if r != nil {
			r.start(ctx, &group)
		}
	}
	stop := context.AfterFunc(ctx, func() { n.listener.Close() })
	defer stop()
	err := n.accept(ctx, &group)
	cancel()
	n.listener.Close()
	group.Wait()
	for _, r := range n.remotes {
		if r != nil {
			r.turnAway()
		}
	}
	return err
}

func (n *Network) accept(ctx context.Context, group *sync.WaitGroup) error {
	pause := backOff{timing: n.options.timing}
	for {
		conn, err := n.listener.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				conn.Close()
			}
			return nil
		case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE), errors.Is(err, unix.ECONNABORTED), errors.Is(err, unix.ENOBUFS), errors.Is(err, unix.ENOMEM):
			n.options.Logger.Warn("accepting a peer failed, going on", "error", err)
			pause.wait(ctx)
			continue
		case err != nil:
			return fmt.Errorf("accept peers: %w", err)
		}
		select {
		case n.handshakes <- struct{}{}:
			group.Go(func() {
				defer func() { <-n.handshakes }()
				n.welcome(ctx, conn)
			})
		default:
			n.handshakesBusy.Add(1)
			conn.Close()
		}
	}
}

// welcome runs the handshake of an accepted connection and hands the link to its keeper.
func (n *Network) welcome(ctx context.Context, conn net.Conn) {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if err := n.options.timing.tune(conn); err != nil {
		conn.Close()
		return
	}
	l, err := n.acceptHandshake(conn)
	if err != nil {
		conn.Close()
		n.noteHandshake(err, -1)
		return
	}
	if stop() {
		l.remote.offer(ctx, l)
	}
}

// noteHandshake counts a failed handshake and tells of a refusal once.
func (n *Network) noteHandshake(err error, other int) {
	var refused *RefusedError
	if !errors.As(err, &refused) {
		if other < 0 && !errors.Is(err, io.EOF) { // a prober connects and says nothing
			n.handshakesBad.Add(1)
		}
		return
	}
	if refused.Peer < 0 {
		n.handshakesBad.Add(1)
	} else {
		n.remotes[refused.Peer].counters.handshakesRefused.Add(1)
	}
	if !n.refusals.isNew(refused) {
		return
	}
	id := "unknown"
	if refused.Peer >= 0 {
		id = n.options.Nodes[refused.Peer].ID
	}
	n.options.Logger.Warn("peer handshake refused", "peer", id, "reason", refused.Reason.String(), "by_peer", refused.ByPeer, "text", refused.Text)
	n.options.Handler.Refused(refused.Peer, refused)
}

// refusalLog remembers what has been said, so that redials do not repeat it.
type refusalLog struct {
	mu   sync.Mutex
	said map[RefusedError]bool
}

const refusalsRememberedMax = 256 // strangers choose some of the words

func (l *refusalLog) isNew(e *RefusedError) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := *e
	if e.Peer < 0 {
		key.Text = "" // a stranger's bytes are in it
	}
	if l.said[key] || len(l.said) >= refusalsRememberedMax {
		return false
	}
	if l.said == nil {
		l.said = make(map[RefusedError]bool)
	}
	l.said[key] = true
	return true
}

// forget makes the next refusal of a node news again, once a link to it came up.
func (l *refusalLog) forget(peer int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key := range l.said {
		if key.Peer == peer {
			delete(l.said, key)
		}
	}
}

// SetLocal changes what this node says about itself. Every link is made anew, with a handshake that
// says it: both things change at most a few times in a directory's life.
func (n *Network) SetLocal(local Local) {
	n.mu.Lock()
	n.local = localState{Local: local, generation: n.local.generation + 1}
	n.mu.Unlock()
	for _, r := range n.remotes {
		if r != nil {
			r.dropLinks(errRenewed)
		}
	}
}

func (n *Network) localNow() localState {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.local
}

// KnownBoot is the highest boot counter known of a node.
func (n *Network) KnownBoot(node int) uint64 { return n.remotes[node].knownBoot() }

func nodesDigest(nodes []Node) uint64 {
	var b []byte
	for _, node := range nodes {
		b = append(b, strconv.Quote(node.ID)...)
	}
	return wire.Sum(b)
}

// tune lets a dead connection be noticed: by the kernel where data or a probe is not answered, by
// deadlines of ours where something between the nodes still answers for the dead.
func (t *timing) tune(conn net.Conn) error {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(t.userTimeout.Milliseconds()))
	})
	return errors.Join(err, os.NewSyscallError("setsockopt", failed), tcp.SetNoDelay(true),
		tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: time.Second, Count: 3}))
}
