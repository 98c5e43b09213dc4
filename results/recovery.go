package results

import "time"

// Recovery is one kill and the way back as a timeline. Every time is in ms since the kill; null says that it did not happen or that this
// side cannot know it.
//
// Outside is what the harness saw: signals, wait(2), connecting, polling each 20 ms, and acknowledgements. Server is what the killed node told
// in its events after its restart. Where both have a number, both are shown; the proof names those that differ by more than a tolerance.
type Recovery struct {
	Outside RecoveryTimes `json:"outside"`
	Server  RecoveryTimes `json:"server"`
}

// FullRateWindow is the time in which the load has to be served before a rate is called full; after a kill with less of the load left nothing can be.
const FullRateWindow = time.Second

// RecoveryTimes are the points of a recovery. Behind each stands what it is, outside / server ("–": that side has none).
type RecoveryTimes struct {
	ExitSeen    *float64 `json:"exit_seen_ms"`    // wait(2) returned / –
	Started     *float64 `json:"started_ms"`      // the new process was started / its first event (node_start)
	PortOpen    *float64 `json:"port_open_ms"`    // its client port took a connection / –
	FirstAnswer *float64 `json:"first_answer_ms"` // it answered a status poll / –
	RoleKnown   *float64 `json:"role_known_ms"`   // it called itself primary or backup in a poll / its first event of kind role, none if that is about a later view
	FirstAck    *float64 `json:"first_ack_ms"`    // first acknowledgement, of any producer, that the dead process cannot have given / –

	// FullRate is the end of the outage by rate: the first moment after FirstAck, in steps of 10 ms, from which on a whole second
	// (FullRateWindow) brought as many acknowledgements as 95 % of the batches that were due in it, of whatever batches / –
	FullRate *float64 `json:"full_rate_ms"`
	// BacklogDrained is the first moment after FirstAck at which no batch was waiting that had been due before it by more than 100 ms: what
	// the outage had piled up is gone / –
	BacklogDrained *float64 `json:"backlog_drained_ms"`

	// Repairs and transfers of the return, from the first begin to the last end; outside they are seen as what the node says in
	// polls that it fetches, in whatever state, so a repair between two polls (20 ms) leaves none.
	RepairBegin   *float64 `json:"repair_begin_ms"`
	RepairEnd     *float64 `json:"repair_end_ms"`
	RepairBytes   *int64   `json:"repair_bytes"` // – / sum over the repairs
	TransferBegin *float64 `json:"transfer_begin_ms"`
	TransferEnd   *float64 `json:"transfer_end_ms"`
	TransferBytes *int64   `json:"transfer_bytes"` // – / sum over the transfers

	// ReturnedOps is how many ops it had to get back: the highest commit that any node showed at its first answer less the commit that it
	// showed itself / ops of its repairs and transfers.
	ReturnedOps *int64 `json:"returned_ops"`

	// CaughtUp is the first poll in which its commit was at or above the highest that any node had shown 200 ms before / the end of its last
	// repair or transfer before that, or role known if it needed none.
	CaughtUp *float64 `json:"caught_up_ms"`
}

// RecoveryPoint is one row of a recovery as a table.
type RecoveryPoint struct {
	Name            string // as in the JSON, without its unit
	Title           string // for people
	Outside, Server *float64
}

// Points are the times of a recovery in the order in which they usually happen.
func (r Recovery) Points() []RecoveryPoint {
	o, s := r.Outside, r.Server
	return []RecoveryPoint{
		{"exit_seen", "exit seen", o.ExitSeen, s.ExitSeen},
		{"first_ack", "first acknowledgement", o.FirstAck, s.FirstAck},
		{"full_rate", "full rate", o.FullRate, s.FullRate},
		{"backlog_drained", "backlog drained", o.BacklogDrained, s.BacklogDrained},
		{"started", "started", o.Started, s.Started},
		{"port_open", "port open", o.PortOpen, s.PortOpen},
		{"first_answer", "first answer", o.FirstAnswer, s.FirstAnswer},
		{"role_known", "role known", o.RoleKnown, s.RoleKnown},
		{"repair_begin", "repair begins", o.RepairBegin, s.RepairBegin},
		{"repair_end", "repair ends", o.RepairEnd, s.RepairEnd},
		{"transfer_begin", "transfer begins", o.TransferBegin, s.TransferBegin},
		{"transfer_end", "transfer ends", o.TransferEnd, s.TransferEnd},
		{"caught_up", "caught up", o.CaughtUp, s.CaughtUp},
	}
}
