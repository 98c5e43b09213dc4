package sim

import (
	"testing"

	"rejoin/server/partition"
	"rejoin/server/vsr"
)

// TestReplyNeedsAQuorumOfDisks: a client may hear of an op that two of three disks have. Who has damage on record
// at that op may have had it; damage of other ops is no excuse.
func TestReplyNeedsAQuorumOfDisks(t *testing.T) {
	asked := vsr.Header{Op: 2, Sum: 7, Kind: vsr.KindBatch, Session: 1, Request: 1}
	headers := []vsr.Header{{Op: 1, Sum: 5, Kind: vsr.KindRegister}, asked}
	for name, c := range map[string]struct {
		other node // beside the one that answers, and one that has nothing
		fails bool
	}{
		"durable":             {other: node{seen: shadow{start: 1, headers: headers, durable: 2}}},
		"not synced":          {other: node{seen: shadow{start: 1, headers: headers, durable: 1}}, fails: true},
		"trimmed":             {other: node{seen: shadow{start: 3}}},
		"forgotten":           {other: node{lost: true, seen: shadow{start: 1}}},
		"damaged":             {other: node{rotted: true, seen: shadow{start: 1, headers: headers[:1], durable: 1, kept: 2}}},
		"comes again":         {other: node{rotted: true, seen: shadow{start: 1, headers: headers, durable: 1, kept: 2}}},
		"damaged below":       {other: node{rotted: true, seen: shadow{start: 1, headers: headers[:1], durable: 1, kept: 1}}, fails: true},
		"has been damaged":    {other: node{rotted: true, seen: shadow{start: 1, headers: headers[:1], durable: 1}}, fails: true},
		"has nothing, either": {other: node{seen: shadow{start: 1}}, fails: true},
	} {
		w := &world{setup: scriptSetup()}
		w.check.init(w)
		w.check.log = headers
		here := &node{w: w, seen: shadow{start: 1, headers: headers, durable: 2}}
		c.other.w = w
		w.nodes = []*node{here, &c.other, {w: w, seen: shadow{start: 1}}}
		failed := func() (failed bool) {
			defer func() { failed = recover() != nil }()
			w.check.replies(&process{n: here, w: w}, &asked, &partition.Answer{Outcome: vsr.OutcomeCommitted, Header: asked})
			return
		}()
		if failed != c.fails {
			t.Errorf("%s: the reply breaks S4: %v, want %v", name, failed, c.fails)
		}
	}
}
