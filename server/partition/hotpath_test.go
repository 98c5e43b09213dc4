package partition

import (
	"runtime"
	"slices"
	"testing"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// TestZeroCopy follows one batch: every slice that reaches a segment file or the network is the very
// buffer that held the request, on the primary, and the one the network filled, on a backup. The
// only copies of the body are those the sockets make.
func TestZeroCopy(t *testing.T) {
	r := newRig(t)
	p := r.primary()
	session := p.register()
	body := batchBody(100)
	for _, n := range r.nodes {
		n.frames, n.writes, n.copied = nil, make([]uintptr, 0, 16), 0
	}
	b := p.pool.Get(wire.OwnerPartition)
	drawBatch(b, body, session, 1, 100)
	base := address(b.Frame())
	if a := p.request(vsr.Input{Kind: vsr.InRequest, Header: b.Header}, b); a.Outcome != vsr.OutcomeCommitted {
		t.Fatalf("outcome %d", a.Outcome)
	}
	if len(p.frames) != 2 || p.frames[0] != base || p.frames[1] != base {
		t.Errorf("the network was given frames at %#x, the request lies at %#x", p.frames, base)
	}
	if !slices.Contains(p.writes, base) {
		t.Errorf("the segment file was given slices at %#x, the request lies at %#x", p.writes, base)
	}
	for _, n := range r.nodes {
		inPool := 0
		for _, a := range n.writes {
			if held := n.part.ring.find(n.part.Status().Head); held != nil && address(held.Frame()) == a {
				inPool++
			}
		}
		if inPool != 1 {
			t.Errorf("node %d wrote %d slices from the buffer in its ring, want 1 of %d", n.id, inPool, len(n.writes))
		}
		want := wire.HeaderBytes + len(body)
		if n == p {
			want = 0
		}
		if n.copied != want {
			t.Errorf("node %d: %d bytes were copied between sockets, want %d", n.id, n.copied, want)
		}
	}
}

// TestHotPathAllocations holds what the primary allocates for a batch: nothing that grows with the
// body. The rig's own messages and files are in the figure too.
func TestHotPathAllocations(t *testing.T) {
	r := newRig(t)
	p := r.primary()
	session := p.register()
	perBatch := func(messages int) uint64 {
		const batches = 64
		body := batchBody(messages)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range batches {
			commitOne(t, p, body, session, messages)
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / batches
	}
	small, large := perBatch(10), perBatch(1000)
	if bound := uint64(16 << 10); large > bound || small > bound {
		t.Errorf("%d bytes a batch of 10 messages, %d a batch of 1,000: more than %d", small, large, bound)
	}
	if large > small+4096 {
		t.Errorf("allocation grows with the body: %d bytes a batch of 2,680 bytes, %d a batch of 268,000", small, large)
	}
}

func commitOne(t testing.TB, p *rigNode, body []byte, session uint64, messages int) {
	b := p.pool.Get(wire.OwnerPartition)
	p.requests++
	drawBatch(b, body, session, p.requests, uint32(messages))
	if a := p.request(vsr.Input{Kind: vsr.InRequest, Header: b.Header}, b); a.Outcome != vsr.OutcomeCommitted {
		t.Fatalf("outcome %d", a.Outcome)
	}
}

// BenchmarkCommit is one batch of 100 messages at a time through primary and two backups: encode,
// stamp, append and sync on three logs, acknowledge, commit.
func BenchmarkCommit(b *testing.B) {
	r := newRig(b)
	p := r.primary()
	session := p.register()
	body := batchBody(100)
	b.SetBytes(int64(wire.HeaderBytes + len(body)))
	b.ReportAllocs()
	for b.Loop() {
		commitOne(b, p, body, session, 100)
	}
}
