package sim

import (
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// draw makes the setup of a seed. Each concern has a stream of its own, so that a choice that is added
// to one does not shift the others.
func draw(seed uint64) setup {
	var o setup
	o.drawCluster(newStream(seed, "cluster"))
	o.drawLimits(newStream(seed, "limits"))
	o.drawRing(newStream(seed, "ring"))
	o.drawLog(newStream(seed, "log"))
	o.recycles = newStream(seed, "recycled").chance(0.7)
	o.drawLoad(newStream(seed, "load"))
	o.drawNetwork(newStream(seed, "links"))
	o.drawDisk(newStream(seed, "disks"))
	o.dangers.draw(seed, o.replicas)
	o.dangers.drawRare(newStream(seed, "rare"), o.replicas)
	o.drawInstalls(newStream(seed, "installs"))
	o.harmonize()
	return o
}

func (o *setup) drawCluster(s stream) {
	o.replicas, o.synced = pick(s, 3, 3, 3, 3, 3, 3, 5, 5, 1), s.chance(0.8)
	o.config = vsr.Default()
	c := &o.config
	c.Replicas, c.SyncRequired = o.replicas, o.synced
	c.Group, c.Cluster, c.Seal = 0, 0x5e1f, wire.Seal
	c.RootSum = wire.RootSum(c.Cluster, c.Group)
}

func (o *setup) drawLimits(s stream) {
	c := &o.config
	c.PipelineOps = pick(s, uint64(2), 4, 8, 16, 64)
	c.RingOps = c.PipelineOps * pick(s, uint64(1), 2, 4)
	c.SessionsMax = pick(s, 3, 8, 64, 64)
	c.WaitingMax = pick(s, 2, 64)
	c.SuspectTicks = pick(s, uint64(20), 50, 50)
	c.SuspectTicksMax = 4 * c.SuspectTicks
	c.StallTicks = pick(s, uint64(20), 100)
	c.HoldTicks = pick(s, uint64(10), 100)
	c.UnfitTicks = pick(s, uint64(100), 1000)
	o.chunkOps = uint64(s.between(1, int64(c.PipelineOps)))
}

// drawRing draws what a ring keeps: on a node with many partitions or large frames less than what is uncommitted.
func (o *setup) drawRing(s stream) {
	o.ringFrames = pick(s, 0, 0, 1, int(o.config.PipelineOps)/2)
}

func (o *setup) drawLog(s stream) {
	o.segmentBytes = pick(s, int64(1<<10), 4<<10, 16<<10, 64<<10)
	o.checkpoint = pick(s, int64(1), 1<<10, 16<<10, 1<<30)
	if s.chance(0.4) {
		o.retention, o.lease = o.segmentBytes*s.between(1, 4), o.segmentBytes*s.between(1, 8)
		o.checkpoint = min(o.checkpoint, o.segmentBytes)
	}
}

func (o *setup) drawLoad(s stream) {
	o.clients = int(s.between(1, 8))
	o.thinkNs = pick(s, 4*millisecond, 10*millisecond, 40*millisecond) * int64(o.clients)
	o.payloadBytes = pick(s, int64(8), 64, 600)
	o.messagesMax = s.between(1, 4)
	o.faultNs = s.between(2, 6) * second
	o.loadOn = s.chance(0.5)
}

func (o *setup) drawNetwork(s stream) {
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
	if s.chance(0.3) {
		o.reorder = pick(s, 0.01, 0.1, 0.5)
	}
	o.slowBulk = pick(s, int64(0), 20*microsecond, millisecond)
	if s.chance(0.2) {
		o.bound = pick(s, 4, 16, 64)
	}
}

func (o *setup) drawDisk(s stream) {
	o.syncNs = pick(s, 100*microsecond, 2*millisecond, 2*millisecond, 10*millisecond)
	o.slowSync = pick(s, 0, 0, 0.01, 0.1)
}

// draw says which faults there are, each by a stream of its own. Most are left out of most runs, so that
// what stays can go far.
func (d *dangers) draw(seed uint64, replicas int) {
	some := func(name string, p float64) int64 {
		if s := newStream(seed, "danger "+name); s.chance(p) {
			return s.between(1, 4)
		}
		return 0
	}
	s := newStream(seed, "dangers")
	d.meanNs = pick(s, 100*millisecond, 400*millisecond, 800*millisecond)
	d.restartNs = pick(s, 50*millisecond, 500*millisecond, 2*second)
	d.aimed = pick(s, 0, 0.3, 0.8)
	d.downMax = max((replicas-1)/2, 1)
	if s.chance(0.25) {
		d.downMax = replicas
	}
	d.kill, d.powerCut, d.blackout = some("kill", 0.7), some("power cut", 0.5), some("blackout", 0.2)
	d.pause, d.armed, d.wipe = some("pause", 0.4), some("armed", 0.5), some("wipe", 0.25)
	d.isolate, d.oneWay, d.splitTwo = some("isolate", 0.4), some("one way", 0.3), some("split", 0.3)
	d.clog, d.depose = some("clog", 0.25), some("depose", 0.3)
	d.full, d.readOnly, d.syncError, d.rot = some("full", 0.2), some("read only", 0.1), some("sync error", 0.2), some("rot", 0.3)
	d.asleep, d.choke, d.belated = some("asleep", 0.3), some("choke", 0.25), some("belated", 0.25)
	d.failing, d.smallRot, d.lostSegment = some("failing", 0.3), some("small rot", 0.4), 2*some("lost segment", 1)
}

// drawRare lets paths be taken that chance alone would seldom find.
func (d *dangers) drawRare(s stream, replicas int) {
	if s.chance(0.25) {
		d.servers, d.servedAt = int(s.between(1, 4)), pick(s, 0.01, 0.5, 0.99)
	}
	if s.chance(0.25) {
		d.receivers = int(s.between(1, 6))
	}
	if s.chance(0.3) {
		d.deafNs = s.between(1, 6) * second
	}
	if replicas > 1 && s.chance(0.2) {
		d.gone = int(s.between(1, int64(replicas-1)/2))
	}
	d.reckless = s.chance(0.1)
}

// drawInstalls lets most runs with retention have what an install needs: logs that are soon trimmed, and
// replicas that come back empty. In most of these who installs a chain dies over it.
func (o *setup) drawInstalls(s stream) {
	if o.retention == 0 || o.replicas == 1 || !s.chance(0.7) {
		return
	}
	segments, leased := o.retention/o.segmentBytes, o.lease/o.segmentBytes
	o.segmentBytes = min(o.segmentBytes, 2<<10)
	o.retention, o.lease = min(segments, 2)*o.segmentBytes, leased*o.segmentBytes
	o.checkpoint = min(o.checkpoint, o.segmentBytes)
	o.dangers.wipe = max(o.dangers.wipe, 3)
	if o.dangers.receivers == 0 && s.chance(0.8) {
		o.dangers.receivers = int(s.between(2, 6))
	}
}

// harmonize leaves out what does not go together.
func (o *setup) harmonize() {
	d := &o.dangers
	if !o.synced { // rot below what is written and not synced hides that it was there: a known limit
		d.rot = 0
	}
	if o.replicas == 1 {
		d.rot = 0
		if !o.synced { // what is not synced would be lost, as was asked for
			d.syncError, d.failing = 0, 0
		}
	}
	if d.rot > 0 { // what tells of an op must not be lost together with it
		d.smallRot = 0
	}
	if d.rot == 0 {
		d.lostSegment = 0
	}
}
