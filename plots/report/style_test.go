package report

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// colours reads the variables of one block of the style sheet.
func colours(block string) map[string][3]float64 {
	out := map[string][3]float64{}
	for _, m := range regexp.MustCompile(`--([a-z-]+): #([0-9a-f]{6})`).FindAllStringSubmatch(block, -1) {
		n, _ := strconv.ParseUint(m[2], 16, 32) // the pattern allows nothing else
		out[m[1]] = [3]float64{float64(n >> 16), float64(n >> 8 & 255), float64(n & 255)}
	}
	return out
}

// contrast is that of WCAG 2: 1 to 21.
func contrast(a, b [3]float64) float64 {
	luminance := func(c [3]float64) float64 {
		sum := 0.0
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			v := c[i] / 255
			if v <= 0.04045 {
				v /= 12.92
			} else {
				v = math.Pow((v+0.055)/1.055, 2.4)
			}
			sum += weight * v
		}
		return sum
	}
	la, lb := luminance(a), luminance(b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

// TestContrast: text 4.5 to 1 and lines 3 to 1, on every ground that they stand on, in light and dark.
func TestContrast(t *testing.T) {
	light, dark, ok := strings.Cut(styleText, "@media screen and (prefers-color-scheme: dark)")
	if !ok {
		t.Fatal("the style sheet has no dark colours")
	}
	dark, _, _ = strings.Cut(dark, "* {")
	themes := map[string]map[string][3]float64{"light": colours(light), "dark": colours(light)}
	for name, c := range colours(dark) {
		themes["dark"][name] = c
	}
	for theme, c := range themes {
		check := func(least float64, on string, names ...string) {
			for _, name := range names {
				if got := contrast(c[name], c[on]); got < least {
					t.Errorf("%s: --%s on --%s has contrast %.2f, want %.1f", theme, name, on, got, least)
				}
			}
		}
		check(4.5, "paper", "ink", "muted", "link", "pass", "fail", "invalid")
		check(4.5, "sheet", "ink", "muted")
		check(4.5, "pass-sheet", "pass", "ink")
		check(4.5, "fail-sheet", "fail", "ink")
		check(4.5, "invalid-sheet", "invalid", "ink")
		check(4.5, "primary-fill", "ink")
		check(4.5, "backup-fill", "ink")
		check(4.5, "down-fill", "down-ink")
		check(3, "paper", "blue", "vermillion", "green", "purple", "line-ink", "gray")
		check(3, "backup-fill", "down-fill")
	}
}

// TestPaletteIsThatOfTheFigures: a series has the same colour on the page and in the figures, which are drawn for paper.
func TestPaletteIsThatOfTheFigures(t *testing.T) {
	light, _, _ := strings.Cut(styleText, "@media screen")
	for _, want := range []string{"--blue: #0072b2", "--vermillion: #d55e00", "--green: #009e73", "--purple: #cc79a7", "--sky: #56b4e9", "--orange: #e69f00"} {
		if !strings.Contains(light, want) {
			t.Errorf("the style sheet lacks %q of the Okabe-Ito palette", want)
		}
	}
}
