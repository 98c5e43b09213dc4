package peer

import (
	"errors"
	"io"
	"sync"
	"time"
)

// noteHandshake counts a failed handshake and tells of a refusal once.
func (n *Network) noteHandshake(err error, other int) {
	var refused *RefusedError
	if !errors.As(err, &refused) {
		if other < 0 && !errors.Is(err, io.EOF) { // a prober connects and says nothing
			n.handshakesBad.Add(1)
		}
		return
	}
	if refused.Peer < 0 {
		n.handshakesBad.Add(1)
	} else {
		n.remotes[refused.Peer].counters.handshakesRefused.Add(1)
		n.remotes[refused.Peer].noteRefusal(refused)
	}
	if !n.refusals.isNew(refused) {
		return
	}
	id := "unknown"
	if refused.Peer >= 0 {
		id = n.options.Nodes[refused.Peer].ID
	}
	n.options.Logger.Warn("peer handshake refused", "peer", id, "reason", refused.Reason.String(), "by_peer", refused.ByPeer, "text", refused.Text)
	n.options.Handler.Refused(refused.Peer, refused)
}

// refusalStands is how long a refused handshake speaks of the present: who is refused comes back several times a second.
const refusalStands = 5 * time.Second

// Refusal is why a node is not linked, if handshakes are refused; nil if it is linked, or has not been heard.
func (n *Network) Refusal(node int) *RefusedError {
	r := n.remotes[node]
	if r == nil || r.protocol.Load() != nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.refusedAt) > refusalStands {
		return nil
	}
	return r.refusal
}

// noteRefusal keeps the last refusal. What a stranger may have caused does not take the place of what was proven.
func (r *remote) noteRefusal(e *RefusedError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if proven := r.refusal != nil && r.refusal.Reason > RefusedSecret; proven && e.Reason <= RefusedSecret && time.Since(r.refusedAt) <= refusalStands {
		return
	}
	r.refusal, r.refusedAt = e, time.Now()
}

// forgetRefusal is for a node that is linked.
func (r *remote) forgetRefusal() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refusal = nil
}

// refusalLog remembers what has been said, so that redials do not repeat it.
type refusalLog struct {
	mu   sync.Mutex
	said map[RefusedError]bool
}

const refusalsRememberedMax = 256

func (l *refusalLog) isNew(e *RefusedError) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := *e
	if e.Reason <= RefusedSecret {
		key.Text = "" // a stranger may have chosen the words, new ones each time
	}
	if l.said[key] || len(l.said) >= refusalsRememberedMax {
		return false
	}
	if l.said == nil {
		l.said = make(map[RefusedError]bool)
	}
	l.said[key] = true
	return true
}

// forget makes the next refusal of a node news again, once a link to it came up.
func (l *refusalLog) forget(peer int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key := range l.said {
		if key.Peer == peer {
			delete(l.said, key)
		}
	}
}
