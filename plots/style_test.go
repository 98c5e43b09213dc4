package plots

import (
	"strings"
	"testing"
)

func TestLabel(t *testing.T) {
	for got, want := range map[string]string{
		label("a\x00b\nc\td"): "a b c d", label("\xff\xfe"): "", label(strings.Repeat("é", 500)): strings.Repeat("é", labelRunesMax-1) + "…",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
