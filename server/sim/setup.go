package sim

import (
	"fmt"

	"rejoin/server/vsr"
)

const (
	microsecond = int64(1000)
	millisecond = 1000 * microsecond
	second      = 1000 * millisecond

	tickNs = 10 * millisecond
)

// setup is what a run is like, drawn first. Runs differ in kind, not only in detail: most dangers
// are left out of most runs, so that what stays can go far.
type setup struct {
	replicas     int
	synced       bool // durability persisted
	config       vsr.Config
	segmentBytes int64
	checkpoint   int64
	retention    int64 // bytes; 0: for ever
	lease        int64
	recycles     bool   // files of trimmed segments are written over
	chunkOps     uint64 // of a pull; 0: a pipeline
	ringFrames   int    // kept in memory at most; 0: as many as a ring has ops

	clients      int
	thinkNs      int64 // mean pause of a client between its requests
	payloadBytes int64
	messagesMax  int64

	faultNs  int64 // how long faults go on
	loadOn   bool  // load goes on after faults have stopped
	dangers  dangers
	netDelay int64   // mean, of a message
	loss     float64 // of a message
	twice    float64
	late     float64 // comes up to two seconds late, also over another connection
	reorder  float64 // passes others of its lane, or is passed
	slowBulk int64   // ns a KiB on the bulk link
	bound    int     // messages of a lane under way at once; what comes on top is dropped. 0: none

	syncNs   int64   // mean, of a sync
	slowSync float64 // chance that a sync takes a hundred times as long
}

// dangers are the faults that a run may meet, as weights of the choice among them.
type dangers struct {
	meanNs      int64 // between two faults
	kill        int64
	powerCut    int64
	blackout    int64 // power cut of all
	pause       int64
	isolate     int64 // cut one off
	oneWay      int64
	splitTwo    int64
	clog        int64 // a direction holds everything back for a while, and then lets it through
	wipe        int64
	armed       int64   // kill between two effects, or before a disk operation
	full        int64   // a disk without room
	readOnly    int64   // a disk that refuses every change
	syncError   int64   // a sync fails, and its pages are dropped
	rot         int64   // an op on a disk is not what was written any more
	lostSegment int64   // a whole file of ops is gone
	failing     int64   // an operation of a disk fails once
	smallRot    int64   // one of the files beside the segments rots, as far as another tells the same
	depose      int64   // cut off the primary, and kill the next one when the first is back
	asleep      int64   // stop the primary, cut off, until it is replaced; ask it, or let one that has forgotten all meet it
	choke       int64   // cut off the primary with a disk that fills, and fell it when it is back
	belated     int64   // what a deposed primary said comes late
	aimed       float64 // chance to hit the primary
	downMax     int     // replicas down at once
	restartNs   int64   // mean time to the restart

	servers   int // so many times who serves a pull is killed, once servedAt of it has come
	servedAt  float64
	receivers int   // so many times who installs a chain dies before one of the operations of its disk
	deafNs    int64 // a wiped node hears no beats for so long; 0: it does
	gone      int   // replicas that stay dead when everything else heals
	reckless  bool  // rot may take more than the log promises to survive
}

// String tells a person what is peculiar about a run.
func (o *setup) String() string {
	durability := "persisted"
	if !o.synced {
		durability = "replicated"
	}
	return fmt.Sprintf("%d replicas, %s, pipeline %d, ring %d, %d sessions at most, segments of %d bytes, retention %d, recycled: %v, chunks of %d ops, %d clients, faults for %d s, load on afterwards: %v, loss %v, twice %v, late %v, reorder %v, bulk %d us a KiB, at most %d messages under way, dangers %+v",
		o.replicas, durability, o.config.PipelineOps, o.config.RingOps, o.config.SessionsMax, o.segmentBytes, o.retention, o.recycles, o.chunkOps, o.clients,
		o.faultNs/second, o.loadOn, o.loss, o.twice, o.late, o.reorder, o.slowBulk/microsecond, o.bound, o.dangers)
}
