package mistake

import "testing"

func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range All() {
		if m.String() == "" || m.Text() == "" || seen[m.String()] {
			t.Errorf("mistake %d is called %q (%q), or another one is", m, m, m.Text())
		}
		seen[m.String()] = true
		if found, ok := Named(m.String()); !ok || found != m {
			t.Errorf("%s is found as %s", m, found)
		}
	}
	if _, ok := Named("hollowhead"); ok {
		t.Error("a name is found that is not exact")
	}
}

func TestSet(t *testing.T) {
	none, two := Set{}, Of(HollowHead, OfferGateByView)
	for _, m := range All() {
		if none.Has(m) {
			t.Errorf("the zero set has %s", m)
		}
		if want := m == HollowHead || m == OfferGateByView; two.Has(m) != want {
			t.Errorf("%s: %v, want %v", m, two.Has(m), want)
		}
	}
	if two.String() != "OfferGateByView, HollowHead" || none.String() != "" {
		t.Errorf("a set is told as %q, none as %q", two, none)
	}
}
