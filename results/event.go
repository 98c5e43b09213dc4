package results

// Kind names what happened. Readers pass kinds they do not know through.
type Kind string

// Kinds the harness writes (source "harness"; node says whom it is about).
const (
	KindRunStart    Kind = "run_start"
	KindWarmupEnd   Kind = "warmup_end"
	KindLoadStart   Kind = "load_start"
	KindLoadStop    Kind = "load_stop"
	KindQuietEnd    Kind = "quiet_end"
	KindKill        Kind = "kill" // signal sent, which one says signal; role is the one at that moment
	KindExit        Kind = "exit" // wait(2) returned; wait_status says how it ended
	KindRestart     Kind = "restart"
	KindPortOpen    Kind = "port_open"
	KindFirstAnswer Kind = "first_answer"
	KindRoleKnown   Kind = "role_known"
	KindFirstAck    Kind = "first_ack" // first acknowledgement after the kill, or the pause (signal SIGSTOP), named by node
	KindCaughtUp    Kind = "caught_up"
	KindPause       Kind = "pause"  // SIGSTOP
	KindResume      Kind = "resume" // SIGCONT
	KindWipe        Kind = "wipe"   // the data directory of a node that is gone was removed
	KindVerifyBegin Kind = "verify_begin"
	KindVerifyEnd   Kind = "verify_end"
	KindRunEnd      Kind = "run_end"

	// KindCommand is the end of a command of the user's that starts, kills or restarts a node elsewhere; reason says which, wait_status how it ended.
	KindCommand Kind = "command"

	// KindProfileWindow is the end of a window in which node was profiled; reason is the kind of profile, role the node's.
	KindProfileWindow Kind = "profile_window"
	// KindProfileLost is the end of a time of which there is no profile although one was being taken; reason says why.
	KindProfileLost Kind = "profile_lost"
	// KindFlight is a snapshot of a node's flight recorder; reason says what it was taken for, detail names the file.
	KindFlight Kind = "flight"
)

// Neutral kinds, written by adapters on behalf of nodes (source n0, n1, …).
const (
	KindNodeStart        Kind = "node_start" // the process runs
	KindRole             Kind = "role"       // it has become primary or backup, or is neither any more; detail says which
	KindViewChangeBegin  Kind = "view_change_begin"
	KindViewChangeEnd    Kind = "view_change_end"
	KindRepairBegin      Kind = "repair_begin"
	KindRepairProgress   Kind = "repair_progress"
	KindRepairEnd        Kind = "repair_end"
	KindTransferBegin    Kind = "transfer_begin"
	KindTransferProgress Kind = "transfer_progress"
	KindTransferEnd      Kind = "transfer_end"
	KindRecovery         Kind = "recovery"
	KindFenced           Kind = "fenced"
	KindWiped            Kind = "wiped"
	KindGC               Kind = "gc"      // rounds collections; the longest stopped the process for duration_ns and ended at t_ns; harness too
	KindDropped          Kind = "dropped" // events lost by a bounded queue; rounds says how many
)

// SourceHarness is the source of the harness's own events.
const SourceHarness = "harness"

// SignalStop is the signal of a pause, and of the first acknowledgement after one.
const SignalStop = "SIGSTOP"

// Roles of a node.
const (
	RolePrimary = "primary"
	RoleBackup  = "backup"
	RoleUnknown = "unknown"
)

// Event is one line of events.ndjson. Pointers are facts that an event may lack; zero is a value.
type Event struct {
	// TNs is since run start; negative for what a node did before it.
	TNs int64 `json:"t_ns"`
	// TMonoNs is the raw CLOCK_MONOTONIC.
	TMonoNs int64  `json:"t_mono_ns"`
	Source  string `json:"source"`
	Kind    Kind   `json:"kind"`

	Node      string `json:"node,omitempty"`
	Role      string `json:"role,omitempty"`
	Topic     string `json:"topic,omitempty"`
	Partition *int64 `json:"partition,omitempty"`
	View      *int64 `json:"view,omitempty"`
	// OpFrom and OpTo are the first and the last op of a range, both inside it.
	OpFrom *int64 `json:"op_from,omitempty"`
	OpTo   *int64 `json:"op_to,omitempty"`
	Bytes  *int64 `json:"bytes,omitempty"`
	Peer   string `json:"peer,omitempty"`
	Rounds *int64 `json:"rounds,omitempty"`
	// DurationNs of an end event counts from its begin.
	DurationNs *int64 `json:"duration_ns,omitempty"`
	// SilentNs of a first_ack counts from the acknowledgement before it.
	SilentNs *int64 `json:"silent_ns,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Signal   string `json:"signal,omitempty"`
	// WaitStatus is the raw status of wait(2); Signal names what it says.
	WaitStatus *int64 `json:"wait_status,omitempty"`
	Pid        int    `json:"pid,omitempty"`
	Detail     string `json:"detail,omitempty"`
}

// Of is the node the event is about: Node if given, otherwise the source.
func (e Event) Of() string {
	if e.Node != "" {
		return e.Node
	}
	return e.Source
}

// EventWriter and EventReader stream events.ndjson.
type (
	EventWriter = LineWriter[Event]
	EventReader = LineReader[Event]
)

// AppendEvents opens events.ndjson for appending, making it if missing.
func (f Folder) AppendEvents() (*EventWriter, error) { return openLines[Event](f.Events()) }

// OpenEvents opens events.ndjson for streaming; lines stand in order of writing, which is not quite that of t_ns.
func (f Folder) OpenEvents() (*EventReader, error) { return openReader[Event](f.Events()) }

// ReadEvents returns all events; values come even beside an error about damaged lines.
func (f Folder) ReadEvents() ([]Event, error) { return readLines[Event](f.Events()) }
