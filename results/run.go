package results

import (
	"encoding/json"
	"fmt"
	"time"
)

// SchemaVersion stands in run.json and summary.json; it rises when a field changes its meaning or leaves.
const SchemaVersion = 1

// RunStatus is how far a run came. A folder whose status is "running" and whose process is gone has crashed.
type RunStatus string

const (
	StatusRunning     RunStatus = "running"
	StatusFinished    RunStatus = "finished"
	StatusInterrupted RunStatus = "interrupted"
	StatusFailed      RunStatus = "failed"
)

// Run is run.json: what was asked, what was found, how far it came.
type Run struct {
	SchemaVersion int       `json:"schema_version"`
	Name          string    `json:"name"`
	Status        RunStatus `json:"status"`
	// Error is the sentence that ended a failed run.
	Error     string     `json:"error,omitempty"`
	StartedAt time.Time  `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at"`
	// StartMonoNs is CLOCK_MONOTONIC at t_ns 0: t_ns = t_mono_ns - start_mono_ns.
	StartMonoNs int64 `json:"start_mono_ns"`
	Pid         int   `json:"pid"`
	Asked       Asked `json:"asked"`
	Found       Found `json:"found"`
	// Limits say in words what even a pass of this run does not prove: what a SIGKILL is not, durability, doubts about machine and build.
	Limits []string `json:"limits"`
}

// Asked is everything that decided the run before it began. `bench run --from` repeats a run from Scenario, Seed and
// Elsewhere.
type Asked struct {
	Target string `json:"target"`
	// Guarantee says in words what an acknowledgement of this target means.
	Guarantee    string `json:"guarantee"`
	ScenarioName string `json:"scenario_name"`
	// Scenario holds the effective values, every default included, in the scenario's own schema.
	Scenario json.RawMessage `json:"scenario"`
	// Settings are the target's effective settings (segment size, ring, suspect time, …).
	Settings json.RawMessage `json:"settings,omitempty"`
	Seed     uint64          `json:"seed"`
	Nodes    int             `json:"nodes"`

	Producers     int     `json:"producers"`
	BatchMessages int     `json:"batch_messages"`
	PayloadBytes  int64   `json:"payload_bytes"`
	MessagesPerS  float64 `json:"messages_per_s"`
	BatchesPerS   float64 `json:"batches_per_s"`
	WarmupNs      int64   `json:"warmup_ns"`
	LoadNs        int64   `json:"load_ns"`
	QuietNs       int64   `json:"quiet_ns"`
	BatchBudgetNs int64   `json:"batch_budget_ns"`

	Faults []AskedFault `json:"faults"`
	// Elsewhere are the nodes that the run was told of; null where it started them itself.
	Elsewhere *Elsewhere `json:"elsewhere,omitempty"`
	// Programs are those of other systems that the run was told of; null where none was named.
	Programs *Programs `json:"programs,omitempty"`
	// Profiling says which profilers ran and at which rates.
	Profiling Profiling `json:"profiling"`
	// Arguments is the command line, without its secrets: those never come by flag.
	Arguments []string `json:"arguments,omitempty"`
}

// ClosedLoop says that there was no timetable: each producer sent at the answer to the batch before. BatchesPerS is 0 then.
func (a Asked) ClosedLoop() bool { return a.Producers > 0 && a.BatchesPerS == 0 }

// Elsewhere is where nodes are that the harness does not start by itself, and by which commands it starts and kills them, as they were given.
type Elsewhere struct {
	Addresses      []string `json:"addresses"`          // of clients, by node
	Monitors       []string `json:"monitors,omitempty"` // of HTTP monitoring, by node
	StartCommand   string   `json:"start_command"`
	KillCommand    string   `json:"kill_command"`
	RestartCommand string   `json:"restart_command"`  // empty: the start command
	CommandLimitNs int64    `json:"command_limit_ns"` // how long each may take
}

// Programs are paths of other systems' programs, each empty where none was named.
type Programs struct {
	NatsServer string `json:"nats_server,omitempty"`
	KafkaHome  string `json:"kafka_home,omitempty"`
}

// AskedFault is one entry of the fault schedule.
type AskedFault struct {
	AtNs int64  `json:"at_ns"`
	Kind string `json:"kind"` // kill, pause, down
	// Node is a node's name, or a role ("primary", "backup") that is resolved when the time comes.
	Node string `json:"node"`
	// DownNs is null for a fault that lasts to the end.
	DownNs *int64 `json:"down_ns"`
}

// WriteRun writes run.json atomically, stamping schema version and name.
func (f Folder) WriteRun(r Run) error {
	r.SchemaVersion = SchemaVersion
	r.Name = f.Name()
	if r.Asked.Faults == nil {
		r.Asked.Faults = []AskedFault{} // an empty list is a fact, null is not
	}
	return WriteJSON(f.RunFile(), r)
}

// ReadRun reads run.json.
func (f Folder) ReadRun() (Run, error) {
	var r Run
	if err := readJSON(f.RunFile(), &r); err != nil {
		return Run{}, err
	}
	if r.SchemaVersion != SchemaVersion {
		return Run{}, fmt.Errorf("read %s: %w %d, this bench reads %d", f.RunFile(), ErrSchema, r.SchemaVersion, SchemaVersion)
	}
	return r, nil
}
