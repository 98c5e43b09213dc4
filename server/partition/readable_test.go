package partition

import (
	"testing"

	"rejoin/server/vsr"
)

// Readers are not shown what the disk is about to cut, though something else is committed there by now.
func TestReadersStayBelowAQueuedCut(t *testing.T) {
	n := newRig(t).nodes[0]
	p, commit := n.part, n.part.Status().Commit
	later := vsr.ID{Op: commit.Op + 5, Sum: 1}
	p.perform(&vsr.Effect{Kind: vsr.EffCut, ID: commit, Top: commit})
	p.perform(&vsr.Effect{Kind: vsr.EffCut, ID: vsr.ID{Op: commit.Op + 2}, Top: commit})
	p.perform(&vsr.Effect{Kind: vsr.EffCommit, ID: later})
	if n.readable > commit.Op {
		t.Errorf("readers see op %d while what lies above op %d is about to be cut", n.readable, commit.Op)
	}
	p.settleReadable(vsr.InCutDone)
	if n.readable > commit.Op {
		t.Errorf("readers see op %d while the second cut is queued", n.readable)
	}
	p.settleReadable(vsr.InCutDone)
	if n.readable != later.Op {
		t.Errorf("readers see op %d, all up to op %d is committed and in its place", n.readable, later.Op)
	}
	p.commit = commit // as it was, for the end of the rig
}
