package sim

import (
	"fmt"
	"strings"

	"rejoin/server/journal"
	"rejoin/server/journal/faultfs"
	"rejoin/server/partition"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// node is a place of the cluster: a disk, and the process that lives there at present.
type node struct {
	w    *world
	id   int
	pool *wire.Pool
	fs   *faultfs.FS
	rng  stream // of its disk and of its crashes
	back stream // of its restarts

	life            *process
	lives           int
	boot            uint64  // boot counter, as saved
	sameBoot        bool    // the machine has run since the last life that got to join
	fenced          bool    // its last life stopped itself: the next one may drop what was only written
	mayFail         bool    // an operation of its disk may fail: it may stop itself
	syncsHeld       bool    // a script lets no sync come back
	stalledUntil    int64   // no sync comes back before
	stallUntilHello int     // or before this peer's next life is known; noNode: none
	shaken          bool    // one of its small files has rotted at some time
	rotted          bool    // damage has struck its log at some time
	unmarked        bool    // its mark has rotted, and no start has made another
	gone            bool    // it never comes back
	lost            bool    // the directory was lost: the next life begins wiped
	seen            shadow  // what the checker knows of this replica's log
	table           tableAt // by the rules, as of the op at which this replica last told its own
}

const logDir = "topics/t/0"

func newNode(w *world, id int) *node {
	return &node{w: w, id: id, pool: w.arena.pools[id], fs: faultfs.New(), stallUntilHello: noNode, rng: newStream(w.seed, fmt.Sprintf("node %d", id)),
		back: newStream(w.seed, fmt.Sprintf("restarts %d", id))}
}

// start begins a new life: it recovers the log and then joins the cluster.
func (n *node) start() {
	if n.life.alive() {
		n.w.fail("sim", "replica %d is started twice", n.id)
	}
	n.lives++
	n.boot++
	p := &process{n: n, w: n.w, incarnation: vsr.Incarnation{Boot: n.boot, Nonce: n.rng.Uint64()}, effectsLeft: unlimited, opsLeft: unlimited,
		tries: map[uint64]try{}}
	n.life = p
	n.w.note(n.id, "start", "", n.boot)
	p.boot()
}

// ending is how a life ends.
type ending uint8

const (
	killed  ending = iota // SIGKILL: the page cache survives
	powered               // power cut: what is not synced may be lost
)

// end ends the present life, at whatever it is doing.
func (n *node) end(how ending) {
	p := n.life
	if !p.alive() {
		return
	}
	if !p.ready {
		n.w.cover.CrashesInRecovery++
	}
	if how == powered && !n.mayLosePower() {
		how = killed
	}
	p.die()
	n.sameBoot = how == killed && (n.sameBoot || p.ready)
	if how == killed {
		n.w.cover.Kills++
		n.w.note(n.id, "kill", "")
		n.fs.Kill()
	} else {
		n.w.cover.PowerCuts++
		n.w.note(n.id, "power cut", "")
		if n.w.script != nil { // nothing is left to chance there
			n.fs.CrashHard()
		} else {
			n.fs.Crash(n.rng.Rand)
		}
		n.seen.powerCut(n.w.setup.synced)
	}
	if free := n.pool.Free(); free != n.w.arena.buffers {
		n.w.fail("leak", "%d frame buffers of replica %d are held after its end: %+v %v", n.w.arena.buffers-free, n.id, n.pool.Stats().References, n.pool.Leaks())
	}
	n.w.net.died(n.id, how)
}

// wipe loses the directory of a node that is down.
func (n *node) wipe() {
	n.w.note(n.id, "wipe", "")
	n.w.cover.Wiped++
	n.fs = faultfs.New()
	n.rotted, n.shaken, n.unmarked = false, false, false
	n.lost, n.sameBoot = true, false
	n.seen.wipe()
}

// loseTables damages every checkpoint of the client table of a node that is down: where its log has been
// trimmed, it cannot be told any more and is forgotten. It returns whether there were any.
func (n *node) loseTables() bool {
	names, err := n.fs.List(logDir)
	if err != nil {
		return false // it has not been formatted
	}
	found := false
	for _, name := range names {
		if strings.HasSuffix(name, ".tab") {
			n.fs.Rot(logDir+"/"+name, 10, 1)
			found = true
		}
	}
	if found {
		n.w.note(n.id, "tables rot", "")
		n.lost = true
	}
	return found
}

// fence is a process that ends itself over an error of its disk, and is started again.
func (n *node) fence(why error) {
	n.w.note(n.id, "fences itself", why.Error())
	n.w.cover.Fences++
	n.end(killed)
	n.fs.Heal()
	if !n.w.setup.synced { // what it has acknowledged above its mark is dropped
		n.seen.powerCut(false)
		n.fenced = true
	}
	n.mayFail = n.fs.ReadOnly
	n.w.nemesis.restartLater(n)
}

// forgets tells whether the next life must not be believed to remember what it acknowledged.
func (n *node) forgets() bool {
	return n.lost || n.fenced || n.mayFail && !n.w.setup.synced || !n.w.setup.synced && !n.sameBoot && n.lives > 0 && !n.life.running() || n.seen.wiped
}

// openDisk recovers the log on fs.
func (n *node) openDisk(fs journal.FS) (*partition.Disk, *journal.Recovered, error) {
	return partition.OpenDisk(n.diskOptions(fs))
}

func (n *node) diskOptions(fs journal.FS) partition.DiskOptions {
	c := &n.w.setup.config
	return partition.DiskOptions{
		Journal: journal.Options{FS: fs, Dir: logDir, Cluster: c.Cluster, Group: c.Group, SegmentBytes: n.w.setup.segmentBytes,
			Pipeline: c.PipelineOps, SameBoot: n.sameBoot},
		RetentionBytes: n.w.setup.retention, LeaseBytes: n.w.setup.lease}
}
