package vsr

import "fmt"

// A vote binds a replica as long as it remembers the vote. One that loses its directory right after a vote
// forgets it, and may be made whole in an older view, by a quorum that has not heard of the later one. If its
// dead vote counted then, two quorums would have nothing in common but a replica that remembers neither.
//
// So three things hold. Whoever answers a replica that has forgotten has saved that it lives again; every vote
// and every such answer names the lives that its sender knows; and of those that count together none is of a
// life that another one of them knows to be over. Of 2f+1 replicas, f others
// have voted beside the dead vote and f+1 others have made the new life whole: one has done both. It has saved the new life. If
// it voted first, its answer told of the later view, and the new life is in no older one. If it answered first,
// its vote names the new life, and the dead vote falls. If it has itself lost its directory between the two,
// then of the two replicas that were made whole one has learned of the other, by the same argument: either its
// vote names the new life all the same, or the answer of its former life has fallen.
//
// This is the crash vector of Michael, Ports, Sharma and Szekeres, "Recovering Shared Objects Without Stable
// Storage" (DISC 2017), for those replicas that have lost what should be stable.
//
// Boot counters must rise from life to life, also where a directory is lost: see server/format.go.

// learnLives takes what a peer knows, and drops what lives that are over have said.
func (r *Replica) learnLives(known *Lives) {
	for i := range r.cfg.Replicas {
		if i == r.cfg.Self { // whether this is its own latest life is for the handshake to tell
			continue
		}
		r.lives[i] = max(r.lives[i], known[i])
		if r.change.votes[i].given && r.change.votes[i].boot < r.lives[i] {
			r.change.forget(i)
		}
		if r.wiped.told[i].given && r.wiped.told[i].boot < r.lives[i] {
			r.wiped.told[i] = told{}
		}
	}
}

// remembers tells whether the present life of a peer is known durably, and sees to it.
func (r *Replica) remembers(peer int) bool {
	if r.saved.Lives[peer] >= r.lives[peer] {
		return true
	}
	if r.asked.Lives[peer] < r.lives[peer] {
		r.asked.Lives = r.lives
		r.emit(Effect{Kind: EffSave, State: r.asked})
	}
	return false
}

func (r *Replica) checkLives() {
	for i, life := range r.lives {
		vote, told := &r.change.votes[i], &r.wiped.told[i]
		switch {
		case r.saved.Lives[i] > r.asked.Lives[i], r.asked.Lives[i] > life, r.peers[i].incarnation.Boot > life:
			panic(fmt.Sprintf("vsr: of replica %d the lives %d (saved), %d (to be saved), %d (known) and %d (present) are out of order", i, r.saved.Lives[i], r.asked.Lives[i], life, r.peers[i].incarnation.Boot))
		case vote.given && vote.boot < life, told.given && told.boot < life:
			panic(fmt.Sprintf("vsr: what replica %d said before its life %d counts", i, life))
		}
	}
}
