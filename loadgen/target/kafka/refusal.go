package kafka

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rejoin/loadgen"
)

// wasAppended says whether the broker had appended a batch for which it answers with an error: it then
// waited for its followers in vain, or lost the leadership while it waited. Such an answer names where
// the batch stood and where the log begins, any other names neither (-1; kfake has 0 for the first).
func wasAppended(part kmsg.ProduceResponseTopicPartition) bool {
	return part.BaseOffset >= 0 && part.LogStartOffset >= 0
}

// refusal is the end of a try that a broker answered with an error. Whether a batch that was appended
// outlives the error is open.
func refusal(err error, appended bool) loadgen.TryResult {
	result := loadgen.NotAcked(loadgen.TryNotAppended, loadgen.CauseAnswer, err)
	switch {
	case isAny(err, kerr.OutOfOrderSequenceNumber, kerr.InvalidProducerEpoch, kerr.UnknownProducerID, kerr.InvalidProducerIDMapping, kerr.ProducerFenced):
		return forgotten(result)
	case errors.Is(err, kerr.DuplicateSequenceNumber): // it stands in the log, at an offset that is forgotten
		result.Outcome, result.Final = loadgen.TryUnknown, true
	case appended, isAny(err, kerr.RequestTimedOut, kerr.NotEnoughReplicasAfterAppend, kerr.KafkaStorageError, kerr.UnknownServerError, kerr.NetworkException):
		result.Outcome = loadgen.TryUnknown
	default:
		result.Final = !kerr.IsRetriable(err)
	}
	return result
}

// forgotten marks a result after which only a new producer id helps.
func forgotten(result loadgen.TryResult) loadgen.TryResult {
	result.Unregistered, result.Final = true, true
	return result
}

func isAny(err error, these ...error) bool {
	for _, e := range these {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
