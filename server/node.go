package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"rejoin/server/api"
	"rejoin/server/events"
	"rejoin/server/partition"
	"rejoin/server/peer"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// Options of one node.
type Options struct {
	Config Config
	ID     int
	Dir    string // data directory
	Secret []byte // of the cluster; may be empty on loopback only
	Token  string // bearer token of the client and admin planes; may be empty on loopback only
	Logger *slog.Logger
	Flight io.WriterTo // writes the last seconds of the execution trace, for the admin plane; nil: none are kept
}

// ErrFenced is wrapped by Run's error when the node stopped because it could not keep a promise.
var ErrFenced = errors.New("this node is fenced")

// historyError says that this node's log and a peer's are of two clusters.
type historyError struct{ why string }

func (e *historyError) Error() string { return e.why }

// node is a running node.
type node struct {
	config   Config
	id       int
	token    string
	log      *slog.Logger
	dir      *directory
	dirMu    sync.Mutex // of dir, once groups run
	pool     *wire.Pool
	recorder *events.Recorder
	network  *peer.Network
	formats  *formatting
	metrics  *metrics
	groups   []*group
	turns    *diskTurns
	client   *api.ClientPlane
	admin    *api.AdminPlane

	opened   chan struct{} // closed once the groups have recovered
	stopping context.Context
	stop     context.CancelCauseFunc
	wg       sync.WaitGroup
	started  time.Time

	mu      sync.Mutex
	greeted map[int]vsr.Incarnation // peers that were present before the groups existed
	linked  []bool
}

// Run runs a node until ctx is done, and then stops it cleanly: what is durable by then is answered.
// It returns nil after a clean stop, an error that Is ErrFenced when the node had to stop itself,
// and else why it could not start.
func Run(ctx context.Context, o Options) error {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	lines := newLogLines()
	defer lines.close()
	o.Logger = lines.logger(o.Logger)
	n, err := newNode(o)
	if err != nil {
		return err
	}
	defer n.close()
	return n.run(ctx)
}

func newNode(o Options) (*node, error) {
	if o.ID < 0 || o.ID >= len(o.Config.Nodes) {
		return nil, fmt.Errorf("node %d is not in the cluster file, which has %d nodes", o.ID, len(o.Config.Nodes))
	}
	if err := o.Config.CheckExposure(o.ID, len(o.Secret) > 0, o.Token != ""); err != nil {
		return nil, err
	}
	allowed, err := openFilesAllowed()
	if err != nil {
		return nil, err
	}
	if err := o.Config.checkOpenFiles(allowed); err != nil {
		return nil, err
	}
	n := &node{config: o.Config, id: o.ID, token: o.Token, log: o.Logger.With("node", o.ID), opened: make(chan struct{}), started: time.Now(),
		formats: newFormatting(len(o.Config.Nodes)), greeted: map[int]vsr.Incarnation{}, linked: make([]bool, len(o.Config.Nodes))}
	n.stopping, n.stop = context.WithCancelCause(context.Background())
	n.turns = newDiskTurns(flushesAtOnce(&o.Config.Limits), turnPatience, n.log)
	n.metrics = newMetrics(n)
	if n.dir, err = openDirectory(o.Dir, &n.config, n.id); err != nil {
		return nil, err
	}
	if err := n.furnish(o); err != nil {
		n.abandon()
		return nil, err
	}
	return n, nil
}

// furnish makes what a node needs beside its directory.
func (n *node) furnish(o Options) (err error) {
	if n.pool, err = wire.NewPool(n.poolBuffers()); err != nil {
		return fmt.Errorf("frame buffers: %w", err)
	}
	if n.recorder, err = events.Open(events.Options{Path: filepath.Join(o.Dir, eventsFile), Node: n.id}); err != nil {
		return fmt.Errorf("%w; it only records: put it right, or move it away and start again", err)
	}
	for t := range n.config.Topics {
		for p := range n.config.Topics[t].Partitions {
			n.groups = append(n.groups, newGroup(n, uint32(len(n.groups)), n.config.Topics[t], p))
		}
	}
	return n.listen(o)
}

// savedLives are the lives of the nodes that any group has saved. What comes with a smaller boot counter is an old
// copy of a directory, or one that was lost, whoever of the two nodes has restarted.
func (n *node) savedLives() []uint64 {
	lives := make([]uint64, len(n.config.Nodes))
	for _, g := range n.groups {
		saved := partition.SavedLives(g.diskOptions())
		for i := range lives {
			lives[i] = max(lives[i], saved[i])
		}
	}
	return lives
}

func (n *node) listen(o Options) (err error) {
	nodes := make([]peer.Node, len(n.config.Nodes))
	for i, c := range n.config.Nodes {
		nodes[i] = peer.Node{ID: fmt.Sprint(c.ID), Dial: c.Dial.Peer}
	}
	own := n.config.Nodes[n.id].Listen
	n.network, err = peer.New(peer.Options{Self: n.id, Nodes: nodes, Groups: len(n.groups), Listen: own.Peer, ClusterID: n.config.ClusterID(),
		FixedDigest: n.config.FixedDigest(), KnownBoots: n.savedLives(), Secret: o.Secret, Local: peer.Local{Incarnation: n.dir.incarnation, Format: n.dir.format},
		Pool: n.pool, Spared: n.sparedBuffers(), Handler: n, Logger: n.log, BulkBytesPerSecondMax: n.config.Limits.TransferBytesPerSMax})
	if err != nil {
		return err
	}
	n.admin, err = api.NewAdminPlane(api.AdminOptions{Address: own.Admin, Token: n.token, Node: n, Events: n.recorder, Metrics: n.metrics.handler(),
		Flight: o.Flight})
	return err
}

