package sim

import (
	"fmt"

	"rejoin/server/vsr"
	"rejoin/server/wire"
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
	chunkOps     uint64 // of a pull; 0: a pipeline

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
	late     float64 // reordered: comes up to two seconds late, also over another connection
	slowBulk int64   // ns a KiB on the bulk link

	syncNs   int64   // mean, of a sync
	slowSync float64 // chance that a sync takes a hundred times as long
}

// dangers are the faults that a run may meet, as weights of the choice among them.
type dangers struct {
	meanNs    int64 // between two faults
	kill      int64
	powerCut  int64
	blackout  int64 // power cut of all
	pause     int64
	isolate   int64 // cut one off
	oneWay    int64
	splitTwo  int64
	wipe      int64
	armed     int64   // kill between two effects, or before a disk operation
	full      int64   // a disk without room
	syncError int64   // a sync fails, and its pages are dropped
	rot       int64   // a bit flips in a segment file
	depose    int64   // cut off the primary, and kill the next one when the first is back
	aimed     float64 // chance to hit the primary
	downMax   int     // replicas down at once
	restartNs int64   // mean time to the restart
}

// draw makes the setup of a seed.
func draw(seed uint64) setup {
	s := newStream(seed, "setup")
	o := setup{replicas: pick(s, 3, 3, 3, 3, 3, 3, 5, 5, 1), synced: s.chance(0.8), config: vsr.Default()}
	c := &o.config
	c.Replicas, c.SyncRequired = o.replicas, o.synced
	c.Group, c.Cluster, c.Seal = 0, 0x5e1f, wire.Seal
	c.RootSum = wire.RootSum(c.Cluster, c.Group)
	c.PipelineOps = pick(s, uint64(2), 4, 8, 16, 64)
	c.RingOps = c.PipelineOps * pick(s, uint64(1), 2, 4)
	c.SessionsMax = pick(s, 3, 8, 64, 64)
	c.WaitingMax = pick(s, 2, 64)
	c.SuspectTicks = pick(s, uint64(20), 50, 50)
	c.SuspectTicksMax = 4 * c.SuspectTicks
	c.StallTicks = pick(s, uint64(20), 100)
	c.HoldTicks = pick(s, uint64(10), 100)
	c.UnfitTicks = pick(s, uint64(100), 1000)

	o.segmentBytes = pick(s, int64(1<<10), 4<<10, 16<<10, 64<<10)
	o.checkpoint = pick(s, int64(1), 1<<10, 16<<10, 1<<30)
	if s.chance(0.4) {
		o.retention, o.lease = o.segmentBytes*s.between(1, 4), o.segmentBytes*s.between(1, 8)
		o.checkpoint = min(o.checkpoint, o.segmentBytes)
	}
	o.clients = int(s.between(1, 8))
	o.thinkNs = pick(s, 4*millisecond, 10*millisecond, 40*millisecond) * int64(o.clients)
	o.payloadBytes = pick(s, int64(8), 64, 600)
	o.messagesMax = s.between(1, 4)

	o.faultNs = s.between(2, 6) * second
	o.loadOn = s.chance(0.5)
	o.netDelay = pick(s, 50*microsecond, 200*microsecond, 2*millisecond)
	if s.chance(0.5) {
		o.loss = pick(s, 0.001, 0.01, 0.05, 0.2)
	}
	if s.chance(0.4) {
		o.twice = pick(s, 0.01, 0.1)
	}
	if s.chance(0.4) {
		o.late = pick(s, 0.001, 0.01, 0.1)
	}
	o.slowBulk = pick(s, int64(0), 20*microsecond, millisecond)
	o.syncNs = pick(s, 100*microsecond, 2*millisecond, 2*millisecond, 10*millisecond)
	o.slowSync = pick(s, 0, 0, 0.01, 0.1)
	o.dangers = drawDangers(s, o.replicas)
	if !o.synced { // rot below what is written and not synced hides that it was there: a known limit
		o.dangers.rot = 0
	}
	if !o.synced && o.replicas == 1 { // what is not synced would be lost, as was asked for
		o.dangers.syncError = 0
	}
	return o
}

func drawDangers(s stream, replicas int) dangers {
	some := func(p float64) int64 {
		if s.chance(p) {
			return s.between(1, 4)
		}
		return 0
	}
	d := dangers{meanNs: pick(s, 100*millisecond, 400*millisecond, 800*millisecond), kill: some(0.7), powerCut: some(0.5), blackout: some(0.2),
		pause: some(0.4), isolate: some(0.4), oneWay: some(0.3), splitTwo: some(0.3), wipe: some(0.25), armed: some(0.5), full: some(0.2), syncError: some(0.2),
		aimed: pick(s, 0, 0.3, 0.8), downMax: (replicas - 1) / 2, restartNs: pick(s, 50*millisecond, 500*millisecond, 2*second)}
	if s.chance(0.25) {
		d.downMax = replicas
	}
	if replicas > 1 && s.chance(0.15) { // what is lost to rot and to a power cut, or a wipe, at once, is more than a minority's
		d.rot, d.wipe, d.powerCut, d.blackout = s.between(1, 4), 0, 0, 0
	}
	d.downMax = max(d.downMax, 1)
	d.depose = some(0.3)
	return d
}

// String tells a person what is peculiar about a run.
func (o *setup) String() string {
	durability := "persisted"
	if !o.synced {
		durability = "replicated"
	}
	return fmt.Sprintf("%d replicas, %s, pipeline %d, ring %d, %d sessions at most, segments of %d bytes, retention %d, %d clients, faults for %d s, load on afterwards: %v, loss %v, twice %v, late %v, dangers %+v",
		o.replicas, durability, o.config.PipelineOps, o.config.RingOps, o.config.SessionsMax, o.segmentBytes, o.retention, o.clients,
		o.faultNs/second, o.loadOn, o.loss, o.twice, o.late, o.dangers)
}
