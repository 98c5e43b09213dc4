package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"rejoin/server/vsr"
)

// What an answer says of the try's fate.
const (
	outcomeNotAppended = "not_appended"
	outcomeUnknown     = "unknown"
)

// retryAfterDefault is told to clients where the node has no better idea.
const retryAfterDefault = 100 * time.Millisecond

// failure is the body of every answer that is not 200.
type failure struct {
	Error          string  `json:"error"`
	Message        string  `json:"message"`
	Outcome        string  `json:"outcome,omitempty"` // of an append or a registration: this try's fate
	Primary        string  `json:"primary,omitempty"`
	View           *uint64 `json:"view,omitempty"`
	RetryAfterMs   int64   `json:"retry_after_ms,omitempty"`
	Progress       string  `json:"progress,omitempty"`
	EarliestOffset *uint64 `json:"earliest_offset,omitempty"`
}

// outcomeAnswer is the one table from outcomes to answers. vsr.Outcome.NotAppended says the rest.
func outcomeAnswer(o vsr.Outcome) refusal {
	switch o {
	case vsr.OutcomeNotPrimary:
		return refusal{fasthttp.StatusMisdirectedRequest, "not_primary", "this node is not the primary; ask the one named, or any other"}
	case vsr.OutcomeBusy:
		return refusal{fasthttp.StatusServiceUnavailable, "busy", "no primary, a full pipeline, or a quorum that is only being made; try again"}
	case vsr.OutcomeDiskFull:
		return refusal{fasthttp.StatusInsufficientStorage, "disk_full", "no quorum of the replicas has disk space; make room, reads go on"}
	case vsr.OutcomeDiffers:
		return refusal{fasthttp.StatusConflict, "request_differs", "the session's last request had this number and another body"}
	case vsr.OutcomeSuperseded:
		return refusal{fasthttp.StatusConflict, "request_superseded", "the session has gone on to a later request; this one may be in the log or not"}
	case vsr.OutcomeEvicted:
		return refusal{fasthttp.StatusConflict, "session_evicted", "the session is not in the table; register again"}
	case vsr.OutcomeUnknown:
		return refusal{fasthttp.StatusServiceUnavailable, "unknown", "this request may be in the log or not; repeat the same request"}
	case vsr.OutcomeFenced:
		return refusal{fasthttp.StatusServiceUnavailable, "fenced", "this node takes no part any more; see its /health"}
	}
	panic("api: a node gave an outcome that has no answer: " + strconv.Itoa(int(o)))
}

// answerResult answers what was not committed.
func (p *ClientPlane) answerResult(ctx *fasthttp.RequestCtx, r *Result, append bool) {
	a, view := outcomeAnswer(r.Outcome), r.View
	f := failure{Error: a.code, Message: a.message, Primary: r.Primary, View: &view, Progress: r.Progress}
	if r.Outcome == vsr.OutcomeUnknown {
		if !append {
			f.Message = "whether a read here sees the latest is not known; read again"
		}
		if r.Progress != "" {
			f.Message = r.Progress + ": " + f.Message
		}
	}
	if append {
		f.Outcome = outcomeUnknown
		if r.Outcome.NotAppended() {
			f.Outcome = outcomeNotAppended
		}
	}
	if a.status >= 500 {
		setRetryAfter(ctx, &f, r.RetryAfter)
	}
	p.answerFailure(ctx, a.status, &f)
}

// answerRefusal answers what was refused before any partition was asked.
func (p *ClientPlane) answerRefusal(ctx *fasthttp.RequestCtx, t target, r *refusal, message string) {
	if message == "" {
		message = r.message
	}
	f := failure{Error: r.code, Message: message}
	if t.route == routeBatches || t.route == routeSessions {
		f.Outcome = outcomeNotAppended
	}
	switch r.status {
	case fasthttp.StatusUnauthorized:
		ctx.Response.Header.Set(fasthttp.HeaderWWWAuthenticate, "Bearer")
	case fasthttp.StatusMethodNotAllowed:
		ctx.Response.Header.Set(fasthttp.HeaderAllow, routeMethods[t.route])
	}
	if r.tryAgain() {
		setRetryAfter(ctx, &f, 0)
	}
	if partition, ok := p.partitionOf(t); ok {
		s := partition.Status()
		putHeaders(ctx, &s)
		f.Primary, f.View = s.Primary, &s.View
	}
	p.answerFailure(ctx, r.status, &f)
}

