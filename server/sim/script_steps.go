package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"rejoin/server/vsr"
)

// stepReaders read what follows a step's first word.
var stepReaders map[string]func(*words) func(*scriptRun)

func init() { // the table and what it holds name one another
	stepReaders = map[string]func(*words) func(*scriptRun){
		"append": readAppend, "offer": readOffer, "load": readLoad,
		"kill": each((*scriptRun).kill), "power-cut": each((*scriptRun).powerCut), "wipe": each((*scriptRun).wipe), "start": each((*scriptRun).start),
		"pause": each((*scriptRun).pause), "resume": each((*scriptRun).resume),
		"show": readShow, "drop": fated(fate{drop: true}), "hold": fated(fate{keep: true}), "copy": fated(fate{keep: true, copy: true}), "delay": readDelay,
		"pass": readPass, "release": func(*words) func(*scriptRun) { return (*scriptRun).release },
		"rot": readRot, "cut": paired((*scriptRun).cut), "mend": paired((*scriptRun).mend),
		"hold-syncs": each((*scriptRun).holdSyncs), "let-syncs": each((*scriptRun).letSyncs),
		"judge":    func(*words) func(*scriptRun) { return (*scriptRun).judge },
		"look":     func(*words) func(*scriptRun) { return (*scriptRun).look },
		"rest":     func(*words) func(*scriptRun) { return (*scriptRun).rest },
		"catch-up": func(*words) func(*scriptRun) { return func(r *scriptRun) { r.w.catchUpUnderLoad() } },
		"run":      readRun, "until": readUntil, "expect": readExpect,
	}
}

func stepWords() []string { return slices.Sorted(maps.Keys(stepReaders)) }

// each is a step that does one thing to each replica named.
func each(do func(*scriptRun, int)) func(*words) func(*scriptRun) {
	return func(w *words) func(*scriptRun) {
		list := w.replicas()
		return func(r *scriptRun) {
			for _, i := range list {
				do(r, i)
			}
		}
	}
}

// paired is a step that does one thing to two replicas.
func paired(do func(*scriptRun, int, int)) func(*words) func(*scriptRun) {
	return func(w *words) func(*scriptRun) {
		i, j := w.replica(), w.replica()
		return func(r *scriptRun) { do(r, i, j) }
	}
}

// rot rN OP: that op is not what was written any more, and a reader meets it.
func readRot(w *words) func(*scriptRun) {
	i, op := w.replica(), w.number()
	return func(r *scriptRun) { r.rot(i, op) }
}

// append N: so many ops, one after another, each acknowledged before the next is sent.
func readAppend(w *words) func(*scriptRun) {
	n := w.number()
	return func(r *scriptRun) {
		for range n {
			r.append()
		}
	}
}

// offer at rN [retried]: one op, sent to that replica; nobody waits for the answer.
func readOffer(w *words) func(*scriptRun) {
	w.must("at")
	i, retried := w.replica(), w.maybe("retried")
	return func(r *scriptRun) { r.offer(i, retried) }
}

// load by N every D, or load off.
func readLoad(w *words) func(*scriptRun) {
	if w.maybe("off") {
		return func(r *scriptRun) { r.w.loading = false }
	}
	w.must("by")
	clients := w.number()
	w.must("every")
	pause := w.duration()
	return func(r *scriptRun) { r.load(int(clients), pause) }
}

// fated is a step from which on messages meet a fate.
func fated(f fate) func(*words) func(*scriptRun) {
	return func(w *words) func(*scriptRun) {
		which := w.filter()
		return func(r *scriptRun) { r.rules = append(r.rules, rule{which, f}) }
	}
}

// show KINDS ...: these messages are told from here on, and with the first of them what replicas say of
// themselves.
func readShow(w *words) func(*scriptRun) {
	which := w.filter()
	return func(r *scriptRun) { r.shown = append(r.shown, which) }
}

// delay KINDS ... by D.
func readDelay(w *words) func(*scriptRun) {
	which := w.filter()
	w.must("by")
	f := fate{delay: w.duration()}
	return func(r *scriptRun) { r.rules = append(r.rules, rule{which, f}) }
}

// pass: every rule for messages ends; pass KINDS ...: one for these that lets them through.
func readPass(w *words) func(*scriptRun) {
	if len(w.rest) == 0 {
		return func(r *scriptRun) { r.rules = nil }
	}
	which := w.filter()
	return func(r *scriptRun) { r.rules = append(r.rules, rule{which, fate{}}) }
}

// run D: time passes.
func readRun(w *words) func(*scriptRun) {
	d := w.duration()
	return func(r *scriptRun) { r.w.runUntil(r.w.now+d, nil) }
}

