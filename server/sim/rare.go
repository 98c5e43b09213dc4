package sim

import (
	"rejoin/server/partition"
	"rejoin/server/vsr"
)

// rare strikes where chance alone would seldom meet: at a given part of a pull, within the install of
// a chain. It only does so as long as faults happen.
type rare struct {
	rng                stream
	servers, receivers int                        // left
	asked              [vsr.ReplicasMax][2]uint64 // by receiver: the range of the pull that runs
}

func (x *nemesis) initRare() {
	d := &x.w.setup.dangers
	x.rare = rare{rng: newStream(x.w.seed, "rare strikes"), servers: d.servers, receivers: d.receivers}
}

// pulls takes note of a request, to know later how much of it has come.
func (x *nemesis) pulls(m *vsr.Message) {
	if asked := &x.rare.asked[m.From]; m.Bulk && asked[1] != m.ToOp {
		*asked = [2]uint64{m.FromOp, m.ToOp}
	}
}

// pulled kills who serves a pull once so much of it has come.
func (x *nemesis) pulled(m *vsr.Message) {
	asked, d := x.rare.asked[m.To], &x.w.setup.dangers
	if x.rare.servers == 0 || !x.w.faulty || m.Header.Op < asked[0] || asked[1] <= asked[0] {
		return
	}
	if part := float64(m.Header.Op-asked[0]) / float64(asked[1]-asked[0]); part < d.servedAt || part > d.servedAt+0.3 {
		return
	}
	n := x.w.nodes[m.From]
	if !n.life.alive() || x.down() >= d.downMax {
		return
	}
	x.rare.servers--
	x.w.after(0, func() {
		if x.w.faulty && n.life.alive() {
			x.w.cover.ServersKilled++
			n.end(killed)
			x.restartLater(n)
		}
	})
}

// installs lets a process die before one of the next operations of its disk: those of the install of a
// chain that has been queued, or of what the new life does about it.
func (x *nemesis) installs(p *process, j *partition.Job) {
	if j.Kind != partition.JobInstall || x.rare.receivers == 0 || !x.w.faulty || p.opsLeft != unlimited || x.down() >= x.w.setup.dangers.downMax {
		return
	}
	if x.rare.rng.chance(0.5) { // it may fall while the old files go
		return
	}
	x.rare.receivers--
	x.w.cover.ReceiversKilled++
	p.how = killed
	if x.w.setup.synced && x.rare.rng.chance(0.5) {
		p.how = powered
	}
	p.opsLeft = int(x.rare.rng.between(0, 30))
	x.restartWhenDead(p.n)
}

// down counts nodes whose process does not run.
func (x *nemesis) down() int {
	n := 0
	for _, o := range x.w.nodes {
		if !o.life.alive() {
			n++
		}
	}
	return n
}

// bury lets some replicas stay dead for good, as far as that is survivable.
func (x *nemesis) bury() {
	for range x.w.setup.dangers.gone {
		n := x.w.nodes[x.rare.rng.IntN(x.w.setup.replicas)]
		if n.gone || !x.mayLose(n) {
			continue
		}
		n.gone = true
		x.w.note(n.id, "is gone for good", "")
		x.w.cover.Gone++
		n.end(killed)
	}
}
