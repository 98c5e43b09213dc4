package main

import (
	"encoding/json"
	"slices"
	"sync"

	"rejoin/results"
)

// liveHub hands what happens in a run to the page's readers. Publishing never waits: a reader that does not keep up loses messages, which
// are counted, and sees the present state with the next one.
type liveHub struct {
	mu      sync.Mutex
	readers map[*liveReader]bool
	state   liveView
	ending  *runVerdict
	past    []liveMessage // the latest events and messages, for a reader that comes late
	seconds []liveMessage // one view of each second of the load, the latest
	events  int64
	dropped int64
	ended   bool
}

// liveMessage is one server-sent event.
type liveMessage struct {
	kind string // its name: view, event, message or verdict
	data []byte // JSON in one line
}

// liveReader is one open page.
type liveReader struct {
	queue chan liveMessage
	ended chan struct{} // closed when the run is over
}

const (
	livePastMax    = 200
	liveQueueMax   = 1024 // the nodes' own events come in one go, at the end
	liveReadersMax = 32
	liveSecondsMax = 120 // what the page's charts show
)

func newLiveHub() *liveHub { return &liveHub{readers: map[*liveReader]bool{}} }

func (h *liveHub) message(text string) { h.publish(outputMessage, text, true) }

func (h *liveHub) event(e results.Event) {
	h.mu.Lock()
	h.events++
	h.mu.Unlock()
	h.publish(outputEvent, e, true)
}

func (h *liveHub) verdict(v runVerdict) {
	h.mu.Lock()
	h.ending = &v
	h.mu.Unlock()
	h.publish(outputVerdict, v, true)
}

func (h *liveHub) view(v *liveView) {
	h.mu.Lock()
	another := v.Step == stepLoad && (h.state.Step != stepLoad || int(v.ElapsedS) != int(h.state.ElapsedS))
	h.state = *v
	if another {
		if text, err := json.Marshal(v); err == nil {
			h.seconds = lastOf(append(h.seconds, liveMessage{outputProgress, text}), liveSecondsMax)
		}
	}
	h.mu.Unlock()
	h.publish(outputProgress, v, false)
}

func (h *liveHub) publish(kind string, what any, keep bool) {
	text, err := json.Marshal(what)
	if err != nil {
		panic("bench: a live message cannot be spelled: " + err.Error())
	}
	m := liveMessage{kind, text}
	h.mu.Lock()
	defer h.mu.Unlock()
	if keep {
		h.past = lastOf(append(h.past, m), livePastMax)
	}
	for r := range h.readers {
		select {
		case r.queue <- m:
		default:
			h.dropped++
		}
	}
}

func lastOf(list []liveMessage, most int) []liveMessage {
	return slices.Delete(list, 0, max(len(list)-most, 0))
}

// join makes a reader and returns what it must show first; false if there are too many.
func (h *liveHub) join() (r *liveReader, past []liveMessage, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.readers) >= liveReadersMax || h.ended {
		return nil, nil, false
	}
	r = &liveReader{queue: make(chan liveMessage, liveQueueMax), ended: make(chan struct{})}
	h.readers[r] = true
	past = slices.Concat(h.past, h.seconds)
	if text, err := json.Marshal(&h.state); err == nil && h.state.Step != "" {
		past = append(past, liveMessage{outputProgress, text})
	}
	return r, past, true
}

func (h *liveHub) leave(r *liveReader) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.readers, r)
}

// end lets every reader go.
func (h *liveHub) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return
	}
	h.ended = true
	for r := range h.readers {
		close(r.ended)
	}
}

// lastWord is the verdict, if there is one.
func (h *liveHub) lastWord() (liveMessage, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ending == nil {
		return liveMessage{}, false
	}
	text, err := json.Marshal(h.ending)
	return liveMessage{outputVerdict, text}, err == nil
}

// hubCounts is what /metrics says of the page itself.
type hubCounts struct {
	readers         int
	events, dropped int64
}

func (h *liveHub) look() (liveView, *runVerdict, hubCounts) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state, h.ending, hubCounts{len(h.readers), h.events, h.dropped}
}
