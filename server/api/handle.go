package api

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"github.com/valyala/fasthttp"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// handle serves one request whose body, if any, has arrived.
func (p *ClientPlane) handle(ctx *fasthttp.RequestCtx) {
	t, refused := p.judge(&ctx.Request.Header)
	if refused != nil {
		// The body was no longer than the limit for refused ones, so the connection is in order, but
		// one that frames requests in two ways is not to be read further.
		if refused == refusedEncoding {
			ctx.SetConnectionClose()
		}
		p.answerRefusal(ctx, t, refused, "")
		return
	}
	switch t.route {
	case routeTopics:
		p.answerJSON(ctx, struct {
			Topics []TopicStatus `json:"topics"`
		}{p.node.Topics()})
	case routeCluster:
		p.answerCluster(ctx, t)
	case routeOpenAPI:
		p.answer(ctx, fasthttp.StatusOK, "application/yaml", openAPI)
	default:
		p.handlePartition(ctx, t)
	}
}

// answerCluster answers with all nodes, or with the one that ?node= names. What has no such name in its query gets all.
func (p *ClientPlane) answerCluster(ctx *fasthttp.RequestCtx, t target) {
	c := p.node.Cluster()
	if number, ok := bytes.CutPrefix(t.query, []byte("node=")); ok {
		n, ok := parseUint(number)
		if !ok || n >= uint64(len(c.Nodes)) {
			p.answerRefusal(ctx, t, refusedQuery, "node must be the number of a node of the cluster")
			return
		}
		c.Nodes = c.Nodes[n : n+1]
	}
	p.answerJSON(ctx, c)
}

func (p *ClientPlane) handlePartition(ctx *fasthttp.RequestCtx, t target) {
	partition, ok := p.partitionOf(t)
	if !ok {
		p.takeBack(&ctx.Request)
		p.answerRefusal(ctx, t, refusedNoPartition, "")
		return
	}
	switch t.route {
	case routeBatches:
		p.append(ctx, t, partition)
	case routeSessions:
		p.register(ctx, t, partition)
	case routeFrames:
		p.read(ctx, t, partition)
	}
}

// append takes the batch over and hands it on, and answers when its fate is known.
func (p *ClientPlane) append(ctx *fasthttp.RequestCtx, t target, partition Partition) {
	frame := p.take(ctx)
	if frame == nil {
		p.answerRefusal(ctx, t, refusedPool, "")
		return
	}
	if t.query != nil {
		frame.Release(wire.OwnerRequest)
		p.answerRefusal(ctx, t, refusedQuery, "")
		return
	}
	header, err := wire.CheckRequest(frame.Frame())
	if err != nil {
		frame.Release(wire.OwnerRequest)
		p.answerRefusal(ctx, t, refusedHTTP, err.Error())
		return
	}
	if int(header.MessageCount) > p.options.BatchMessages {
		frame.Release(wire.OwnerRequest)
		p.answerRefusal(ctx, t, refusedMessages, "")
		return
	}
	frame.Header = header
	frame.Pass(wire.OwnerRequest, wire.OwnerPartition)
	result := partition.Append(frame)
	status := partition.Status()
	putHeaders(ctx, &status)
	if result.Outcome != vsr.OutcomeCommitted {
		p.answerResult(ctx, &result, true)
		return
	}
	p.answerAppended(ctx, &result.Header)
}

func (p *ClientPlane) answerAppended(ctx *fasthttp.RequestCtx, h *vsr.Header) {
	if wantsFrame(&ctx.Request.Header) {
		var stamped [wire.HeaderBytes]byte
		wire.PutHeader(stamped[:], h)
		p.answer(ctx, fasthttp.StatusOK, mediaFrame, stamped[:])
		return
	}
	var text [128]byte
	b := append(text[:0], `{"op":`...)
	b = strconv.AppendUint(b, h.Op, 10)
	b = append(b, `,"base_offset":`...)
	b = strconv.AppendUint(b, h.BaseOffset, 10)
	b = append(b, `,"view":`...)
	b = strconv.AppendUint(b, h.View, 10)
	p.answer(ctx, fasthttp.StatusOK, mediaJSON, append(b, '}', '\n'))
}

// register opens a session.
func (p *ClientPlane) register(ctx *fasthttp.RequestCtx, t target, partition Partition) {
	client, ok := parseClient(t.query, ctx.Request.Body())
	if !ok {
		p.answerRefusal(ctx, t, refusedHTTP, `the body must be {"client":"…"} with 32 hexadecimal digits, 128 random bits that are not all zero`)
		return
	}
	result := partition.Register(client)
	status := partition.Status()
	putHeaders(ctx, &status)
	if result.Outcome != vsr.OutcomeCommitted {
		p.answerResult(ctx, &result, true)
		return
	}
	p.answerJSON(ctx, struct {
		Session uint64 `json:"session"`
		Op      uint64 `json:"op"`
	}{result.Header.Op, result.Header.Op})
}

// parseClient takes the client id from the body, or from ?client= of a request without one.
func parseClient(query, body []byte) (vsr.Client, bool) {
	text := ""
	if len(body) > 0 {
		var asked struct {
			Client string `json:"client"`
		}
		if query != nil || json.Unmarshal(body, &asked) != nil {
			return vsr.Client{}, false
		}
		text = asked.Client
	} else if !queryValues(query, func(key, value []byte) bool {
		text = string(value)
		return string(key) == "client"
	}) {
		return vsr.Client{}, false
	}
	var id [16]byte
	if len(text) != hex.EncodedLen(len(id)) {
		return vsr.Client{}, false
	}
	if _, err := hex.Decode(id[:], []byte(text)); err != nil {
		return vsr.Client{}, false
	}
	client := vsr.Client{Hi: binary.BigEndian.Uint64(id[:]), Lo: binary.BigEndian.Uint64(id[8:])}
	return client, client != vsr.Client{}
}
