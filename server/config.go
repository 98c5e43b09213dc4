package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/goccy/go-yaml"

	"rejoin/server/peer"
	"rejoin/server/wire"
)

// Config is cluster.yaml: what all nodes of a cluster agree on. Cluster, node ids and topics are
// compared when two nodes meet, and limits.pipeline_ops; other limits and addresses are not, because a proxy may stand between.
type Config struct {
	Cluster string        `yaml:"cluster"` // name; ClusterID is its number
	Nodes   []NodeConfig  `yaml:"nodes"`   // 1, 3 or 5; node i has id i
	Topics  []TopicConfig `yaml:"topics"`  // fixed when the data directory is formatted
	Limits  Limits        `yaml:"limits,omitempty"`
}

// NodeConfig says where a node listens and where others find it.
type NodeConfig struct {
	ID     int       `yaml:"id"`
	Listen Addresses `yaml:"listen"`
	Dial   Addresses `yaml:"dial,omitempty"` // empty ones are those of Listen
}

// Addresses are the host:port of a node's three planes.
type Addresses struct {
	Peer   string `yaml:"peer,omitempty"`   // the other replicas
	Client string `yaml:"client,omitempty"` // producers and readers
	Admin  string `yaml:"admin,omitempty"`  // health, metrics, events, profiles
}

// TopicConfig is one topic.
type TopicConfig struct {
	Name       string `yaml:"name"` // [a-z0-9_-]{1,64}
	Partitions int    `yaml:"partitions"`
	Durability string `yaml:"durability,omitempty"` // DurabilityPersisted or DurabilityReplicated
}

// What an acknowledgement waits for on each member of a quorum.
const (
	DurabilityPersisted  = "persisted"  // the batch is synced to disk
	DurabilityReplicated = "replicated" // the batch is written, not yet synced
)

// Limits are the settings of a node. Zero means the default; see withDefaults.
type Limits struct {
	SegmentBytes         int64         `yaml:"segment_bytes,omitempty"`
	SegmentsReady        int           `yaml:"segments_ready,omitempty"`  // made ahead of use while the log is at rest, for bursts; of each partition
	FlushesAtOnce        int           `yaml:"flushes_at_once,omitempty"` // partitions of a node that write and sync at a time, the others gather if they can; 0: twice as many as processors
	RingOps              int           `yaml:"ring_ops,omitempty"`        // recent ops in memory; a gap beyond is closed by a transfer
	RingBytes            int64         `yaml:"ring_bytes,omitempty"`      // of those, of all partitions of a node together, and a frame of any size for each
	PipelineOps          int           `yaml:"pipeline_ops,omitempty"`    // uncommitted ops at most; fixed when the data directory is formatted
	RepairChunkOps       int           `yaml:"repair_chunk_ops,omitempty"`
	RepairChunkBytes     int64         `yaml:"repair_chunk_bytes,omitempty"`
	BatchBytes           int           `yaml:"batch_bytes,omitempty"`
	BatchMessages        int           `yaml:"batch_messages,omitempty"`
	ClientConnections    int           `yaml:"client_connections,omitempty"`
	PoolBuffers          int           `yaml:"pool_buffers,omitempty"`             // 0: the sum of what may hold one
	TransferBytesPerSMax int64         `yaml:"transfer_bytes_per_s_max,omitempty"` // 0: unlimited
	RetentionBytes       int64         `yaml:"retention_bytes,omitempty"`          // of one partition; 0: unlimited. Fewer than before: a start trims
	Tick                 time.Duration `yaml:"tick,omitempty"`
	Heartbeat            time.Duration `yaml:"heartbeat,omitempty"`
	Suspect              time.Duration `yaml:"suspect,omitempty"`     // a primary silent for so long is missed
	SuspectMax           time.Duration `yaml:"suspect_max,omitempty"` // where adaptation of Suspect ends
	AppendHold           time.Duration `yaml:"append_hold,omitempty"` // an append waits so long for a primary
}

const (
	nodeCountsText   = "1, 3 or 5"
	partitionsMax    = 64 // of all topics together
	configBytesMax   = 1 << 20
	topicNameMax     = 64
	clusterNameMax   = 64
	segmentBytesMin  = 4 << 20 // room for a few of the largest batches
	segmentBytesMax  = 1 << 30
	segmentsReadyMax = 1 << 10
	clientsMax       = 4096
	pipelineOpsMax   = 512 // vsr accepts no more
	ringOpsMax       = 1 << 20
	poolBuffersLimit = 1 << 16
)

