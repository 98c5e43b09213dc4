package api

import "github.com/valyala/fasthttp"

// refusal is an answer that a request's head alone earns. None of these left anything in a log.
type refusal struct {
	status  int
	code    string // the "error" of the answer
	message string
}

// The refusals. They are values that nobody changes.
var (
	refusedEncoding = &refusal{fasthttp.StatusBadRequest, "malformed",
		"transfer encodings are not taken here; send Content-Length"}
	refusedTopic = &refusal{fasthttp.StatusBadRequest, "malformed",
		"a topic's name is 1 to 64 characters of a-z, 0-9, _ and -, and nothing in a path is escaped"}
	refusedPartition = &refusal{fasthttp.StatusBadRequest, "malformed",
		"a partition is a decimal number without sign or leading zero"}
	refusedQuery = &refusal{fasthttp.StatusBadRequest, "malformed",
		"the query has a parameter that is unknown, repeated or not in its form; see /openapi.yaml"}
	refusedNoLength = &refusal{fasthttp.StatusBadRequest, "malformed",
		"the request needs a body and its Content-Length"}
	refusedShort = &refusal{fasthttp.StatusBadRequest, "malformed",
		"the body is shorter than a frame's header of 128 bytes"}
	refusedBody = &refusal{fasthttp.StatusBadRequest, "malformed",
		"this call takes no body"}
	refusedToken = &refusal{fasthttp.StatusUnauthorized, "unauthorized",
		"send Authorization: Bearer TOKEN with the token of this cluster"}
	refusedHost = &refusal{fasthttp.StatusForbidden, "forbidden",
		"without a token this plane answers only to a loopback address, localhost, or this node's client address of the cluster file (listen, dial) as its Host"}
	refusedOrigin = &refusal{fasthttp.StatusForbidden, "forbidden",
		"without a token this plane answers no web page: leave the Origin header out"}
	refusedNoRoute = &refusal{fasthttp.StatusNotFound, "not_found",
		"there is no such call; see /openapi.yaml"}
	refusedNoPartition = &refusal{fasthttp.StatusNotFound, "not_found",
		"the cluster file has no such topic or partition; see /v1/topics"}
	refusedMethod = &refusal{fasthttp.StatusMethodNotAllowed, "method_not_allowed",
		"the call has another method; see the Allow header"}
	refusedLarge = &refusal{fasthttp.StatusRequestEntityTooLarge, "too_large",
		"the body is larger than this call takes; a batch's at most limits.batch_bytes of the cluster file, which is 1 MiB where it says nothing"}
	refusedMessages = &refusal{fasthttp.StatusRequestEntityTooLarge, "too_large",
		"the batch has more messages than limits.batch_messages of the cluster file, which is 10,000 where it says nothing"}
	refusedMedia = &refusal{fasthttp.StatusUnsupportedMediaType, "unsupported_media_type",
		"a batch is sent as application/vnd.rejoin.frame, anything else as application/json"}
	refusedCompressed = &refusal{fasthttp.StatusUnsupportedMediaType, "unsupported_media_type",
		"compressed bodies are not taken; send the frame as it is"}
	refusedPool = &refusal{fasthttp.StatusServiceUnavailable, "busy",
		"all frame buffers of this node are in use; try again"}
	refusedPolls = &refusal{fasthttp.StatusTooManyRequests, "too_many_waiting",
		"too many reads wait for new frames; ask without wait_ms, or later"}
	refusedSlow = &refusal{fasthttp.StatusRequestTimeout, "timeout",
		"the request did not arrive in time"}
	refusedHead = &refusal{fasthttp.StatusRequestHeaderFieldsTooLarge, "too_large",
		"the request's head is larger than 4 KiB"}
	refusedHTTP = &refusal{fasthttp.StatusBadRequest, "malformed",
		"this is not a well-formed HTTP request"}
)

// tryAgain tells whether the refusal is about this moment only.
func (r *refusal) tryAgain() bool {
	return r.status == fasthttp.StatusServiceUnavailable || r.status == fasthttp.StatusTooManyRequests
}
