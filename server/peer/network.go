package peer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
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

	handshakes     handshakes
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
	n := &Network{options: options, local: localState{Local: options.Local},
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
		if n.handshakes.begin(conn) {
			n.handshakesBusy.Add(1)
		}
		group.Go(func() { n.welcome(ctx, conn) })
	}
}

// handshakes are the accepted connections that have yet to prove themselves, oldest first.
type handshakes struct {
	mu    sync.Mutex
	conns []net.Conn
}

// begin takes in a connection. At the cap the oldest one has to go, and it tells so: strangers that connect and say nothing would
// else keep nodes out, which need a moment only.
func (h *handshakes) begin(conn net.Conn) (full bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if full = len(h.conns) >= handshakesMax; full {
		h.conns[0].Close()
		h.conns = slices.Delete(h.conns, 0, 1)
	}
	h.conns = append(h.conns, conn)
	return full
}

func (h *handshakes) end(conn net.Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if i := slices.Index(h.conns, conn); i >= 0 {
		h.conns = slices.Delete(h.conns, i, i+1)
	}
}

func (h *handshakes) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.conns)
}

// welcome runs the handshake of an accepted connection and hands the link to its keeper.
func (n *Network) welcome(ctx context.Context, conn net.Conn) {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	err := n.options.timing.tune(conn)
	var l *link
	if err == nil {
		l, err = n.acceptHandshake(conn)
	}
	n.handshakes.end(conn)
	if err != nil {
		conn.Close()
		n.noteHandshake(err, -1)
		return
	}
	if stop() {
		l.remote.offer(ctx, l)
	}
}

// SetLocal changes what this node says about itself. Every link is made anew, with a handshake that
// says it: such changes are few in a directory's life.
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

// Close gives the port back if the network is never run.
func (n *Network) Close() error {
	if n.listener == nil {
		return nil
	}
	return n.listener.Close()
}

// SetFormat changes what the next handshakes say about this node's directory, and leaves the links
// that stand as they are: a directory that comes to be used concerns only nodes that come anew.
func (n *Network) SetFormat(format Format) {
	n.mu.Lock()
	n.local.Format = format
	n.mu.Unlock()
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
