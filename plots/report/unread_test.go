package report

import (
	"strings"
	"testing"

	"rejoin/plots/report/sample"
	"rejoin/results"
)

// TestUnreadIsNoData: a page tells of no loss, no divergence and no node read to its end where nobody looked.
func TestUnreadIsNoData(t *testing.T) {
	const byReading, notAll = "Every replica was read by its own address", "Not every reading of the replicas was made"
	live := func(node, detail string) results.VerifyRound {
		return results.VerifyRound{Name: "live", Replica: node, Ok: detail == "", Detail: detail}
	}
	for name, test := range map[string]struct {
		change func(*results.Summary)
		lost   string   // the fact, its value and its note
		nodes  []string // found, lost and "read to its end" of each
		whole  bool
	}{
		"whole": {func(*results.Summary) {}, "0|0 duplicated, 0 reordered, no replica diverged", []string{"21,000|0|✓", "21,000|0|✓", "21,000|0|✓"}, true},
		"never": {func(s *results.Summary) { s.Verification = nil; s.VerificationWhole = new(false) }, "no data|not verified",
			[]string{"no data|no data|not read", "no data|no data|not read", "no data|no data|not read"}, false},
		"within the second replica": {func(s *results.Summary) {
			s.Verification, s.VerificationWhole = []results.VerifyRound{live("n0", ""), live("n1", "reading stopped at offset 8")}, new(false)
			s.Replicas[0].VerifiedBatches, s.Replicas[1].VerifiedBatches = 21_000, 7
		}, "no data|not every reading was made", []string{"21,000|no data|✓", "7|no data|– reading stopped at offset 8", "no data|no data|not read"}, false},
		"after a loss": {func(s *results.Summary) {
			s.Verification, s.VerificationWhole = []results.VerifyRound{live("n0", ""), live("n1", "")}, new(false)
			s.LostBatches, s.ReorderedBatches, s.DivergedReplicas = 3, 2, []string{"n1"}
			s.Replicas[0].VerifiedBatches, s.Replicas[1].VerifiedBatches, s.Replicas[1].LostBatches = 21_000, 20_997, 3
			s.Replicas[2].EndedFromOutside = "killed by somebody"
		}, "3|2 reordered, 1 node with a diverged replica, not every reading was made", []string{"21,000|no data|✓", "20,997|3|✓", "no data|no data|– killed by somebody"}, false},
		"unreadable": {func(s *results.Summary) { s.Replicas[2].UnreadableReason = "it did not answer" }, "0|0 duplicated, 0 reordered, no replica diverged",
			[]string{"21,000|0|✓", "21,000|0|✓", "21,000|0|✗ it did not answer"}, true},
	} {
		f, _ := written(t, sample.Options{})
		s, err := f.ReadSummary()
		if err != nil {
			t.Fatal(err)
		}
		s.VerificationWhole = new(true)
		if !test.whole {
			for i := range s.Replicas {
				s.Replicas[i].VerifiedBatches = 0
			}
		}
		test.change(&s)
		lost := lostFact(&s)
		if got := lost.Value + "|" + lost.Note; got != test.lost {
			t.Errorf("%s: lost %q, want %q", name, got, test.lost)
		}
		for i, row := range replicasTable(&s).Rows {
			if got := strings.Join([]string{row.Cells[1], row.Cells[2], row.Cells[8]}, "|"); got != test.nodes[i] {
				t.Errorf("%s: node %d %q, want %q", name, i, got, test.nodes[i])
			}
		}
		if err := f.WriteSummary(s); err != nil {
			t.Fatal(err)
		}
		page := pageOf(t, f)
		if strings.Contains(page, byReading) != test.whole || strings.Contains(page, notAll) == test.whole {
			t.Errorf("%s: what the run proves by its readings is not said as it is", name)
		}
		if !test.whole && strings.Contains(page, "no replica diverged") {
			t.Errorf("%s: the page says that no replica diverged", name)
		}
	}
}
