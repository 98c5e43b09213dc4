package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"rejoin/cmd/bench/faultproxy"
	"rejoin/results"
)

// vortexPlan draws faults and carries them out, one after another; each has an end of its own.
type vortexPlan struct {
	v     *vortex
	draw  *rand.Rand
	began time.Time
	ends  []vortexEnd
	deck  []vortexKind    // what is still to be drawn of a round
	busy  map[string]bool // what a fault has in hand: a node, a way of a link
	done  map[string]int  // by kind

	log []string
}

// vortexEnd undoes a fault.
type vortexEnd struct {
	at   time.Time
	what string
	undo func() error
}

func newVortexPlan(v *vortex, seed uint64) *vortexPlan {
	return &vortexPlan{v: v, draw: rand.New(rand.NewPCG(seed, 0)), busy: map[string]bool{}, done: map[string]int{}}
}

// vortexKind is a fault and how often it is drawn in a round.
type vortexKind struct {
	name   string
	weight int
	do     func(*vortexPlan) (undo func() error, what, hand string)
}

var vortexKinds = []vortexKind{
	{"kill", 4, (*vortexPlan).kill},
	{"stop", 3, (*vortexPlan).stop},
	{"cut", 3, (*vortexPlan).cut},
	{"one-way cut", 3, (*vortexPlan).oneWay},
	{"delay", 3, (*vortexPlan).delay},
	{"reset", 2, (*vortexPlan).reset},
	{"corrupt", 3, (*vortexPlan).corrupt},
	{"client", 2, (*vortexPlan).client},
}

// carryOut does harm for a time and then ends all of it.
func (p *vortexPlan) carryOut(ctx context.Context, d time.Duration) {
	p.began = time.Now()
	for time.Since(p.began) < d && ctx.Err() == nil {
		p.endDue(time.Now())
		p.one()
		sleep(ctx, p.between(20*time.Millisecond, 400*time.Millisecond))
	}
	p.endDue(time.Now().Add(time.Hour))
	p.say("all faults ended")
}

// endDue undoes what has lasted long enough.
func (p *vortexPlan) endDue(now time.Time) {
	p.ends = slices.DeleteFunc(p.ends, func(e vortexEnd) bool {
		if e.at.After(now) {
			return false
		}
		if err := e.undo(); err != nil {
			p.say("end of %s: %v", e.what, err)
		} else {
			p.say("end of %s", e.what)
		}
		return true
	})
}

// next draws a kind as a card is drawn from a shuffled deck: a round, of about five seconds, holds every kind as often as its weight says. Drawn
// one by one, one run in forty did without one of them.
func (p *vortexPlan) next() vortexKind {
	if len(p.deck) == 0 {
		for _, k := range vortexKinds {
			p.deck = append(p.deck, slices.Repeat([]vortexKind{k}, k.weight)...)
		}
		p.draw.Shuffle(len(p.deck), func(i, j int) { p.deck[i], p.deck[j] = p.deck[j], p.deck[i] })
	}
	k := p.deck[0]
	p.deck = p.deck[1:]
	return k
}

// one draws a fault and does it, unless what it needs is in the hand of another.
func (p *vortexPlan) one() {
	k := p.next()
	last := p.between(30*time.Millisecond, 2500*time.Millisecond)
	undo, what, hand := k.do(p)
	if what == "" {
		return
	}
	p.done[k.name]++
	p.say("%s", what)
	if undo != nil {
		p.busy[hand] = true
		p.ends = append(p.ends, vortexEnd{time.Now().Add(last), what, func() error {
			delete(p.busy, hand)
			return undo()
		}})
	}
}

// missing are kinds that were not done.
func (p *vortexPlan) missing() (kinds []string) {
	for _, k := range vortexKinds {
		if p.done[k.name] == 0 {
			kinds = append(kinds, k.name)
		}
	}
	return kinds
}

func (p *vortexPlan) between(least, most time.Duration) time.Duration {
	return least + time.Duration(p.draw.Int64N(int64(most-least)))
}

func (p *vortexPlan) say(format string, args ...any) {
	p.log = append(p.log, fmt.Sprintf("%7.3f  ", time.Since(p.began).Seconds())+fmt.Sprintf(format, args...))
}

func (p *vortexPlan) node() (node int, hand string, free bool) {
	node = p.draw.IntN(len(p.v.links))
	hand = results.NodeName(node)
	return node, hand, !p.busy[hand]
}

func (p *vortexPlan) kill() (func() error, string, string) {
	node, hand, free := p.node()
	if !free {
		return nil, "", ""
	}
	if err := p.v.nodes.kill(context.Background(), node, roleOf(p.v.nodes.status(), node)); err != nil {
		return nil, fmt.Sprintf("kill %s: %v", hand, err), ""
	}
	return func() error { return p.v.nodes.restart(node) }, "kill " + hand, hand
}

