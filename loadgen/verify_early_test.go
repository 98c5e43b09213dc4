package loadgen_test

import (
	"slices"
	"strings"
	"testing"

	"rejoin/loadgen"
)

// TestVerifyCutShort: what was read is judged. That no replica holds a batch is known only where each was read.
func TestVerifyCutShort(t *testing.T) {
	for name, c := range map[string]struct {
		logs    [][]int
		read    []string
		verdict loadgen.VerifyVerdict
		lost    int64
		unread  []string
	}{
		"one of two that ends early":  {[][]int{{0}, {0, 1}}, []string{"r0"}, loadgen.VerifyInconclusive, 0, []string{"r1"}},
		"both end early":              {[][]int{{0}, {0}}, []string{"r0", "r1"}, loadgen.VerifyFail, 1, nil},
		"missing in the middle":       {[][]int{{-1, 1}, {0, 1}}, []string{"r0"}, loadgen.VerifyFail, 1, []string{"r1"}},
		"all there, and that is none": {[][]int{{0, 1}, {0, 1}}, []string{"r0", "r1"}, loadgen.VerifyInconclusive, 0, nil},
	} {
		h, ledgers := handmade(t, []loadgen.Outcome{ok, ok}, []uint64{0, 1}, c.logs...)
		v, err := loadgen.NewVerifier(loadgen.VerifyOptions{Ledgers: ledgers})
		if err != nil {
			t.Fatal(err)
		}
		for _, replica := range c.read {
			v.Read(t.Context(), h, replica)
		}
		report := v.FinishEarly("the nodes did not end")
		if report.Verdict != c.verdict || report.LostBatches != c.lost || !slices.Equal(report.UnreadReplicas, c.unread) ||
			!strings.Contains(strings.Join(report.Reasons, "\n"), "the nodes did not end") {
			t.Errorf("%s: verdict %s, %d lost, %q unread: %q", name, report.Verdict, report.LostBatches, report.UnreadReplicas, report.Reasons)
		}
	}
}
