package peer

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// handshake is one side of one attempt. The dialer proves itself first: whoever only reaches our
// port learns nothing that it could try secrets against.
type handshake struct {
	n          *Network
	conn       net.Conn
	other      int // -1 until it is known
	purpose    purpose
	said       localState
	transcript []byte
}

// dialHandshake runs the dialer's side on a fresh connection.
func (n *Network) dialHandshake(conn net.Conn, other int, p purpose) (*link, error) {
	h := &handshake{n: n, conn: conn, other: other, purpose: p, said: n.localNow()}
	return h.run(h.dialSide)
}

// acceptHandshake runs the acceptor's side on a fresh connection.
func (n *Network) acceptHandshake(conn net.Conn) (*link, error) {
	h := &handshake{n: n, conn: conn, other: -1, said: n.localNow()}
	return h.run(h.acceptSide)
}

func (h *handshake) run(side func() (facts, error)) (*link, error) {
	if err := h.conn.SetDeadline(time.Now().Add(h.n.options.timing.handshake)); err != nil {
		return nil, err
	}
	theirs, err := side()
	if refused := (*RefusedError)(nil); errors.As(err, &refused) {
		refused.Peer = h.other
		if !refused.ByPeer && theirs.verdict != refused.Reason {
			h.part(refused)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := h.conn.SetDeadline(time.Time{}); err != nil {
		return nil, err
	}
	h.n.remotes[h.other].raiseKnown(theirs.incarnation.Boot)
	return newLink(h.n, h.n.remotes[h.other], h.conn, h.purpose, theirs, h.said.generation), nil
}

func (h *handshake) dialSide() (theirs facts, err error) {
	hello := make([]byte, helloBytes)
	hello[0], hello[1], hello[2] = byte(h.purpose), byte(h.n.options.Self), byte(h.other)
	if _, err := rand.Read(hello[8:]); err != nil {
		return theirs, err
	}
	if err := h.send(recordHello, hello); err != nil {
		return theirs, err
	}
	if body, err := h.receive(recordChallenge); err != nil || len(body) != nonceBytes {
		return theirs, orMalformed(err)
	}
	if err := h.sendProven(recordProof, h.facts(0), ""); err != nil {
		return theirs, err
	}
	theirs, words, err := h.receiveProven(recordAnswer)
	if err != nil {
		return theirs, err
	}
	if theirs.verdict != 0 {
		return theirs, h.refusedByPeer(theirs, words)
	}
	verdict := h.judge(theirs)
	if err := h.sendVerdict(recordFinal, verdict); err != nil {
		return theirs, err
	}
	return h.settled(theirs, verdict)
}

func (h *handshake) acceptSide() (theirs facts, err error) {
	if err := h.receiveHello(); err != nil {
		return theirs, err
	}
	nonce := make([]byte, nonceBytes)
	if _, err := rand.Read(nonce); err != nil {
		return theirs, err
	}
	if err := h.send(recordChallenge, nonce); err != nil {
		return theirs, err
	}
	if theirs, _, err = h.receiveProven(recordProof); err != nil {
		return theirs, err
	}
	verdict := h.judge(theirs)
	if err := h.sendVerdict(recordAnswer, verdict); err != nil || verdict != nil {
		return h.settled(theirs, verdict, err)
	}
	final, words, err := h.receiveProven(recordFinal)
	if err != nil {
		return theirs, err
	}
	if final.verdict != 0 {
		return theirs, h.refusedByPeer(final, words)
	}
	return theirs, nil
}

// settled turns a verdict that has been sent into this side's result.
func (h *handshake) settled(theirs facts, verdict *RefusedError, errs ...error) (facts, error) {
	if err := errors.Join(errs...); err != nil {
		return theirs, err
	}
	if verdict == nil {
		return theirs, nil
	}
	theirs.verdict = verdict.Reason // said already, under a mac
	return theirs, verdict
}

func (h *handshake) receiveHello() error {
	body, err := h.receive(recordHello)
	if err != nil {
		return err
	}
	if len(body) != helloBytes {
		return orMalformed(nil)
	}
	from, to := int(body[1]), int(body[2])
	h.purpose = purpose(body[0])
	switch self := h.n.options.Self; {
	case h.purpose != purposeProtocol && h.purpose != purposeBulk:
		return orMalformed(nil)
	case to != self:
		return &RefusedError{Reason: RefusedUnknownNode, Text: fmt.Sprintf("node number %d was called, this is number %d; compare the addresses in cluster.yaml", to, self)}
	case from >= len(h.n.options.Nodes) || from >= self:
		return &RefusedError{Reason: RefusedUnknownNode, Text: fmt.Sprintf("node number %d does not exist or is not one that dials number %d; compare cluster.yaml on both", from, self)}
	}
	h.other = from
	return nil
}

// judge compares what the other side has proven to say.
func (h *handshake) judge(theirs facts) *RefusedError {
	refuse := func(reason Refusal, text string, args ...any) *RefusedError {
		return &RefusedError{Reason: reason, Text: fmt.Sprintf(text, args...)}
	}
	o := &h.n.options
	self, other := o.Nodes[o.Self].ID, o.Nodes[h.other].ID
	known := h.n.remotes[h.other].knownBoot()
	switch {
	case theirs.format == 0 || theirs.format >= formatsEnd:
		return refuse(RefusedMalformed, "%s is no state of a data directory", theirs.format)
	case theirs.cluster != o.ClusterID:
		return refuse(RefusedCluster, "%s and %s belong to different clusters; compare the cluster's name in cluster.yaml on both", self, other)
	case theirs.nodes != h.n.nodesDigest:
		return refuse(RefusedNodes, "%s and %s list different nodes; compare the node ids and their order in cluster.yaml on both", self, other)
	case theirs.fixed != o.FixedDigest:
		return refuse(RefusedFixed, "%s and %s have different topics or another limits.pipeline_ops; both are fixed when a cluster is formatted, compare cluster.yaml on both", self, other)
	case theirs.incarnation.Boot < known:
		r := refuse(RefusedBoot, "%s comes with boot counter %d, %s has known %d: its data directory was lost or is an old copy", other, theirs.incarnation.Boot, self, known)
		r.KnownBoot, r.Format = known, theirs.format
		return r
	}
	return nil
}

func (h *handshake) facts(verdict Refusal) facts {
	return facts{cluster: h.n.options.ClusterID, nodes: h.n.nodesDigest, fixed: h.n.options.FixedDigest,
		incarnation: h.said.Incarnation, format: h.said.Format, knownBoot: h.n.remotes[h.other].knownBoot(), verdict: verdict}
}

// refusedByPeer takes over the other side's verdict. Its directory and the lives that it knows count only if it is of this
// cluster: a stranger that has taken a node's address would else make a new cluster believe that it has forgotten something.
func (h *handshake) refusedByPeer(theirs facts, words []byte) *RefusedError {
	r := &RefusedError{ByPeer: true, Reason: theirs.verdict, Text: printable(words)}
	if o := &h.n.options; theirs.cluster == o.ClusterID && theirs.nodes == h.n.nodesDigest && theirs.fixed == o.FixedDigest {
		r.KnownBoot, r.Format = theirs.knownBoot, theirs.format
	}
	return r
}

func (h *handshake) sendVerdict(kind recordType, verdict *RefusedError) error {
	if verdict == nil {
		return h.sendProven(kind, h.facts(0), "")
	}
	return h.sendProven(kind, h.facts(verdict.Reason), verdict.Text)
}

func (h *handshake) send(kind recordType, body []byte) error {
	record := appendRecord(nil, kind, body)
	h.transcript = append(h.transcript, record...)
	_, err := h.conn.Write(record)
	return err
}

func (h *handshake) sendProven(kind recordType, f facts, words string) error {
	body := appendFacts(nil, &f)
	body = append(body, words[:min(len(words), wordsMax)]...)
	record := appendRecord(nil, kind, append(body, make([]byte, macBytes)...))
	unsigned := record[:len(record)-macBytes]
	copy(record[len(unsigned):], h.mac(unsigned))
	h.transcript = append(h.transcript, record...)
	_, err := h.conn.Write(record)
	return err
}

func (h *handshake) mac(unsigned []byte) []byte {
	m := hmac.New(sha256.New, h.n.options.Secret)
	m.Write(h.transcript)
	m.Write(unsigned)
	return m.Sum(nil)
}

func (h *handshake) receive(want recordType) (body []byte, err error) {
	kind, record, err := readRecord(h.conn)
	if err != nil {
		return nil, err
	}
	body = record[recordHeadBytes:]
	if kind == recordRefusal && len(body) > 0 {
		// Unproven: a reason that a node acts on, such as RefusedBoot, cannot come this way.
		reason := Refusal(body[0])
		if reason > RefusedSecret {
			reason = RefusedMalformed
		}
		return nil, &RefusedError{ByPeer: true, Reason: reason, Text: printable(body[1:])}
	}
	if kind != want {
		return nil, &RefusedError{Reason: RefusedMalformed, Text: fmt.Sprintf("handshake record %d came where %d was expected", kind, want)}
	}
	h.transcript = append(h.transcript, record...)
	return body, nil
}

func (h *handshake) receiveProven(want recordType) (facts, []byte, error) {
	before := len(h.transcript)
	body, err := h.receive(want)
	if err != nil {
		return facts{}, nil, err
	}
	if len(body) < factsBytes+macBytes {
		return facts{}, nil, orMalformed(nil)
	}
	record := h.transcript[before:]
	said := record[len(record)-macBytes:]
	m := hmac.New(sha256.New, h.n.options.Secret)
	m.Write(h.transcript[:len(h.transcript)-macBytes])
	if !hmac.Equal(said, m.Sum(nil)) {
		return facts{}, nil, &RefusedError{Reason: RefusedSecret, Text: "the other side does not know this cluster's secret; compare the secrets of both nodes"}
	}
	return parseFacts(body), body[factsBytes : len(body)-macBytes], nil
}

// part says why in words, unproven, and gives them time to arrive: closing with unread bytes in the
// socket would throw the words away at the other side.
func (h *handshake) part(why *RefusedError) {
	words := why.Text[:min(len(why.Text), wordsMax)]
	record := appendRecord(nil, recordRefusal, append([]byte{byte(why.Reason)}, words...))
	if _, err := h.conn.Write(record); err != nil {
		return
	}
	if half, ok := h.conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_, _ = io.CopyN(io.Discard, h.conn, 64<<10) // ends at the handshake's deadline at the latest
	}
}

func orMalformed(err error) error {
	if err != nil {
		return err
	}
	return &RefusedError{Reason: RefusedMalformed, Text: "a handshake record has the wrong length"}
}
