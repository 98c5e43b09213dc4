package partition

import (
	"testing"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// One message may commit twice: by the commit that it names, and by what it acknowledges. The client table
// is as of the second at once, and must not be checkpointed before that has been told.
func TestCheckpointAfterTheLastOfSeveralCommits(t *testing.T) {
	r := newRigOf(t, 1)
	p := r.primary()
	session := p.register()
	var ids []vsr.ID
	for request := range uint64(2) {
		b := p.pool.Get(wire.OwnerPartition)
		drawBatch(b, batchBody(1), session, request+1, 1)
		p.tokens++
		p.handle(vsr.Input{Kind: vsr.InRequest, Token: p.tokens, Now: int64(p.tokens), Header: b.Header}, b)
		b.Release(wire.OwnerPartition)
		ids = append(ids, p.part.Status().Head)
	}
	for !p.work() {
	}
	backup, s := (p.id+1)%len(r.nodes), p.part.Status()
	p.tables = nil
	p.handle(vsr.Input{Kind: vsr.InMessage, Msg: vsr.Message{Kind: vsr.MsgPrepareOK, Group: rigGroup, From: uint8(backup), To: uint8(p.id), Incarnation: incarnation(backup),
		View: s.View, LogView: s.LogView, Commit: ids[0], Ack: ids[1]}}, nil)
	if p.told != ids[1] {
		t.Fatalf("op %d is committed, want op %d", p.told.Op, ids[1].Op)
	}
	if len(p.tables) != 1 { // rigNode.Work has held it against what was told
		t.Errorf("%d checkpoints for the two commits, want 1", len(p.tables))
	}
	r.settle()
}
