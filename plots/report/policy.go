package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"
)

// policyOf is the Content-Security-Policy of a page: nothing is loaded from anywhere, and the only scripts that run are the page's own and
// those of its flame graphs, each by its hash. Frames made from text inherit it. Styles are inline, because a drawing's places are.
func policyOf(script string, flames []*flame) string {
	hashes := []string{hashOf([]byte(script))}
	for _, f := range flames {
		for _, s := range scriptsOf(f.page) {
			if h := hashOf(s); !slices.Contains(hashes, h) {
				hashes = append(hashes, h)
			}
		}
	}
	return "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; style-src 'unsafe-inline'; script-src " + strings.Join(hashes, " ")
}

// hashOf is the hash of a script's text, in which a browser has made every line end a newline.
func hashOf(script []byte) string {
	sum := sha256.Sum256(bytes.ReplaceAll(bytes.ReplaceAll(script, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n")))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// scriptsOf are the texts of the script elements of a page that pprof wrote: lower case, and without a "</script" in their strings.
func scriptsOf(page []byte) [][]byte {
	var out [][]byte
	for {
		_, rest, ok := bytes.Cut(page, []byte("<script"))
		if !ok {
			return out
		}
		_, body, ok := bytes.Cut(rest, []byte(">"))
		if !ok {
			return out
		}
		text, after, ok := bytes.Cut(body, []byte("</script"))
		if !ok {
			return out
		}
		out = append(out, text)
		page = after
	}
}
