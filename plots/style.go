package plots

import (
	"image/color"
	"strings"
	"unicode"
	"unicode/utf8"

	stdfont "golang.org/x/image/font"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The Okabe-Ito palette: told apart by people with any common colour blindness.
var (
	black      = color.NRGBA{0, 0, 0, 255}
	orange     = color.NRGBA{0xE6, 0x9F, 0x00, 255}
	skyBlue    = color.NRGBA{0x56, 0xB4, 0xE9, 255}
	green      = color.NRGBA{0x00, 0x9E, 0x73, 255}
	blue       = color.NRGBA{0x00, 0x72, 0xB2, 255}
	vermillion = color.NRGBA{0xD5, 0x5E, 0x00, 255}
	purple     = color.NRGBA{0xCC, 0x79, 0xA7, 255}

	ink90      = color.NRGBA{0x22, 0x22, 0x22, 255}
	ink60      = color.NRGBA{0x59, 0x59, 0x59, 255}
	gridInk    = color.NRGBA{0xE4, 0xE4, 0xE4, 255}
	colorWhite = color.NRGBA{255, 255, 255, 255}
)

// tint is a colour as background: light enough for every line to stay readable on it.
func tint(c color.NRGBA) color.NRGBA {
	c.A = 0x48
	return c
}

var (
	solid   []vg.Length
	dashed  = []vg.Length{6, 3}
	dotted  = []vg.Length{1.5, 2.5}
	dashDot = []vg.Length{7, 2.5, 1.5, 2.5}
)

func stroke(c color.Color, widthPt float64, dashes []vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: vg.Points(widthPt), Dashes: dashes}
}

// ink holds the fonts of one drawing. Each drawing has its own, because what the library shares by default is not safe for concurrent use.
type ink struct{ plain text.Plain }

func newInk() *ink { return &ink{text.Plain{Fonts: font.NewCache(liberation.Collection())}} }

// text returns a style of the bundled sans font.
func (k *ink) text(sizePt float64, c color.Color, x text.XAlignment, y text.YAlignment) text.Style {
	return text.Style{
		Color: c, XAlign: x, YAlign: y, Handler: k.plain,
		Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(sizePt)},
	}
}

func (k *ink) bold(sizePt float64, c color.Color, x text.XAlignment, y text.YAlignment) text.Style {
	s := k.text(sizePt, c, x, y)
	s.Font.Weight = stdfont.WeightBold
	return s
}

// labelRunesMax bounds a name in a figure; a longer one would push the data away.
const labelRunesMax = 130

// label makes any text fit for a figure: one line, no characters that XML forbids, bounded. The SVG writer escapes the rest.
func label(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) > labelRunesMax {
		s = string([]rune(s)[:labelRunesMax-1]) + "…"
	}
	return s
}
