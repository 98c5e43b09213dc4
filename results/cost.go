package results

// Cost is what the nodes and the generator used. A pointer is null where it was not measured: a target without processes of its own, a
// machine that hides it.
type Cost struct {
	// NodesCPUNs is user and system time of all nodes, every process of each, in the measured phase (from the end of the warm-up to load
	// stop). What a process used after its last sample, up to a second, is missing for each kill.
	NodesCPUNs *int64 `json:"nodes_cpu_ns"`
	// DeviceWrittenBytes is what reached the block device under the nodes' data in the measured phase, by whomever it was written: zeros, file
	// system and others than the run included; what is written back later is not. Null where DeviceUnknown says why it cannot be told. (The
	// write_bytes of /proc/PID/io tell a process, but count a whole folio, which can be megabytes, for each write into it.)
	DeviceWrittenBytes *int64 `json:"device_written_bytes"`
	DeviceUnknown      string `json:"device_unknown,omitempty"`
	// AckedMessages were acknowledged in the measured phase, by the time of the acknowledgement: what the two above are divided by.
	AckedMessages int64 `json:"acked_messages"`
	// GeneratorCPUNs is user and system time of the harness over the whole load.
	GeneratorCPUNs *int64 `json:"generator_cpu_ns"`
	// Roles say what a batch cost in each.
	Roles []RoleCost `json:"roles"`
	// Uncounted are the roles that nodes had when the load ended and of which there are no costs, see WhyNoRoleCost.
	Uncounted []string `json:"uncounted_roles,omitempty"`
}

// RoleCost is what one batch cost in a role: primary, backup (one of them) or generator. For nodes it holds for the measured phase, by their
// own counters at its two ends, and only for those that lived all through it. For the generator it holds for the whole load and for all that its
// process does, polls and the pulling of profiles included; only its CPU time is counted. Null is not known.
type RoleCost struct {
	Role    string `json:"role"`
	Nodes   int    `json:"nodes"`
	Batches int64  `json:"batches"` // that these nodes committed, together
	// CPUNsPerBatch is user and system time.
	CPUNsPerBatch *float64 `json:"cpu_ns_per_batch"`
	// BatchesPerSync share one write and fdatasync; SyncsPerBatch is the inverse.
	BatchesPerSync *float64 `json:"batches_per_sync"`
	SyncsPerBatch  *float64 `json:"syncs_per_batch"`
	// CallsPerBatch are reads and writes, of files and sockets, as the kernel counts them: neither syncs nor waits.
	CallsPerBatch *float64 `json:"calls_per_batch"`
	// AllocationsPerBatch and the like are of the Go heap, all that the process does included.
	AllocationsPerBatch    *float64 `json:"allocations_per_batch"`
	AllocatedBytesPerBatch *float64 `json:"allocated_bytes_per_batch"`
	// CopiedBytesPerBatch are those of bodies that were copied in user space after they had been read.
	CopiedBytesPerBatch *float64 `json:"copied_bytes_per_batch"`
	// ZeroedBytesPerBatch were written to segments as zeros, ahead of use: 0 where the segments had been made before.
	ZeroedBytesPerBatch *float64 `json:"zeroed_bytes_per_batch"`
}

// Role of the summary's costs, nil if there is none.
func (c Cost) Role(name string) *RoleCost {
	for i := range c.Roles {
		if c.Roles[i].Role == name {
			return &c.Roles[i]
		}
	}
	return nil
}

// WhyNoRoleCost is why a role of Cost.Uncounted has no costs.
const WhyNoRoleCost = "counters begin anew with each process, and no node of that role lived all through the measured phase"

// usage follows a counter of one node that begins anew with each of its processes.
type usage struct {
	pid       int
	atNs, was int64
	sum       float64
	seen      bool
}

// add takes the counter's value at a time; what lies in [fromNs, toNs) counts. A new process began at 0.
func (u *usage) add(pid int, atNs, value, fromNs, toNs int64) {
	if pid != u.pid {
		if u.pid != 0 && atNs >= fromNs && atNs < toNs {
			u.sum += float64(value)
			u.seen = true
		}
		u.pid, u.atNs, u.was = pid, atNs, value
		return
	}
	if inside := min(atNs, toNs) - max(u.atNs, fromNs); inside > 0 { // spread evenly between two samples
		u.sum += float64(value-u.was) * float64(inside) / float64(atNs-u.atNs)
		u.seen = true
	}
	u.atNs, u.was = atNs, value
}

// CostWatch sums what nodes used in [FromNs, ToNs) from status samples, which come in order of time for each node.
type CostWatch struct {
	FromNs, ToNs int64
	cpu          map[string]*usage
}

// Add takes a sample; those without counters say nothing.
func (w *CostWatch) Add(s Status) {
	if s.CPUNs == nil || s.Pid == 0 {
		return
	}
	if w.cpu == nil {
		w.cpu = map[string]*usage{}
	}
	if w.cpu[s.Node] == nil {
		w.cpu[s.Node] = &usage{}
	}
	w.cpu[s.Node].add(s.Pid, s.TNs, *s.CPUNs, w.FromNs, w.ToNs)
}

// CPUNs is the sum over all nodes; nil if no sample told it.
func (w *CostWatch) CPUNs() *int64 {
	var sum *int64
	for _, u := range w.cpu {
		if u.seen {
			if sum == nil {
				sum = new(int64)
			}
			*sum += int64(u.sum)
		}
	}
	return sum
}
