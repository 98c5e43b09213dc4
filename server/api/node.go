package api

import (
	"fmt"
	"io"
	"time"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// Node is what the client plane and the admin plane need of a node. All methods are safe for
// concurrent use, cheap, and never wait for a partition's work.
type Node interface {
	// Cluster is what this node knows of itself and the others.
	Cluster() ClusterStatus

	// Topics lists the topics of the cluster file.
	Topics() []TopicStatus

	// Partition finds a partition of the cluster file, from the moment the node listens: a node
	// that is starting must not say of a topic that it does not exist. The name is lent for the call.
	Partition(topic []byte, partition int) (Partition, bool)

	// Health is judged from progress.
	Health() Health
}

// Partition is one partition of this node.
type Partition interface {
	// Append blocks until the batch is committed or refused. It takes over one reference of frame,
	// held by wire.OwnerPartition, whatever the outcome. frame.Header is the client's header, and
	// header and body have been checked by wire.CheckRequest. It must return within seconds: a
	// parked request is answered "unknown" when primacy ends or the node stops.
	Append(frame *wire.Buffer) Result

	// Register opens a session and blocks like Append. The session is Result.Header.Op.
	Register(client vsr.Client) Result

	// Barrier blocks until a read here sees everything that had been acknowledged when it was
	// called. OutcomeCommitted: read now; the header means nothing.
	Barrier(deadline time.Time) Result

	// Status is a cheap snapshot.
	Status() Status

	// Read finds committed whole frames from the first batch that ends above offset, up to maxBytes,
	// but at least one frame. At the end of the log it waits for more, up to wait, and then returns
	// a Span of no bytes. Its error is ErrBelowEarliest, or says why the frames cannot be read here.
	Read(offset uint64, maxBytes int64, wait time.Duration) (Span, error)
}

// Result is how a request ended.
type Result struct {
	Outcome    vsr.Outcome
	Header     vsr.Header    // stamped; of OutcomeCommitted only
	Primary    string        // client address of the primary as far as known, else empty
	View       uint64        // the view that Primary is of
	RetryAfter time.Duration // when to try again; 0: the plane's default
	Progress   string        // what is being waited for, or why nothing is known, in words; may be empty
}

// Role is what a replica is in its view.
type Role string

// The roles.
const (
	RolePrimary Role = "primary"
	RoleBackup  Role = "backup"
	RoleNone    Role = "none" // in no started view, or StateUnknown
)

// State is what a replica is busy with, as in the Rejoin-State header.
type State string

// The states.
const (
	StateNormal       State = "normal"
	StateViewChange   State = "view_change"
	StateRepairing    State = "repairing"
	StateTransferring State = "transferring"
	StateWiped        State = "wiped"
	StateFenced       State = "fenced"  // takes no part any more; /health says why
	StateUnknown      State = "unknown" // of another node that this one does not hear, as a backup hears no other backup
)

// Status is a snapshot of one replica. Offsets are of messages and exclusive: the next one.
type Status struct {
	Topic     string `json:"topic"`
	Partition int    `json:"partition"`
	Role      Role   `json:"role"`
	State     State  `json:"state"`
	Fetching  string `json:"fetching"` // repair or transfer while one goes on, in whatever state; else empty
	View      uint64 `json:"view"`
	LogView   uint64 `json:"log_view"`

	Head        uint64 `json:"head"`         // op up to which everything is held
	Commit      uint64 `json:"commit"`       // op, here
	KnownCommit uint64 `json:"known_commit"` // op, the highest heard; never below Commit

	CommitOffset      uint64 `json:"commit_offset"`
	KnownCommitOffset uint64 `json:"known_commit_offset"`
	EarliestOffset    uint64 `json:"earliest_offset"`

	Primary        string `json:"primary"`          // client address; empty: unknown
	Progress       string `json:"progress"`         // in words: "repairing 17..40 from n1"; empty when idle
	LastProgressNs int64  `json:"last_progress_ns"` // raw CLOCK_MONOTONIC of the last rise of head, commit, view or log_view
}

// ClusterStatus is the answer of GET /v1/cluster.
type ClusterStatus struct {
	Cluster string       `json:"cluster"` // name
	Node    int          `json:"node"`    // who answers
	TMonoNs int64        `json:"t_mono_ns"`
	Nodes   []NodeStatus `json:"nodes"`
}

// NodeStatus is one node as the answering one knows it: exactly for itself, from messages for others.
type NodeStatus struct {
	Node       int      `json:"node"`
	Client     string   `json:"client"`    // dial address of its client plane
	Connected  bool     `json:"connected"` // the answering node itself: true
	Partitions []Status `json:"partitions"`
}

// TopicStatus is one topic of GET /v1/topics.
type TopicStatus struct {
	Name       string `json:"name"`
	Partitions int    `json:"partitions"`
	Durability string `json:"durability"`
}

// Health is the answer of GET /health.
type Health struct {
	OK      bool     `json:"ok"`
	Reasons []string `json:"reasons"` // why not; also what is worth knowing when ok
}

// Span is a run of whole frames in a file. Release must be called once, after the last use of
// Source; nil is allowed.
type Span struct {
	// Source holds the bytes. When it is an *os.File it is this request's own: the plane moves its
	// position and sends from it by sendfile. Anything else is read and written.
	Source     io.ReaderAt
	Offset     int64
	Bytes      int64
	NextOffset uint64 // of the first message behind it; 0: not known
	Release    func()
}

// ErrBelowEarliest says that a read asked for what is no longer kept here.
type ErrBelowEarliest struct{ Earliest uint64 }

func (e ErrBelowEarliest) Error() string {
	return fmt.Sprintf("the log begins at offset %d here", e.Earliest)
}
