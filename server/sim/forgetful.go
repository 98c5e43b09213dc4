package sim

// forgetVotes lets replicas lose their directory right after they have voted, and meet the primary that they had
// voted to replace, which does not know it yet. What such a replica says then must neither help the old primary
// to commit what the new one lacks, nor may its vote count any more once it has.
func (x *nemesis) forgetVotes() {
	rng := newStream(x.w.seed, "forgotten votes")
	if x.w.setup.replicas == 1 || rng.chance(0.7) {
		return
	}
	for range rng.between(1, 2) {
		x.w.after(rng.between(0, x.w.setup.faultNs/2), func() {
			lead := x.w.leader()
			if !x.w.faulty || lead == noNode || x.down() > 0 || x.w.nodes[lead].life.paused {
				return
			}
			x.quietUntil = x.w.now + 2*second // each step needs the one before
			if x.w.setup.replicas == 3 {
				x.forgetVote(lead, rng)
			} else {
				x.splitVotes(lead, rng)
			}
		})
	}
}

// forgetVote stops the primary of three until the next one has started its view. The third, which has made that
// one primary, loses its directory. It comes back to both primaries; of what the new one says only answers reach it.
func (x *nemesis) forgetVote(lead int, rng stream) {
	w, until := x.w, x.w.now+deposedNs
	p, started := w.nodes[lead].life, w.check.started
	x.cutOff(lead, deposedNs)
	p.pause(deposedNs)
	w.cover.Pauses++
	x.once(until, func() bool { return w.check.started > started }, func() {
		next := w.check.startedBy
		if next == lead || !p.running() {
			return
		}
		i := 3 - lead - next
		n := w.nodes[i]
		if !n.life.running() || !x.mayLose(n) {
			return
		}
		w.net.hush[next][i] = w.now + second
		x.forgetAndMeet(n, rng, lead)
		p.resume()
	})
}

// forgetAndMeet lets a replica lose its directory, come back at once, and reach these others.
func (x *nemesis) forgetAndMeet(n *node, rng stream, others ...int) {
	n.end(powered)
	n.wipe()
	x.w.cover.VotesForgotten++
	for _, j := range others {
		x.reopen(n.id, j)
	}
	x.backSoon(n, rng)
}

// backSoon starts a replica that was just ended.
func (x *nemesis) backSoon(n *node, rng stream) {
	x.w.after(rng.around(2*millisecond), func() {
		if !n.life.alive() && !n.gone {
			n.start()
		}
	})
}

// splitVotes lets three of five, cut off from their primary, which is stopped, and from the fifth, begin to replace
// it. As soon as one of them has raised its view, one that has not is cut off from the two others: it goes on with
// the primary that was, which wakes. Of those two, the one that is to lead has two votes. See outvote.
func (x *nemesis) splitVotes(lead int, rng stream) {
	w, until := x.w, x.w.now+deposedNs
	s, ok := w.statusOf(lead)
	if !ok {
		return
	}
	fifth := (lead + 1 + rng.IntN(4)) % 5
	var three []int
	for i := range 5 {
		if i != lead && i != fifth {
			three = append(three, i)
		}
	}
	for _, i := range three {
		x.cutBetween(i, lead, deposedNs)
		x.cutBetween(i, fifth, deposedNs)
	}
	p := w.nodes[lead].life
	p.pause(deposedNs)
	w.cover.Pauses++
	raised := func() int {
		for k, i := range three {
			if now, up := w.statusOf(i); up && now.View > s.View {
				return k
			}
		}
		return -1
	}
	x.once(until, func() bool { return raised() >= 0 }, func() {
		k := raised()
		first := three[k]
		now, _ := w.statusOf(first)
		next := int(now.View % 5)
		if next == lead || next == fifth {
			return
		}
		voter, third := first, three[(k+1+rng.IntN(2))%3]
		if others := three[0] + three[1] + three[2] - first; next != first {
			third = others - next
		} else {
			voter = others - third
		}
		if t, up := w.statusOf(third); !up || t.View > s.View || !p.running() {
			return
		}
		x.outvote(rng, votes{old: lead, next: next, voter: voter, third: third, fifth: fifth, view: now.View}, until)
	})
}

// votes are five replicas of which two have gone on to a view, and one that has not will be the last to vote for it.
type votes struct {
	old, next, voter, third, fifth int
	view                           uint64
}

// outvote lets the voter lose its directory once it has voted, and go on with the primary that was. When something
// is committed with its help that the third lacks, the third hears of the later view, and votes, too: two votes
// that count, and one of a life that is over. At times the third has been started anew by then.
func (x *nemesis) outvote(rng stream, v votes, until int64) {
	w := x.w
	old, next, voter, third := w.nodes[v.old], w.nodes[v.next], w.nodes[v.voter], w.nodes[v.third]
	x.cutBetween(v.third, v.next, deposedNs)
	x.cutBetween(v.third, v.voter, deposedNs)
	x.reopen(v.third, v.old)
	x.reopen(v.third, v.fifth)
	third.end(killed) // it was about to raise its view, too: its next life hears its primary first
	x.backSoon(third, rng)
	old.life.resume()
	x.once(until, func() bool { return next.seen.view >= v.view && voter.seen.view >= v.view }, func() {
		w.after(20*millisecond, func() {
			if !w.faulty || !voter.life.running() || !x.mayLose(voter) || w.check.started >= v.view {
				return
			}
			x.cutBetween(v.voter, v.next, deposedNs)
			x.forgetAndMeet(voter, rng, v.old, v.fifth, v.third)
			x.once(until, func() bool { return voter.life.running() && !voter.seen.wiped }, func() {
				for _, i := range []int{v.old, v.voter, v.fifth} {
					x.cutBetween(v.third, i, deposedNs)
				}
				x.once(until, func() bool { return w.check.top() > third.seen.head() }, func() {
					w.cover.LateVotes++
					if rng.chance(0.5) { // its next life has never met the voter's
						third.end(killed)
						x.backSoon(third, rng)
					}
					x.reopen(v.third, v.next)
				})
			})
		})
	})
}

// cutBetween lets nothing pass between two for a while.
func (x *nemesis) cutBetween(i, j int, ns int64) {
	x.cutFor(i, j, ns)
	x.cutFor(j, i, ns)
}
