package memory

import (
	"errors"
	"fmt"

	"rejoin/loadgen"
)

// Fault is something a log must not do, planted for the time of reading: the log itself stays as it
// is. A verifier that does not name it is broken.
type Fault uint8

// Faults. "The middle" is the record halfway through the log.
const (
	FaultLost       Fault = iota // the middle record is missing, later ones moved down
	FaultDuplicated              // the middle record stands at the end once more
	FaultReordered               // two records of one producer changed places
	FaultGap                     // the middle record's offsets hold nothing
	FaultCorrupted               // one bit of a payload in the middle flipped
	FaultForeign                 // a record at the end that nobody of this run sent
	FaultTruncated               // the last records are missing and the replica says it ends there
	FaultEndedEarly              // the read stops in the middle while the replica says it holds more
	FaultUnreadable              // the read fails in the middle
	FaultDiverged                // same messages, different record bytes, in the middle
	FaultTorn                    // the middle record holds only the first half of its messages
)

func (f Fault) String() string {
	return [...]string{"lost", "duplicated", "reordered", "gap", "corrupted", "foreign", "truncated",
		"ended_early", "unreadable", "diverged", "torn"}[f]
}

// ErrUnreadable is how a read with FaultUnreadable ends.
var ErrUnreadable = errors.New("memory target: planted read error")

// truncatedRecords is how many records FaultTruncated takes from the end.
const truncatedRecords = 3

type planted struct {
	fault   Fault
	replica string // "" is every replica
}

// Plant makes reads of a replica, or of all with "", show a fault.
func (t *Target) Plant(fault Fault, replica string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.planted = append(t.planted, planted{fault, replica})
}

// reading is what a read will show.
type reading struct {
	records []record
	end     loadgen.ReadEnd
	stopAt  int // index at which the read ends with err; -1 never
	err     error
}

// misread applies the planted faults of a replica to a copy of the log's index.
func (t *Target) misread(replica string, records []record, end uint64) reading {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := reading{records: records, end: loadgen.ReadEnd{EndOffset: end}, stopAt: -1}
	for _, p := range t.planted {
		if p.replica == "" || p.replica == replica {
			r.plant(p.fault)
		}
	}
	return r
}

func (r *reading) plant(fault Fault) {
	if len(r.records) <= truncatedRecords {
		panic(fmt.Sprintf("memory target: %d records are too few to plant %v", len(r.records), fault))
	}
	middle := len(r.records) / 2
	victim := &r.records[middle]
	switch fault {
	case FaultLost:
		r.lose(middle)
	case FaultDuplicated:
		r.add(victim.messages)
	case FaultReordered:
		r.swap(middle)
	case FaultGap:
		r.records = append(r.records[:middle], r.records[middle+1:]...)
	case FaultCorrupted:
		messages := copyMessages(victim.messages)
		m := messages[len(messages)/2]
		m[len(m)/2] ^= 1
		r.replace(middle, messages)
	case FaultForeign:
		r.add([][]byte{[]byte("nobody of this run sent these words to the log, yet here they are")})
	case FaultTruncated:
		r.records = r.records[:len(r.records)-truncatedRecords]
		last := r.records[len(r.records)-1]
		r.end.EndOffset = last.base + uint64(len(last.messages))
	case FaultEndedEarly:
		r.stopAt = middle
	case FaultUnreadable:
		r.stopAt, r.err = middle, ErrUnreadable
	case FaultDiverged:
		victim.identity++
	case FaultTorn:
		r.replace(middle, victim.messages[:len(victim.messages)/2])
	}
}

// lose removes a record and moves the later ones down.
func (r *reading) lose(at int) {
	size := uint64(len(r.records[at].messages))
	r.records = append(r.records[:at], r.records[at+1:]...)
	for i := at; i < len(r.records); i++ {
		r.records[i].base -= size
		r.replace(i, r.records[i].messages)
	}
	r.end.EndOffset -= size
}

// add puts a record at the end.
func (r *reading) add(messages [][]byte) {
	r.records = append(r.records, record{base: r.end.EndOffset})
	r.replace(len(r.records)-1, messages)
	r.end.EndOffset += uint64(len(messages))
}

// swap exchanges the messages of a record with those of the next one that the same producer sent,
// which is told by the common bytes of their first messages.
func (r *reading) swap(at int) {
	other := r.sameProducer(at)
	a, b := r.records[at].messages, r.records[other].messages
	r.replace(at, b)
	r.replace(other, a)
}

func (r *reading) sameProducer(at int) int {
	producer := loadgen.ProducerOf(r.records[at].messages[0])
	for i := at + 1; i < len(r.records); i++ {
		if loadgen.ProducerOf(r.records[i].messages[0]) == producer {
			return i
		}
	}
	panic("memory target: no later record of that producer to change places with")
}

// replace gives a record other messages, at its offset, with the identity that belongs to them.
func (r *reading) replace(at int, messages [][]byte) {
	base := r.records[at].base
	r.records[at] = record{base: base, identity: identityOf(base, digestOf(messages)), messages: messages}
}
