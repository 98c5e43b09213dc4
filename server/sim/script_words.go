package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"rejoin/server/vsr"
)

// words is one line of a script while it is read, from the left.
type words struct {
	at   string // file:line
	rest []string
	said []string
}

// lineError is what a line of a script should have been.
type lineError struct{ text string }

// wrong ends the reading of a line.
func (w *words) wrong(want string) {
	found := "the end of the line"
	if len(w.rest) > 0 {
		found = strconv.Quote(w.rest[0])
	}
	after := ""
	if len(w.said) > 0 {
		after = fmt.Sprintf("after %q ", strings.Join(w.said, " "))
	}
	panic(lineError{fmt.Sprintf("%s: %sexpected %s, found %s", w.at, after, want, found)})
}

// next takes a word, which must be there.
func (w *words) next(want string) string {
	if len(w.rest) == 0 {
		w.wrong(want)
	}
	word := w.rest[0]
	w.said, w.rest = append(w.said, word), w.rest[1:]
	return word
}

// back gives a word back that was not what was wanted.
func (w *words) back(want string) {
	last := len(w.said) - 1
	w.rest = append([]string{w.said[last]}, w.rest...)
	w.said = w.said[:last]
	w.wrong(want)
}

// maybe takes a word if it comes next.
func (w *words) maybe(word string) bool {
	if len(w.rest) == 0 || w.rest[0] != word {
		return false
	}
	w.next(word)
	return true
}

func (w *words) must(word string) {
	if !w.maybe(word) {
		w.wrong(strconv.Quote(word))
	}
}

func (w *words) end() {
	if len(w.rest) > 0 {
		w.wrong("the end of the line")
	}
}

// replica reads r0, r1, ...
func (w *words) replica() int {
	const want = "a replica, r0 to r4"
	word := w.next(want)
	if len(word) != 2 || word[0] != 'r' || word[1] < '0' || word[1] >= '0'+vsr.ReplicasMax {
		w.back(want)
	}
	return int(word[1] - '0')
}

// replicas reads one or more.
func (w *words) replicas() []int {
	list := []int{w.replica()}
	for len(w.rest) > 0 {
		list = append(list, w.replica())
	}
	return list
}

func (w *words) number() uint64 {
	const want = "a number"
	n, err := strconv.ParseUint(w.next(want), 10, 32)
	if err != nil {
		w.back(want)
	}
	return n
}

// amount is a number, or so many or more: 40 or 40+.
type amount struct {
	n       uint64
	orMore  bool
	written string
}

func (a amount) fits(n uint64) bool { return n == a.n || a.orMore && n > a.n }

func (w *words) amount() amount {
	const want = "a number, or one like 40+ for that or more"
	word := w.next(want)
	n, err := strconv.ParseUint(strings.TrimSuffix(word, "+"), 10, 32)
	if err != nil {
		w.back(want)
	}
	return amount{n, strings.HasSuffix(word, "+"), word}
}

func (w *words) duration() int64 {
	const want = "a duration such as 200ms"
	d, err := time.ParseDuration(w.next(want))
	if err != nil || d < 0 {
		w.back(want)
	}
	return d.Nanoseconds()
}

// oneOf reads a word of a fixed list.
func (w *words) oneOf(what string, list []string) string {
	want := what + ": " + strings.Join(list, ", ")
	word := w.next(want)
	if !slices.Contains(list, word) {
		w.back(want)
	}
	return word
}

// messageKinds are the names of all messages.
func messageKinds() map[string]vsr.MessageKind {
	kinds := map[string]vsr.MessageKind{}
	for k := vsr.MessageKind(1); k.Known(); k++ {
		kinds[k.String()] = k
	}
	return kinds
}

// filter picks messages: of some kinds, or all, from one replica, or any, to one, or any.
type filter struct {
	kinds    []vsr.MessageKind
	from, to int
}

func (f *filter) takes(m *vsr.Message) bool {
	return (len(f.kinds) == 0 || slices.Contains(f.kinds, m.Kind)) && (f.from == noNode || f.from == int(m.From)) && (f.to == noNode || f.to == int(m.To))
}

// filter reads: all, or kinds with commas between; then from rN and to rN, which may be left out.
func (w *words) filter() filter {
	f := filter{from: noNode, to: noNode}
	names := messageKinds()
	if !w.maybe("all") {
		for more := true; more; {
			const want = "all, or a kind of message such as prepare_ok"
			word := w.next(want)
			more = strings.HasSuffix(word, ",")
			k, ok := names[strings.TrimSuffix(word, ",")]
			if !ok {
				w.back(want)
			}
			f.kinds = append(f.kinds, k)
		}
	}
	if w.maybe("from") {
		f.from = w.replica()
	}
	if w.maybe("to") {
		f.to = w.replica()
	}
	return f
}
