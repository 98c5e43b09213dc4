package main

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// plainText spells what a terminal would obey instead of showing: control characters and escape sequences, marks that turn the direction of
// writing, bytes that are no UTF-8. Names and reasons come from files that anybody may have written. Line breaks and tabs stay.
func plainText(text string) string {
	if strings.IndexFunc(text, obeyed) < 0 {
		return text
	}
	var b strings.Builder
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[at])
		case r == utf8.RuneError || !obeyed(r):
			b.WriteString(text[at : at+size])
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		at += size
	}
	return b.String()
}

// plainLine is plainText of what must not begin a line of its own.
func plainLine(text string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(plainText(text))
}

func obeyed(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r == utf8.RuneError: // also a byte that is no UTF-8
		return true
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}

// plainWriter is an output for people: what is written comes out as plainText.
type plainWriter struct {
	to   io.Writer
	rest []byte // the begin of a character whose other bytes are still to come
}

func (w *plainWriter) Write(p []byte) (int, error) {
	text := append(w.rest, p...)
	whole := len(text)
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if tail := text[len(text)-back:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				whole -= back
			}
			break
		}
	}
	_, err := io.WriteString(w.to, plainText(string(text[:whole])))
	w.rest = append([]byte(nil), text[whole:]...)
	return len(p), err
}

// unplain is what a plainWriter writes to: for what draws on a terminal itself, and for a child process, which has its own.
func unplain(out io.Writer) io.Writer {
	if w, ok := out.(*plainWriter); ok {
		return w.to
	}
	return out
}