// withDefaults fills in what was left out. It is the only place that knows defaults.
func (c Config) withDefaults() Config {
	c.Nodes = append([]NodeConfig(nil), c.Nodes...)
	for i := range c.Nodes {
		n := &c.Nodes[i]
		orDefault(&n.Dial.Peer, n.Listen.Peer)
		orDefault(&n.Dial.Client, n.Listen.Client)
		orDefault(&n.Dial.Admin, n.Listen.Admin)
	}
	c.Topics = append([]TopicConfig(nil), c.Topics...)
	for i := range c.Topics {
		orDefault(&c.Topics[i].Partitions, 1)
		orDefault(&c.Topics[i].Durability, DurabilityPersisted)
	}
	l := &c.Limits
	orDefault(&l.SegmentBytes, 64<<20)
	orDefault(&l.SegmentsReady, 1)
	orDefault(&l.RingOps, 1024)
	orDefault(&l.RingBytes, 64<<20)
	orDefault(&l.PipelineOps, 256)
	orDefault(&l.RepairChunkOps, 128)
	orDefault(&l.RepairChunkBytes, 1<<20)
	orDefault(&l.BatchBytes, wire.BodyBytesMax)
	orDefault(&l.BatchMessages, wire.MessagesMax)
	orDefault(&l.ClientConnections, 256)
	orDefault(&l.Tick, 10*time.Millisecond)
	orDefault(&l.Heartbeat, 30*time.Millisecond)
	orDefault(&l.Suspect, 500*time.Millisecond)
	orDefault(&l.SuspectMax, 2*time.Second)
	orDefault(&l.AppendHold, time.Second)
	return c
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// LoadConfig reads cluster.yaml, fills in defaults and validates. An error shows line, column and
// the place in the text.
func LoadConfig(path string) (Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return Config{}, fmt.Errorf("read cluster file: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, configBytesMax+1))
	if err != nil {
		return Config{}, fmt.Errorf("read cluster file %s: %w", path, err)
	}
	if len(text) > configBytesMax {
		return Config{}, fmt.Errorf("cluster file %s is larger than %d bytes, so it is hardly one; pass the right file", path, configBytesMax)
	}
	c, err := ParseConfig(text)
	if err != nil {
		return Config{}, fmt.Errorf("cluster file %s: %w", path, err)
	}
	return c, nil
}

// ParseConfig is LoadConfig on text.
func ParseConfig(text []byte) (Config, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return Config{}, errors.New("the file is empty; it needs cluster, nodes and topics")
	}
	if Nesting(text) > nestingMax {
		return Config{}, fmt.Errorf("the file is nested more than %d levels deep; a cluster file has four", nestingMax)
	}
	var c Config
	if err := yaml.UnmarshalWithOptions(text, &c, yaml.Strict()); err != nil {
		var placed yaml.Error
		if errors.As(err, &placed) {
			return Config{}, errors.New(yaml.FormatErrorWithToken(YAMLWords(placed), placed.GetToken(), false, true))
		}
		return Config{}, err
	}
	c = c.withDefaults()
	if err := c.Validate(); err != nil {
		return Config{}, annotate(text, err)
	}
	return c, nil
}

// annotate shows the place of a *ConfigError in the text, where the text has it.
func annotate(text []byte, err error) error {
	var field *ConfigError
	if !errors.As(err, &field) {
		return err
	}
	path, perr := yaml.PathString("$." + field.Field)
	if perr != nil {
		return err
	}
	node, perr := path.ReadNode(bytes.NewReader(text))
	if perr != nil {
		return err
	}
	at := node.GetToken().Position
	source, perr := path.AnnotateSource(text, false)
	if perr != nil {
		return err
	}
	return fmt.Errorf("[%d:%d] %w\n%s", at.Line, at.Column, err, source)
}

// ClusterID is the number that stands for the cluster's name in every sealed header.
func (c *Config) ClusterID() uint64 { return wire.Sum([]byte(c.Cluster)) }

// FixedDigest is equal where everything is equal that stays as it was when a cluster was formatted: its
// topics, and how many ops may be uncommitted, since a start takes what lies that far below the top of
// its log for committed. Nodes compare it when they meet.
func (c *Config) FixedDigest() uint64 {
	var text []byte
	for _, t := range c.Topics {
		text = append(text, t.Name...)
		text = append(text, '/')
		text = strconv.AppendInt(text, int64(t.Partitions), 10)
		text = append(text, '/')
		text = append(text, t.Durability...)
		text = append(text, '\n')
	}
	return wire.Sum(fmt.Appendf(text, "pipeline_ops %d\n", c.Limits.PipelineOps))
}

// Partitions counts those of all topics. Groups are numbered through in the order of the file.
func (c *Config) Partitions() int {
	n := 0
	for _, t := range c.Topics {
		n += t.Partitions
	}
	return n
}

// CheckExposure refuses a node whose planes could be reached from other machines without the
// secret that guards them.
func (c *Config) CheckExposure(id int, hasSecret, hasToken bool) error {
	listen := c.Nodes[id].Listen
	switch {
	case !isLoopback(listen.Peer) && !hasSecret:
		return fmt.Errorf("peer address %s can be reached from other machines and no cluster secret is set, so anybody could steer the cluster; set REJOIN_CLUSTER_SECRET_FILE on every node or listen on 127.0.0.1", listen.Peer)
	case !isLoopback(listen.Client) && !hasToken:
		return fmt.Errorf("client address %s can be reached from other machines and no token is set, so anybody could write; set REJOIN_TOKEN_FILE or listen on 127.0.0.1", listen.Client)
	case !isLoopback(listen.Admin) && !hasToken:
		return fmt.Errorf("admin address %s can be reached from other machines and no token is set, so anybody could take profiles; set REJOIN_TOKEN_FILE or listen on 127.0.0.1", listen.Admin)
	}
	return nil
}

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// ConfigError is a value that Validate refuses.
type ConfigError struct {
	Field string // path in the file, such as nodes[1].listen.peer
	Text  string
}

func (e *ConfigError) Error() string { return e.Field + ": " + e.Text }

func refuse(field, format string, args ...any) error {
	return &ConfigError{Field: field, Text: fmt.Sprintf(format, args...)}
}

// Validate checks a Config whose defaults are filled in.
func (c *Config) Validate() error {
	if !isName(c.Cluster, clusterNameMax) {
		return refuse("cluster", "%q is no name for a cluster; use 1 to %d of a-z 0-9 _ -", c.Cluster, clusterNameMax)
	}
	if err := c.validateNodes(); err != nil {
		return err
	}
	if err := c.validateTopics(); err != nil {
		return err
	}
	if err := c.Limits.validate(); err != nil {
		return err
	}
	return c.validatePool()
}

// poolBuffersMin leaves each partition a ring that holds what is uncommitted, and a pipeline that waits beyond its head: together
// they have half of a pool. With fewer buffers a replica may have none for the op that would let others go.
func (c *Config) poolBuffersMin() int { return 2 * 2 * c.Limits.PipelineOps * c.Partitions() }

func (c *Config) validatePool() error {
	b, need := c.Limits.PoolBuffers, c.poolBuffersMin()
	if need > poolBuffersLimit {
		return refuse("limits.pipeline_ops", "the uncommitted batches (pipeline_ops %d) of %d partitions need %d frame buffers, and a node has at most %d: use a pipeline_ops of at most %d, or fewer partitions",
			c.Limits.PipelineOps, c.Partitions(), need, poolBuffersLimit, c.Limits.PipelineOps*poolBuffersLimit/need)
	}
	if b > 0 && b < need {
		return refuse("limits.pool_buffers", "%d frame buffers are too few for the uncommitted batches (pipeline_ops %d) of %d partitions, and nothing might be appended: use 0, or at least %d",
			b, c.Limits.PipelineOps, c.Partitions(), need)
	}
	return nil
}

func (c *Config) validateNodes() error {
	if n := len(c.Nodes); n != 1 && n != 3 && n != 5 {
		return refuse("nodes", "a cluster has %s nodes, not %d", nodeCountsText, n)
	}
	taken := map[string]string{}
	for i, n := range c.Nodes {
		at := fmt.Sprintf("nodes[%d]", i)
		if n.ID != i {
			return refuse(at+".id", "node %d in the list must have id %d, not %d", i, i, n.ID)
		}
		for _, a := range []struct{ field, address string }{
			{at + ".listen.peer", n.Listen.Peer}, {at + ".listen.client", n.Listen.Client}, {at + ".listen.admin", n.Listen.Admin},
		} {
			if err := validateAddress(a.field, a.address); err != nil {
				return err
			}
			if other, ok := taken[a.address]; ok {
				return refuse(a.field, "%s is also %s; each needs its own", a.address, other)
			}
			taken[a.address] = a.field
		}
		for _, a := range [][3]string{{"peer", n.Dial.Peer, n.Listen.Peer}, {"client", n.Dial.Client, n.Listen.Client}, {"admin", n.Dial.Admin, n.Listen.Admin}} {
			field := at + ".dial." + a[0]
			if a[1] == a[2] { // most times it was left out
				field = at + ".listen." + a[0]
			}
			if err := validateDial(field, a[1]); err != nil {
				return err
			}
		}
	}
	return nil
}

// validateDial refuses what a node may listen on and nobody can ask for: peers would call themselves, and clients be sent nowhere.
func validateDial(field, address string) error {
	if err := validateAddress(field, address); err != nil {
		return err
	}
	host, _, _ := net.SplitHostPort(address) // it has just been split
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		return refuse(field, "%s stands for every address of a machine, which others cannot dial; say under dial by which address they find this node", address)
	}
	return nil
}

