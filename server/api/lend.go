package api

import (
	"unsafe"

	"github.com/valyala/fasthttp"

	"rejoin/server/wire"
)

// refusedBodyBytesMax is the limit given to fasthttp for a body that is not to be read. It must be
// above 0, which would mean fasthttp's default.
const refusedBodyBytesMax = 1

// headReceived is called when a head is complete, before its body is read, on the connection's own
// goroutine. For a batch it lends the request a pool buffer by SwapBody, so that fasthttp reads the
// body into the memory that the log will write and send from. take gets the buffer back.
//
// The usual way is to give fasthttp the next buffer when the handler takes the present one. But then
// idle connections hold buffers, the first body of each is copied, and when a connection ends its
// last buffer stays in fasthttp's own pools, out of reach. Lent here, a buffer is out only while a
// batch is on its way.
func (p *ClientPlane) headReceived(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	t, refused := p.judge(h)
	if refused != nil {
		if h.ContentLength() == -1 {
			// A body without length would be read up to the limit before the error, and reading
			// forgets the head. A length above the limit is refused at once.
			h.SetContentLength(refusedBodyBytesMax + 1)
		}
		return p.bodyLimit(refusedBodyBytesMax)
	}
	switch t.route {
	case routeBatches:
		buffer := p.pool.Get(wire.OwnerRequest)
		if buffer == nil {
			return p.bodyLimit(refusedBodyBytesMax)
		}
		request := requestOf(h)
		request.SwapBody(buffer.Data()[:0])
		if request.MayContinue() {
			request.SetUserValue(loanName, &loan{p, request})
		}
		return p.bodyLimit(wire.FrameBytesMax)
	case routeSessions:
		return p.bodyLimit(sessionBytesMax)
	}
	return p.bodyLimit(refusedBodyBytesMax)
}

func (p *ClientPlane) bodyLimit(bytesMax int) fasthttp.RequestConfig {
	return fasthttp.RequestConfig{MaxRequestBodySize: bytesMax, ReadTimeout: p.options.BodyTimeout}
}

// requestOf finds the request that a head lies in. fasthttp's callback passes the address of the
// field Header of the connection's own Request, and no other way leads from it to SwapBody. A test
// holds this against the version in use.
func requestOf(h *fasthttp.RequestHeader) *fasthttp.Request {
	return (*fasthttp.Request)(unsafe.Add(unsafe.Pointer(h), -int(unsafe.Offsetof(fasthttp.Request{}.Header))))
}

// take gets the lent buffer with the body as its frame. nil: none was lent.
func (p *ClientPlane) take(ctx *fasthttp.RequestCtx) *wire.Buffer {
	body := ctx.Request.SwapBody(nil)
	if p.pool.Find(body) == nil {
		return nil
	}
	return p.pool.Adopt(wire.OwnerRequest, body)
}

// takeBack ends a loan whose request came to nothing.
func (p *ClientPlane) takeBack(request *fasthttp.Request) {
	if buffer := p.pool.Find(request.SwapBody(nil)); buffer != nil {
		buffer.Release(wire.OwnerRequest)
	}
}

// loan ends the loan to a request that asked for "100 Continue". Where the client is gone before that
// can be sent, fasthttp gives the request up and tells neither handler: the buffer would be out for ever,
// and a few thousand such clients would leave the node none. But what a request holds that has a Close
// is closed whenever it is let go.
type loan struct {
	plane   *ClientPlane
	request *fasthttp.Request
}

const loanName = "loan"

// Close takes back what nobody took.
func (l *loan) Close() error {
	l.plane.takeBack(l.request)
	return nil
}