func setRetryAfter(ctx *fasthttp.RequestCtx, f *failure, after time.Duration) {
	if after <= 0 {
		after = retryAfterDefault
	}
	f.RetryAfterMs = max(1, after.Milliseconds())
	seconds := (after + time.Second - 1) / time.Second // the header knows whole seconds only
	ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, strconv.FormatInt(int64(seconds), 10))
}

func (p *ClientPlane) answerFailure(ctx *fasthttp.RequestCtx, status int, f *failure) {
	body, err := json.Marshal(f)
	if err != nil {
		panic("api: a failure cannot be encoded: " + err.Error())
	}
	p.answer(ctx, status, mediaJSON, append(body, '\n'))
}

// answer copies body into the response.
func (p *ClientPlane) answer(ctx *fasthttp.RequestCtx, status int, media string, body []byte) {
	p.answers[status/100%len(p.answers)].Add(1)
	ctx.Response.SetStatusCode(status)
	ctx.Response.Header.SetContentType(media)
	ctx.Response.SetBody(body)
}

func (p *ClientPlane) answerJSON(ctx *fasthttp.RequestCtx, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		panic("api: an answer cannot be encoded: " + err.Error())
	}
	p.answer(ctx, fasthttp.StatusOK, mediaJSON, append(body, '\n'))
}

// putHeaders sets the headers that every answer of a partition has.
func putHeaders(ctx *fasthttp.RequestCtx, s *Status) {
	h := &ctx.Response.Header
	var digits [20]byte
	h.SetBytesV("Rejoin-Commit-Offset", strconv.AppendUint(digits[:0], s.CommitOffset, 10))
	h.SetBytesV("Rejoin-Known-Commit-Offset", strconv.AppendUint(digits[:0], max(s.KnownCommitOffset, s.CommitOffset), 10))
	h.SetBytesV("Rejoin-Earliest-Offset", strconv.AppendUint(digits[:0], s.EarliestOffset, 10))
	h.SetBytesV("Rejoin-View", strconv.AppendUint(digits[:0], s.View, 10))
	h.Set("Rejoin-State", string(s.State))
	h.Set("Rejoin-Primary", s.Primary)
}

func (p *ClientPlane) partitionOf(t target) (Partition, bool) {
	if !t.route.ofPartition() {
		return nil, false
	}
	return p.node.Partition(t.topic, t.partition)
}

// handleBroken is called in place of the handler when a head or body did not arrive in form, in
// size or in time. The connection ends after its answer.
func (p *ClientPlane) handleBroken(ctx *fasthttp.RequestCtx, err error) {
	p.takeBack(&ctx.Request)
	if c, ok := ctx.Conn().(*conn); ok {
		c.linger.Store(true)
	}
	var timeout net.Error
	var small *fasthttp.ErrSmallBuffer
	switch {
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		t, refused := p.judge(&ctx.Request.Header)
		if refused == nil {
			refused = refusedPool // the head was in order, so only a buffer was missing
		}
		p.answerRefusal(ctx, t, refused, "")
		return
	case errors.As(err, &timeout) && timeout.Timeout():
		p.answerRefusal(ctx, target{}, refusedSlow, "")
	case errors.As(err, &small):
		p.answerRefusal(ctx, target{}, refusedHead, "")
	default:
		p.answerRefusal(ctx, target{}, refusedHTTP, "")
	}
	p.badHTTP.Add(1)
}

// wantsFrame tells whether the client asked for the stamped header instead of JSON.
func wantsFrame(h *fasthttp.RequestHeader) bool {
	return bytes.Contains(h.Peek(fasthttp.HeaderAccept), []byte(mediaFrame))
}
