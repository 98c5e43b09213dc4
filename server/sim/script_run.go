package sim

import (
	"fmt"
	"slices"
	"strings"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// scriptSetup is what a script's world is like unless its head says otherwise: nothing happens that is
// not written.
func scriptSetup() setup {
	o := setup{replicas: 3, synced: true, config: vsr.Default(), segmentBytes: 64 << 10, checkpoint: 1 << 30, lease: 1 << 30,
		payloadBytes: 64, messagesMax: 1, thinkNs: 20 * millisecond, netDelay: 200 * microsecond, syncNs: 200 * microsecond}
	c := &o.config
	c.Replicas, c.Cluster, c.Seal = o.replicas, 0x5e1f, wire.Seal
	c.RootSum = wire.RootSum(c.Cluster, c.Group)
	c.PipelineOps, c.RingOps = 4, 64
	o.dangers.downMax, o.dangers.restartNs = o.replicas, second
	return o
}

// scriptRun is one play of a script.
type scriptRun struct {
	w      *world
	script *Script
	at     step
	text   transcript

	producer *client // appends
	offers   int
	shown    []filter
	rules    []rule // the last that takes a message decides
	kept     []func()
	sent     []sentMessages
	events   [vsr.ReplicasMax][eventKinds]uint64
}

// eventKinds bounds the kinds of events.
const eventKinds = int(vsr.EventCannotKeepUp) + 1

// sentMessages counts messages of one kind between two replicas.
type sentMessages struct {
	m     vsr.Message // Kind, From, To
	times uint64
}

// Played is what came of a play.
type Played struct {
	Transcript string   // the transitions that the script shows
	Failure    *Failure // the promise that broke; nil: none
	Missing    []string // what should have arisen and did not
}

// Play plays a script, with its mistakes or without. The error says why it could not be played to its
// end, which is a mistake in the script.
func (s *Script) Play(mistaken bool, arena *Arena) (played Played, err error) {
	names := slices.Clone(s.with)
	if mistaken {
		names = append(names, s.Switches...)
	}
	w := &world{seed: scripted, setup: s.setup, arena: arena}
	if w.setup.config.Mistakes, err = switched(names...); err != nil {
		return Played{}, err
	}
	w.trace.hash = fnvOffset
	r := &scriptRun{w: w, script: s}
	w.script = r
	defer func() {
		x := recover()
		for _, c := range s.arises {
			if why := c.holds(r); why != "" {
				played.Missing = append(played.Missing, why)
			}
		}
		if x != nil {
			f := w.failure(x)
			if f.Property == scriptWrong {
				err = fmt.Errorf("%s\n%s", f.Detail, strings.Join(f.Lines, "\n"))
				return
			}
			f.Script = s.Name
			played.Failure = f
			r.text.add("breaks %s: %s", f.Property, firstLine(f.Detail))
		} else {
			r.text.add("every promise is kept")
		}
		played.Transcript = r.text.String()
	}()
	r.play()
	return played, nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return strings.TrimSuffix(line, "; ")
}

func (r *scriptRun) play() {
	w := r.w
	w.begin()
	w.nemesis.w, w.nemesis.rng = w, newStream(scripted, "nemesis")
	r.producer = r.newClient("producer")
	for _, s := range r.script.steps {
		r.at = s
		if !strings.HasPrefix(s.text, "show ") {
			r.text.step(s.text)
		}
		s.do(r)
	}
	r.at = step{}
	w.finish()
}

// scriptWrong is the property that breaks when a script expects what is not so.
const scriptWrong = "script"

func (r *scriptRun) wrong(format string, args ...any) {
	r.w.fail(scriptWrong, "%s: %s: %s", r.at.at, r.at.text, fmt.Sprintf(format, args...))
}

// mutes tells whether the script lets this property break.
func (r *scriptRun) mutes(property string) bool {
	return r != nil && slices.Contains(r.script.mute, property)
}

func (r *scriptRun) node(i int) *node {
	if i >= len(r.w.nodes) {
		r.wrong("there is no r%d", i)
	}
	return r.w.nodes[i]
}

func (r *scriptRun) newClient(name string) *client {
	c := newClient(r.w, len(r.w.clients))
	c.rng = newStream(scripted, name)
	c.manual = true
	r.w.clients = append(r.w.clients, c)
	return c
}

const appendNs = 30 * second

// append lets the producer write one op; its first opens its session.
func (r *scriptRun) append() {
	c := r.producer
	c.once = false
	if lead := r.w.leader(); lead != noNode {
		c.target = lead
	}
	c.ask()
	if !r.w.runUntil(r.w.now+appendNs, func() bool { return !c.busy }) {
		r.wrong("an op is not acknowledged; %s", r.w.stand())
	}
}

// offer lets the producer send an op to one replica and go on; while it waits for an answer, a new
// client opens a session instead. Without an answer the op is tried again, anywhere, if that is asked
// for.
func (r *scriptRun) offer(i int, retried bool) {
	c := r.producer
	if c.busy {
		r.offers++
		c = r.newClient(fmt.Sprintf("offer %d", r.offers))
	}
	c.target, c.once = r.node(i).id, !retried
	c.ask()
}

// load lets so many clients write, each with a pause between its ops.
func (r *scriptRun) load(clients int, pause int64) {
	r.w.setup.thinkNs, r.w.loading = pause, true
	for i := range clients {
		c := r.newClient(fmt.Sprintf("load %d", i))
		c.manual = false
		c.idle()
	}
}

func (r *scriptRun) kill(i int)     { r.node(i).end(killed) }
func (r *scriptRun) powerCut(i int) { r.node(i).end(powered) }
func (r *scriptRun) start(i int)    { r.node(i).start() }
func (r *scriptRun) resume(i int)   { r.node(i).life.resume() }

func (r *scriptRun) pause(i int) { r.node(i).life.pause(1 << 50) }

// wipe loses the directory of a node, which is ended first where it still runs.
func (r *scriptRun) wipe(i int) {
	r.node(i).end(powered)
	r.node(i).wipe()
}

func (r *scriptRun) holdSyncs(i int) { r.node(i).syncsHeld = true }
func (r *scriptRun) letSyncs(i int)  { r.node(i).syncsHeld = false }

// rot lets bytes of an op be others than were written, and a reader meet that.
func (r *scriptRun) rot(i int, op uint64) {
	n := r.node(i)
	f := n.find(op)
	if !n.life.running() || f.bytes == nil {
		r.wrong("r%d does not run, or has no op %d", i, op)
	}
	n.rotted = true
	n.fs.Rot(f.name, f.at+wire.HeaderBytes/2, 1)
	n.life.look(op)
}

// rest is the end of a run: load off, and the cluster comes to rest, takes new requests, and has the
// same bytes everywhere.
func (r *scriptRun) rest() {
	r.w.loading = false
	r.w.rest()
	r.append()
	r.w.rest()
	r.w.verify()
}

// look writes where every replica stands.
func (r *scriptRun) look() {
	for i, n := range r.w.nodes {
		p := n.life
		if !p.running() {
			r.text.add("r%d is down", i)
			continue
		}
		s := p.status()
		line := fmt.Sprintf("r%d view %d, log_view %d, holds %d..%d, commit %d", i, s.View, s.LogView, p.log().Start(), s.Head.Op, s.Commit.Op)
		if s.State != "normal" {
			line += ", " + s.State
		}
		if s.Holes > 0 {
			line += ", damaged"
		}
		if s.Leading {
			line += ", leads"
		}
		r.text.add("%s", line)
	}
}

// judge: no fault is in force any more; the promises of progress hold from here on.
func (r *scriptRun) judge() { r.w.live.Judge(r.w.cluster()) }
