package house

import (
	"os"
	"regexp"
	"testing"
)

// TestMakefileDefaults holds that a default is one word: in $(or $(X),a,b) make
// takes b for another alternative, so that a list written there loses all but
// its first name without a word.
func TestMakefileDefaults(t *testing.T) {
	text, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, fallback := range regexp.MustCompile(`\$\(or \$\(\w+\),[^()]*\)`).FindAllString(string(text), -1) {
		if regexp.MustCompile(`,.*,`).MatchString(fallback) {
			t.Errorf("%s gives only the first name of its list", fallback)
		}
	}
}