const withinNs = 20 * second

// until CONDITION [within D].
func readUntil(w *words) func(*scriptRun) {
	within := withinNs
	c := w.condition()
	if w.maybe("within") {
		within = w.duration()
	}
	return func(r *scriptRun) {
		if !r.w.runUntil(r.w.now+within, func() bool { return c.holds(r) == "" }) {
			r.wrong("after %v s %s; %s", float64(within)/1e9, c.holds(r), r.w.stand())
		}
	}
}

// expect CONDITION: now.
func readExpect(w *words) func(*scriptRun) {
	c := w.condition()
	return func(r *scriptRun) {
		if why := c.holds(r); why != "" {
			r.wrong("%s; %s", why, r.w.stand())
		}
	}
}

// condition is something to wait for, or to expect.
type condition struct {
	text  string
	holds func(*scriptRun) string // "" or what is so instead
}

// condition reads: rN FIELD AMOUNT ..., or saw WHAT [from rN] [to rN] [AMOUNT].
func (w *words) condition() condition {
	if w.maybe("saw") {
		return w.seen()
	}
	c := condition{}
	i := w.replica()
	var fields []func(*process) string
	c.text = fmt.Sprintf("r%d", i)
	for more := true; more; more = len(w.rest) > 0 && w.rest[0] != "within" {
		fields = append(fields, w.field())
	}
	c.holds = func(r *scriptRun) string {
		p := r.node(i).life
		if !p.running() {
			return fmt.Sprintf("r%d does not run", i)
		}
		for _, f := range fields {
			if why := f(p); why != "" {
				return fmt.Sprintf("r%d %s", i, why)
			}
		}
		return ""
	}
	return c
}

var numberFields = map[string]func(*process) uint64{
	"view": func(p *process) uint64 { return p.status().View }, "log_view": func(p *process) uint64 { return p.status().LogView },
	"commit": func(p *process) uint64 { return p.status().Commit.Op }, "head": func(p *process) uint64 { return p.status().Head.Op },
	"heard": func(p *process) uint64 { return p.status().KnownCommit }, "first": func(p *process) uint64 { return p.log().Start() },
}

// field reads what is said of a replica: leads, state NAME, or a number.
func (w *words) field() func(*process) string {
	word := w.oneOf("a field", []string{"leads", "state", "view", "log_view", "commit", "head", "heard", "first"})
	switch word {
	case "leads":
		return func(p *process) string {
			if !p.status().Leading {
				return "does not lead"
			}
			return ""
		}
	case "state":
		want := w.oneOf("a state", []string{"normal", "view_change", "repairing", "transferring", "wiped", "fenced"})
		return func(p *process) string {
			if s := p.status(); s.State != want {
				return "is in state " + s.State + ", not " + want
			}
			return ""
		}
	}
	get, want := numberFields[word], w.amount()
	return func(p *process) string {
		if n := get(p); !want.fits(n) {
			return fmt.Sprintf("has %s %d, not %s", word, n, want.written)
		}
		return ""
	}
}

// seen reads what must have been seen so often since the start: a message that was sent and not
// dropped, or an event of a replica.
func (w *words) seen() condition {
	want := amount{1, true, "1+"}
	var count func(*scriptRun) uint64
	what := ""
	if len(w.rest) > 0 && eventsByName[w.rest[0]] != 0 {
		what = w.next("an event")
		kind := eventsByName[what]
		w.must("at")
		i := w.replica()
		what += fmt.Sprintf(" at r%d", i)
		count = func(r *scriptRun) uint64 { return r.events[i][kind] }
	} else {
		from := len(w.said)
		f := w.filter()
		what = strings.Join(w.said[from:], " ")
		count = func(r *scriptRun) (n uint64) {
			for i := range r.sent {
				if f.takes(&r.sent[i].m) {
					n += r.sent[i].times
				}
			}
			return n
		}
	}
	if len(w.rest) > 0 && w.rest[0] != "within" {
		want = w.amount()
	}
	return condition{what, func(r *scriptRun) string {
		if n := count(r); !want.fits(n) {
			return fmt.Sprintf("%s was seen %d times, not %s", what, n, want.written)
		}
		return ""
	}}
}

// eventsByName are the events that a script may ask for.
var eventsByName = map[string]vsr.EventKind{
	"repair_begins": vsr.EventRepairBegin, "repair_ends": vsr.EventRepairEnd, "transfer_begins": vsr.EventTransferBegin, "transfer_ends": vsr.EventTransferEnd,
	"view_change_begins": vsr.EventViewChangeBegin, "steps_down": vsr.EventStepDown, "waits": vsr.EventWaiting, "wiped": vsr.EventWiped,
}
