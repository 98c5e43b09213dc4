package plots

import (
	"bytes"
	"encoding/xml"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// checkDrawn holds that all ten files are there, the SVGs are XML and the PNGs decode; it returns the text of each SVG by name.
func checkDrawn(t *testing.T, dir string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, name := range Names() {
		b, err := os.ReadFile(filepath.Join(dir, name+".svg"))
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = svgText(t, name, b)
		b, err = os.ReadFile(filepath.Join(dir, name+".png"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := png.Decode(bytes.NewReader(b)); err != nil {
			t.Errorf("%s.png: %v", name, err)
		}
	}
	return texts
}

// svgText parses an SVG strictly and returns its text elements, one a line.
func svgText(t *testing.T, name string, svg []byte) string {
	t.Helper()
	var text strings.Builder
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		tok, err := d.Token()
		if err == io.EOF {
			return text.String()
		}
		if err != nil {
			t.Fatalf("%s.svg is no XML: %v", name, err)
		}
		if start, ok := tok.(xml.StartElement); ok {
			switch start.Name.Local {
			case "svg", "g", "path", "text", "rect":
			default:
				t.Errorf("%s.svg holds an element %q", name, start.Name.Local)
			}
		}
		if chars, ok := tok.(xml.CharData); ok {
			text.Write(chars)
			text.WriteByte('\n')
		}
	}
}