func validateAddress(field, address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" {
		return refuse(field, "%q is not host:port, such as 127.0.0.1:17001", address)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return refuse(field, "port %q must be a number from 1 to 65535: a restarted node has to find its own port again", port)
	}
	return nil
}

func (c *Config) validateTopics() error {
	if len(c.Topics) == 0 {
		return refuse("topics", "at least one topic is needed")
	}
	seen := map[string]bool{}
	for i, t := range c.Topics {
		at := fmt.Sprintf("topics[%d]", i)
		switch {
		case !isName(t.Name, topicNameMax):
			return refuse(at+".name", "%q is no name for a topic; use 1 to %d of a-z 0-9 _ -", t.Name, topicNameMax)
		case seen[t.Name]:
			return refuse(at+".name", "there are two topics %q", t.Name)
		case t.Partitions < 1 || t.Partitions > partitionsMax:
			return refuse(at+".partitions", "must be from 1 to %d, not %d", partitionsMax, t.Partitions)
		case t.Durability != DurabilityPersisted && t.Durability != DurabilityReplicated:
			return refuse(at+".durability", "must be %s or %s, not %q", DurabilityPersisted, DurabilityReplicated, t.Durability)
		}
		seen[t.Name] = true
	}
	if n := c.Partitions(); n > partitionsMax {
		return refuse("topics", "all topics together may have %d partitions, not %d", partitionsMax, n)
	}
	return nil
}

