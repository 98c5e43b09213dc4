package vsr

// Outcome is how one try of a request, or a read that asked for the latest, ended.
type Outcome uint8

// The outcomes. Only OutcomeCommitted carries a header. NotPrimary, Busy, DiskFull and Differs say
// "not appended" of this try; Superseded, Evicted and Unknown leave the request's fate open.
const (
	OutcomeCommitted  Outcome = iota + 1
	OutcomeNotPrimary         // another node is; ask it
	OutcomeBusy               // no primary, pipeline full, or a quorum is only being made: try again
	OutcomeDiskFull           // no quorum has space
	OutcomeDiffers            // the session's last request had this number and another body
	OutcomeSuperseded         // the session has already gone on to a later request
	OutcomeEvicted            // the session is not in the table
	OutcomeUnknown            // nobody can tell any more, and the reply says why: repeat the same request
	OutcomeFenced             // the node takes no part any more
)

// NotAppended tells whether the outcome says that this try left nothing in the log.
func (o Outcome) NotAppended() bool {
	switch o {
	case OutcomeNotPrimary, OutcomeBusy, OutcomeDiskFull, OutcomeDiffers, OutcomeFenced:
		return true
	}
	return false
}