func (p *vortexPlan) stop() (func() error, string, string) {
	node, hand, free := p.node()
	if !free {
		return nil, "", ""
	}
	if err := p.v.nodes.pause(node, ""); err != nil {
		return nil, fmt.Sprintf("stop %s: %v", hand, err), ""
	}
	return func() error { return p.v.nodes.resume(node) }, "stop " + hand, hand
}

// way is what one node says to another: on the connections that it dialled and on those of the other.
func (p *vortexPlan) way() (from, to int, hand string, free bool) {
	from = p.draw.IntN(len(p.v.links))
	to = (from + 1 + p.draw.IntN(len(p.v.links)-1)) % len(p.v.links)
	hand = fmt.Sprintf("%s->%s", results.NodeName(from), results.NodeName(to))
	return from, to, hand, !p.busy[hand]
}

func (p *vortexPlan) harm(from, to int, h faultproxy.Harm) {
	p.v.links[from][to].Set(faultproxy.Forth, h)
	p.v.links[to][from].Set(faultproxy.Back, h)
}

func (p *vortexPlan) oneWay() (func() error, string, string) {
	from, to, hand, free := p.way()
	if !free {
		return nil, "", ""
	}
	p.harm(from, to, faultproxy.Harm{Hold: true})
	return func() error { p.harm(from, to, faultproxy.Harm{}); return nil }, "cut " + hand, hand
}

func (p *vortexPlan) cut() (func() error, string, string) {
	from, to, hand, free := p.way()
	back := fmt.Sprintf("%s->%s", results.NodeName(to), results.NodeName(from))
	if !free || p.busy[back] {
		return nil, "", ""
	}
	p.busy[back] = true
	p.harm(from, to, faultproxy.Harm{Hold: true})
	p.harm(to, from, faultproxy.Harm{Hold: true})
	return func() error {
		delete(p.busy, back)
		p.harm(from, to, faultproxy.Harm{})
		p.harm(to, from, faultproxy.Harm{})
		return nil
	}, "cut " + hand + " and back", hand
}

func (p *vortexPlan) delay() (func() error, string, string) {
	from, to, hand, free := p.way()
	if !free {
		return nil, "", ""
	}
	d := p.between(time.Millisecond, 150*time.Millisecond)
	p.harm(from, to, faultproxy.Harm{Delay: d})
	return func() error { p.harm(from, to, faultproxy.Harm{}); return nil }, fmt.Sprintf("delay %s by %v", hand, d.Round(time.Millisecond)), hand
}

func (p *vortexPlan) reset() (func() error, string, string) {
	from, to, hand, _ := p.way()
	n := p.v.links[from][to].Reset() + p.v.links[to][from].Reset()
	return nil, fmt.Sprintf("reset %d connections of %s", n, hand), ""
}

func (p *vortexPlan) corrupt() (func() error, string, string) {
	from, to, hand, _ := p.way()
	p.v.links[from][to].Corrupt(faultproxy.Forth)
	p.v.links[to][from].Corrupt(faultproxy.Back)
	return nil, "corrupt a bit of " + hand, ""
}

// client harms what producers and a node say to each other. HTTP over bare TCP has no checksum of its
// own, so nothing is corrupted there.
func (p *vortexPlan) client() (func() error, string, string) {
	node := p.draw.IntN(len(p.v.clients))
	hand := "clients of " + results.NodeName(node)
	proxy, direction := p.v.clients[node], faultproxy.Direction(p.draw.IntN(2))
	if p.busy[hand] {
		return nil, "", ""
	}
	switch p.draw.IntN(4) {
	case 0:
		return nil, fmt.Sprintf("reset %d connections of %s", proxy.Reset(), hand), ""
	case 1:
		proxy.Refuse(true)
		proxy.Reset()
		return func() error { proxy.Refuse(false); return nil }, "refuse " + hand, hand
	case 2:
		proxy.Set(direction, faultproxy.Harm{Hold: true})
	case 3:
		proxy.Set(direction, faultproxy.Harm{Delay: p.between(time.Millisecond, 300*time.Millisecond)})
	}
	return func() error { proxy.Set(direction, faultproxy.Harm{}); return nil }, "harm " + hand, hand
}

// TestVortexDrawsEveryKind: two rounds hold each kind as often as its weight says, whatever the seed.
func TestVortexDrawsEveryKind(t *testing.T) {
	for seed := range uint64(100) {
		p, drawn, round := newVortexPlan(nil, seed), map[string]int{}, 0
		for _, k := range vortexKinds {
			round += k.weight
		}
		for range 2 * round {
			drawn[p.next().name]++
		}
		for _, k := range vortexKinds {
			if drawn[k.name] != 2*k.weight {
				t.Fatalf("seed %d: %s was drawn %d times in two rounds, want %d", seed, k.name, drawn[k.name], 2*k.weight)
			}
		}
	}
}
