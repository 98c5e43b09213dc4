package sim

import (
	"path"
	"slices"
	"strings"
	"syscall"

	"rejoin/server/journal/faultfs"
)

// failOnce lets one of the next operations of one kind fail, and change nothing. Half of the time it is
// met by a start: the process is killed first.
func (x *nemesis) failOnce() {
	n := x.w.nodes[x.rng.IntN(x.w.setup.replicas)]
	if !x.w.setup.synced && !x.mayLose(n) { // a node that stops itself over it drops what was only written
		return
	}
	verb := pick(x.rng, faultfs.VerbOpen, faultfs.VerbRead, faultfs.VerbWrite, faultfs.VerbTruncate, faultfs.VerbSync, faultfs.VerbSyncDir,
		faultfs.VerbCreate, faultfs.VerbRename, faultfs.VerbRemove)
	after, name := int(x.rng.between(0, 8)), ""
	switch verb {
	case faultfs.VerbOpen: // a segment that cannot be opened tells a reader nothing: what is met by a start is of use
		after, name = 0, pick(x.rng, "mark", "state", "start", ".tab")
	case faultfs.VerbRead: // of an op it would be taken for damage
		after, name = 0, path.Base(logDir)
	}
	if x.rng.chance(0.5) && n.life.alive() && x.down() < x.w.setup.dangers.downMax {
		n.end(killed)
		x.restartLater(n)
	}
	answer := syscall.EIO
	if (verb == faultfs.VerbOpen || verb == faultfs.VerbCreate) && x.rng.chance(0.4) { // there was none left, which says nothing of the file
		answer = pick(x.rng, syscall.EMFILE, syscall.ENOMEM)
		if verb == faultfs.VerbOpen {
			name = pick(x.rng, name, ".idx", ".seg")
		}
	}
	x.w.note(n.id, "will fail once: "+string(verb), name, uint64(after))
	x.w.cover.DiskErrors++
	n.mayFail = true
	n.fs.Inject(faultfs.Fault{Verb: verb, Name: name, After: after, Err: answer})
}

// loseSegment takes a file of ops away: all copies of these ops that a replica has are damaged at once. Mostly the
// process is killed first and the index goes, too, so that nothing tells where they stood. A process that has not
// opened the file may live on, and meet the loss when it does.
func (x *nemesis) loseSegment() {
	n := x.victim()
	if n == nil || !n.life.running() || n.shaken || n.seen.cuts > 0 {
		return
	}
	first, last, ok := x.drawSegment(n)
	if !ok {
		return
	}
	if !x.mayDamage(n, span{first, last}) {
		return
	}
	name := segmentName(first)
	index := strings.TrimSuffix(name, ".seg") + ".idx"
	lives := !n.fs.IsOpen(name) && x.rng.chance(0.7) && (x.w.setup.synced || x.mayLose(n))
	if lives {
		n.mayFail = true // damage that reaches over its commit may leave a log no place to end in
	} else {
		n.end(killed)
		x.restartLater(n)
	}
	n.rotted = true
	x.w.cover.LostSegments++
	x.w.note(n.id, "lost segment", name, first, last)
	n.fs.Delete(name)
	if n.has(index) && !(lives && x.rng.chance(0.5)) {
		n.fs.Delete(index)
	}
}

// drawSegment draws one of the files of a log that another one follows, and tells which ops it has.
func (x *nemesis) drawSegment(n *node) (first, last uint64, ok bool) {
	var firsts []uint64
	for op := n.seen.start; op <= n.seen.written; op++ {
		if n.has(segmentName(op)) {
			firsts = append(firsts, op)
		}
	}
	if len(firsts) < 2 {
		return 0, 0, false
	}
	i := x.rng.IntN(len(firsts) - 1)
	return firsts[i], firsts[i+1] - 1, true
}

// has tells whether there is a file of this name.
func (n *node) has(name string) bool {
	_, err := n.fs.ReadFile(name)
	return err == nil
}

const copyBytes = 4096 // where the second copy of a state file begins

// rotSmall kills a process and damages one of the small files of its log where another still tells the same:
// one of the two copies of a state file, an index, one of two checkpoints; or the mark as a whole, without
// which all damage counts, and here there is none. It does so once to a disk, for what is left to tell it must
// not be lost as well. An index may rot under a process that runs, too: it is read again when a reader needs it.
func (x *nemesis) rotSmall() {
	n := x.victim()
	if n == nil || !n.life.running() || n.rotted || n.shaken || n.mayFail || n.forgets() {
		return
	}
	index := x.rng.chance(0.2)
	if !index {
		n.end(killed)
		x.restartLater(n)
	}
	names, err := n.fs.List(logDir)
	if err != nil {
		return // it has not been formatted
	}
	tables := 0
	for _, name := range names {
		if strings.HasSuffix(name, ".tab") {
			tables++
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return index && !strings.HasSuffix(name, ".idx") || strings.HasSuffix(name, ".seg") || strings.HasSuffix(name, ".tmp") || strings.HasSuffix(name, ".tab") && tables < 2
	})
	if len(names) == 0 {
		return
	}
	x.rotFile(n, logDir+"/"+names[x.rng.IntN(len(names))])
}

func (x *nemesis) rotFile(n *node, name string) {
	content, err := n.fs.ReadFile(name)
	if err != nil || len(content) == 0 {
		return
	}
	x.w.note(n.id, "rot of a small file", name)
	n.shaken = true
	x.w.cover.SmallRots++
	at, mask := x.rng.Int64N(int64(len(content))), byte(1)<<x.rng.IntN(8)
	if path.Ext(name) == "" { // a state file: most of it is padding
		at = copyBytes*x.rng.Int64N(2) + x.rng.between(0, 40)
	}
	n.fs.Rot(name, at, mask)
	if path.Base(name) == "mark" && x.w.setup.replicas > 1 && x.rng.chance(0.5) {
		n.unmarked = true
		n.fs.Rot(name, (at+copyBytes)%(2*copyBytes), mask)
	}
}
