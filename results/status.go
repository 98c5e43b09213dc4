package results

// Status is one line of status.ndjson: one poll of one node. Pointers are null when the node gave no answer.
type Status struct {
	TNs  int64  `json:"t_ns"`
	Node string `json:"node"`
	// Up says that the node answered this poll.
	Up          bool   `json:"up"`
	Role        string `json:"role,omitempty"`
	View        *int64 `json:"view"`
	HeadOp      *int64 `json:"head"`
	CommitOp    *int64 `json:"commit"`
	KnownCommit *int64 `json:"known_commit"`
	// State is normal, view_change, repairing, transferring, wiped or fenced.
	State string `json:"state,omitempty"`
	// Fetching is repair or transfer while one goes on. State is one word: view_change and wiped hide that a node fetches.
	Fetching string `json:"fetching,omitempty"`
	// Views, heads and commits of each partition, and the partitions that the node leads; only where a topic has several. The fields above are then of
	// all: role is primary where the node leads any and none where it has no role in some, view is that of the first, state the first that is not
	// normal, ops are sums.
	Views     []int64 `json:"views,omitempty"`
	Heads     []int64 `json:"heads,omitempty"`
	Commits   []int64 `json:"commits,omitempty"`
	PrimaryOf []int   `json:"primary_of,omitempty"`
	// RssAnonBytes is sampled once a second, null in the polls between.
	RssAnonBytes *int64 `json:"rss_anon_bytes,omitempty"`
	// Pid, CPUNs comes with it: user and system time of the process since its start.
	Pid   int    `json:"pid,omitempty"`
	CPUNs *int64 `json:"cpu_ns,omitempty"`
}

// Rate is one line of rates.ndjson: what happened within one second of the run.
type Rate struct {
	// TNs is the start of the second.
	TNs int64 `json:"t_ns"`
	// OfferedBatches were due in it, SentBatches put on the wire for the first time, AckedBatches acknowledged, whenever they were due.
	OfferedBatches int64 `json:"offered_batches"`
	SentBatches    int64 `json:"sent_batches"`
	AckedBatches   int64 `json:"acked_batches"`
}

// Machine is one line of machine.ndjson: what the whole machine's CPUs did within one second of the load, as shares of their time.
type Machine struct {
	// TNs is the end of the second.
	TNs int64 `json:"t_ns"`
	// StealShare is what the hypervisor gave to other machines while this one had work; BusyShare is neither idle nor stolen.
	StealShare float64 `json:"steal_share"`
	BusyShare  float64 `json:"busy_share"`
	// DiskFreeBytes is what was left on the file system of the nodes' data: a run that is long enough shows by it what a short one hides, how
	// fast the disk fills and whether retention holds it. Null where it cannot be read.
	DiskFreeBytes *int64 `json:"disk_free_bytes"`
}

// StatusWriter and the others stream their files.
type (
	StatusWriter = LineWriter[Status]
	StatusReader = LineReader[Status]
	RateWriter   = LineWriter[Rate]

	MachineWriter = LineWriter[Machine]
)

// AppendStatus opens status.ndjson for appending, making it if missing. Its lines are gathered: each write beside the load would take a
// hundredth of what the load takes.
func (f Folder) AppendStatus() (*StatusWriter, error) { return openGathered[Status](f.StatusSamples()) }

// OpenStatus opens status.ndjson for streaming: 50 lines a second and node.
func (f Folder) OpenStatus() (*StatusReader, error) { return openReader[Status](f.StatusSamples()) }

// AppendRates opens rates.ndjson for appending, making it if missing.
func (f Folder) AppendRates() (*RateWriter, error) { return openLines[Rate](f.Rates()) }

// ReadRates returns all of rates.ndjson.
func (f Folder) ReadRates() ([]Rate, error) { return readLines[Rate](f.Rates()) }

// AppendMachine opens machine.ndjson for appending, making it if missing.
func (f Folder) AppendMachine() (*MachineWriter, error) { return openLines[Machine](f.Machine()) }

// ReadMachine returns all of machine.ndjson.
func (f Folder) ReadMachine() ([]Machine, error) { return readLines[Machine](f.Machine()) }