func isName(s string, bytesMax int) bool {
	if s == "" || len(s) > bytesMax {
		return false
	}
	for _, r := range s {
		if !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' || r == '-') {
			return false
		}
	}
	return true
}

func (l *Limits) validate() error {
	for _, n := range []struct {
		field        string
		value        int64
		atLeast, max int64
	}{
		{"segment_bytes", l.SegmentBytes, segmentBytesMin, segmentBytesMax},
		{"segments_ready", int64(l.SegmentsReady), 1, segmentsReadyMax},
		{"flushes_at_once", int64(l.FlushesAtOnce), 0, partitionsMax},
		{"pipeline_ops", int64(l.PipelineOps), 1, pipelineOpsMax},
		{"ring_ops", int64(l.RingOps), int64(l.PipelineOps), ringOpsMax}, // holds a pipeline at least
		{"ring_bytes", l.RingBytes, wire.FrameBytesMax, 1 << 40},
		{"repair_chunk_ops", int64(l.RepairChunkOps), 1, 4096},
		{"repair_chunk_bytes", l.RepairChunkBytes, 1 << 12, 64 << 20},
		{"batch_bytes", int64(l.BatchBytes), 1 << 10, wire.BodyBytesMax},
		{"batch_messages", int64(l.BatchMessages), 1, wire.MessagesMax},
		{"client_connections", int64(l.ClientConnections), 1, clientsMax},
		{"pool_buffers", int64(l.PoolBuffers), 0, poolBuffersLimit},
		{"transfer_bytes_per_s_max", l.TransferBytesPerSMax, 0, 1 << 40},
		{"retention_bytes", l.RetentionBytes, 0, 1 << 50},
	} {
		if n.value < n.atLeast || n.value > n.max {
			return refuse("limits."+n.field, "must be from %d to %d, not %d", n.atLeast, n.max, n.value)
		}
	}
	if b := l.TransferBytesPerSMax; b > 0 && b < peer.BulkBytesPerSecondMin { // a crawling transfer never ends, and holds the log of who serves it
		return refuse("limits.transfer_bytes_per_s_max", "must be 0 for no limit, or at least %d, not %d", peer.BulkBytesPerSecondMin, b)
	}
	return l.validateTimes()
}

func (l *Limits) validateTimes() error {
	for _, d := range []struct {
		field        string
		value        time.Duration
		atLeast, max time.Duration
	}{
		{"tick", l.Tick, time.Millisecond, time.Second},
		{"heartbeat", l.Heartbeat, l.Tick, 10 * time.Second},
		{"suspect", l.Suspect, 2 * l.Heartbeat, time.Minute},
		{"suspect_max", l.SuspectMax, l.Suspect, 10 * time.Minute},
		{"append_hold", l.AppendHold, l.Tick, time.Minute},
	} {
		if d.value < d.atLeast || d.value > d.max {
			return refuse("limits."+d.field, "must be from %v to %v, not %v", d.atLeast, d.max, d.value)
		}
	}
	return nil
}
