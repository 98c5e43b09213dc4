package sim

import (
	"fmt"
	"strings"

	"rejoin/server/vsr"
)

// transcript is the story of a play: the script's steps, and below each what came of it. It names no
// times, so that it stays the same when only a delay changes.
type transcript struct {
	lines []string
	times []int
}

// step begins a step.
func (t *transcript) step(text string) { t.lines, t.times = append(t.lines, text), append(t.times, 1) }

// add writes what happened; the same thing again is only counted.
func (t *transcript) add(format string, args ...any) {
	line := "    " + fmt.Sprintf(format, args...)
	if last := len(t.lines) - 1; last >= 0 && t.lines[last] == line {
		t.times[last]++
		return
	}
	t.lines, t.times = append(t.lines, line), append(t.times, 1)
}

func (t *transcript) String() string {
	var b strings.Builder
	for i, line := range t.lines {
		b.WriteString(line)
		if t.times[i] > 1 {
			fmt.Fprintf(&b, " (%d times)", t.times[i])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// message writes one that is being sent.
func (t *transcript) message(m *vsr.Message, f fate) {
	end := ""
	switch {
	case f.drop:
		end = ", which is lost"
	case f.copy:
		end = ", which comes once more, later"
	case f.keep:
		end = ", which is held back"
	case f.delay > 0:
		end = ", which comes late"
	}
	t.add("r%d to r%d: %s%s", m.From, m.To, messageText(m), end)
}

// messageText says what a message is about.
func messageText(m *vsr.Message) string {
	switch m.Kind {
	case vsr.MsgPull:
		if m.Staged {
			return "pull the whole chain"
		}
		return fmt.Sprintf("pull %d..%d", m.FromOp, m.ToOp)
	case vsr.MsgPullRefused:
		if m.FromOp == 0 {
			return "refused: nothing of it is here"
		}
		return fmt.Sprintf("refused: retained from %d", m.FromOp)
	case vsr.MsgChunk:
		return fmt.Sprintf("chunk %d..%d", m.FromOp, m.ToOp)
	case vsr.MsgTable:
		return fmt.Sprintf("offer of view %d: the chain %d..%d", m.View, m.FromOp, m.Head.Op)
	case vsr.MsgPrepare, vsr.MsgFetched:
		return fmt.Sprintf("%s %d of view %d, in view %d", m.Kind, m.Header.Op, m.Header.View, m.View)
	case vsr.MsgPrepareOK:
		return fmt.Sprintf("prepare_ok %d in view %d", m.Ack.Op, m.View)
	case vsr.MsgFetch, vsr.MsgNotHeld:
		return fmt.Sprintf("%s %d", m.Kind, m.Ack.Op)
	case vsr.MsgStartView, vsr.MsgDoViewChange, vsr.MsgBeat:
		return fmt.Sprintf("%s: view %d, log_view %d, commit %d, head %d", m.Kind, m.View, m.LogView, m.Commit.Op, m.Head.Op)
	case vsr.MsgAskPrepares:
		return fmt.Sprintf("ask_prepares %d..%d", m.FromOp, m.ToOp)
	case vsr.MsgTellHead:
		return fmt.Sprintf("tell_head: view %d, commit %d, head %d", m.View, m.Commit.Op, m.Head.Op)
	}
	return fmt.Sprintf("%s of view %d", m.Kind, m.View)
}

// event writes what a replica says of itself, where it matters.
func (t *transcript) event(node int, e *vsr.Event) {
	switch e.Kind {
	case vsr.EventRole:
		if e.Reason == "primary" {
			t.add("r%d leads view %d", node, e.View)
		}
	case vsr.EventViewChangeBegin:
		if e.Reason != "heard of the view" {
			t.add("r%d raises its view to %d: %s", node, e.View, e.Reason)
		}
	case vsr.EventTransferBegin:
		t.add("r%d begins a transfer of %d..%d from r%d", node, e.FromOp, e.ToOp, e.Peer)
	case vsr.EventTransferEnd:
		t.add("r%d ends its transfer up to %d", node, e.ToOp)
	case vsr.EventWiped:
		t.add("r%d votes again: %s", node, e.Reason)
	case vsr.EventStepDown:
		t.add("r%d steps down: %s", node, e.Reason)
	case vsr.EventHole:
		t.add("r%d has a hole at %d..%d: %s", node, e.FromOp, e.ToOp, e.Reason)
	case vsr.EventCannotKeepUp:
		t.add("r%d cannot keep up: %s", node, e.Reason)
	}
}