func (n *node) run(ctx context.Context) error {
	watching, endWatching := context.WithCancel(context.WithoutCancel(ctx))
	defer endWatching()
	var watchers sync.WaitGroup // who looks on until the rest has ended
	watchers.Go(func() { _ = n.recorder.Run(watching) })
	watchers.Go(func() { n.endOn(n.admin.Run(watching)) })
	watchers.Go(func() { n.watchPauses(watching) })
	n.recorder.Emit(wire.Event{Kind: wire.EventNodeStart, Detail: fmt.Sprintf("boot %d", n.dir.incarnation.Boot)})

	n.wg.Go(func() { n.endOn(n.network.Run(n.stopping)) })
	err := n.serve(ctx)
	n.stop(err)
	n.wg.Wait()
	n.closeLogs()
	n.recorder.Emit(wire.Event{Kind: wire.EventNodeStop})
	endWatching()
	watchers.Wait()
	if cause := context.Cause(n.stopping); err == nil && cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	return err
}

// serve formats, recovers and then serves clients until ctx is done or the node must stop itself.
func (n *node) serve(ctx context.Context) error {
	either, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(n.stopping, func() { cancel(context.Cause(n.stopping)) })()
	if err := n.format(either); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	if err := n.openGroups(); err != nil {
		return err
	}
	var err error
	n.client, err = api.NewClientPlane(api.ClientOptions{Address: n.config.Nodes[n.id].Listen.Client, Token: n.token, Called: []string{n.config.Nodes[n.id].Listen.Client, n.clientAddress(n.id)}, Node: n, Pool: n.pool,
		ConnectionsMax: n.config.Limits.ClientConnections, BatchBytes: n.config.Limits.BatchBytes, BatchMessages: n.config.Limits.BatchMessages})
	if err != nil {
		return err
	}
	n.metrics.registry.MustRegister(n.client)
	n.log.Info("serving", "client", n.client.Address().String(), "boot", n.dir.incarnation.Boot, "took_ms", time.Since(n.started).Milliseconds())
	served := make(chan struct{})
	defer close(served)
	n.wg.Go(func() { n.dismissClients(either, served) })
	if err := n.client.Run(either); !errors.Is(err, api.ErrCutOff) { // who is cut off learns nothing, which is "unknown"
		return err
	}
	return nil
}

// dismissClients answers, a while after the node was told to stop, who still waits for a quorum: what
// was durable by then has been answered. It ends with the service of clients.
func (n *node) dismissClients(told context.Context, served <-chan struct{}) {
	select {
	case <-told.Done():
	case <-served:
		return
	}
	patience := time.NewTimer(stopPatience)
	defer patience.Stop()
	select {
	case <-patience.C:
	case <-served:
		return
	}
	for _, g := range n.groups {
		g.clients.dismiss(partition.Answer{Outcome: vsr.OutcomeUnknown, Primary: vsr.NoPrimary, Detail: "this node is stopping"})
	}
}

// stopPatience is how long parked clients may still be answered after SIGTERM.
const stopPatience = time.Second

// endOn stops the node when a plane or the network has failed by itself.
func (n *node) endOn(err error) {
	if err != nil {
		n.stop(err)
	}
}

// fence stops the node for good: it takes part in nothing any more and its process ends.
func (n *node) fence(g *group, why error) {
	advice := g.adviceOn(why)
	n.log.Error("fenced: a promise cannot be kept", "topic", g.topic.Name, "partition", g.index, "why", why)
	n.recorder.Emit(wire.Event{Kind: wire.EventFenced, Topic: g.topic.Name, Partition: g.index, Detail: why.Error()})
	n.stop(fmt.Errorf("%w: topic %s, partition %d: %w; %s", ErrFenced, g.topic.Name, g.index, why, advice))
}

func (n *node) isOpen() bool {
	select {
	case <-n.opened:
		return true
	default:
		return false
	}
}

// abandon lets go of what a node has opened that cannot start: who runs it may try again in this process. The error that
// matters is there already.
func (n *node) abandon() {
	ended, end := context.WithCancel(context.Background())
	end()
	if n.network != nil {
		_ = n.network.Run(ended)
	}
	if n.recorder != nil {
		_ = n.recorder.Run(ended)
	}
	n.close()
}

func (n *node) close() {
	_ = n.dir.close()
	if n.pool != nil {
		_ = n.pool.Close() // refuses while the kernel still reads a buffer; the process ends anyway
	}
}

// closeLogs closes what every group has open, once nothing of it runs any more. What its flusher has left is never done: the disk has failed, or
// is full.
func (n *node) closeLogs() {
	for _, g := range n.groups {
		partition.Discard(g.jobs.take(nil))
		if g.disk == nil {
			continue
		}
		if err := g.disk.Close(); err != nil {
			n.log.Error("close the log", "topic", g.topic.Name, "partition", g.index, "err", err)
		}
	}
}

// clientAddress of a node, empty for none.
func (n *node) clientAddress(id int) string {
	if id < 0 || id >= len(n.config.Nodes) {
		return ""
	}
	return n.config.Nodes[id].Dial.Client
}
