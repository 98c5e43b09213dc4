package api

import (
	"bytes"

	"github.com/valyala/fasthttp"

	"rejoin/server/wire"
)

const (
	mediaFrame = "application/vnd.rejoin.frame"
	mediaJSON  = "application/json"

	sessionBytesMax = 4 << 10 // of the body that opens a session
)

// judge decides by the head alone whether a request's body may be read. It is asked twice, before
// the body and by the handler, and answers the same: it looks at nothing but the head and settings
// that do not change.
func (p *ClientPlane) judge(h *fasthttp.RequestHeader) (target, *refusal) {
	if namesTransferEncoding(h.RawHeaders()) {
		// Also beside a Content-Length: two framings in one head are how requests are smuggled.
		return target{}, refusedEncoding
	}
	if !p.token.allows(h.Peek(fasthttp.HeaderAuthorization)) {
		return target{}, refusedToken
	}
	if !p.token.needed {
		if refused := p.called.guest(h); refused != nil {
			return target{}, refused
		}
	}
	t, refused := parseTarget(h.RequestURI())
	if refused != nil {
		return t, refused
	}
	if string(h.Method()) != routeMethods[t.route] {
		return t, refusedMethod
	}
	return t, p.judgeBody(t.route, h)
}

func (p *ClientPlane) judgeBody(r route, h *fasthttp.RequestHeader) *refusal {
	length := h.ContentLength()
	if encoding := h.Peek(fasthttp.HeaderContentEncoding); len(encoding) > 0 {
		return refusedCompressed
	}
	switch r {
	case routeBatches:
		switch {
		case !isMedia(h.ContentType(), mediaFrame):
			return refusedMedia
		case length < 0:
			return refusedNoLength
		case length > wire.HeaderBytes+p.options.BatchBytes:
			return refusedLarge
		case length < wire.HeaderBytes:
			return refusedShort
		}
	case routeSessions:
		switch {
		case length > 0 && !isMedia(h.ContentType(), mediaJSON):
			return refusedMedia
		case length > sessionBytesMax:
			return refusedLarge
		}
	default:
		if length > 0 {
			return refusedBody
		}
	}
	return nil
}

// isMedia compares a Content-Type without its parameters.
func isMedia(contentType []byte, media string) bool {
	name, _, _ := bytes.Cut(contentType, []byte(";"))
	return string(bytes.TrimSpace(name)) == media
}

// namesTransferEncoding looks for the header in the raw head: fasthttp drops "identity" and lets
// "chunked" win over a length, so its own view of the header does not tell.
func namesTransferEncoding(raw []byte) bool {
	const name = "transfer-encoding"
	for len(raw) > 0 {
		var line []byte
		line, raw, _ = bytes.Cut(raw, []byte("\n"))
		if len(line) >= len(name) && bytes.EqualFold(line[:len(name)], []byte(name)) {
			return true
		}
	}
	return false
}
