package api

import (
	"bytes"
	"net/netip"

	"github.com/valyala/fasthttp"
)

// A node without a token listens on loopback only, where a web page that a browser on this machine
// shows can reach it too: by rebinding the page's own name to this address, or by a plain POST to it
// from elsewhere, the answer to which the page cannot read and does not need. What opens sessions
// could so push out those of all producers.

// hosts are the names, beside loopback's, under which clients call a node.
type hosts [][]byte

// hostsOf keeps the hosts of addresses.
func hostsOf(addresses ...string) (all hosts) {
	for _, address := range addresses {
		if host := hostOf([]byte(address)); len(host) > 0 {
			all = append(all, host)
		}
	}
	return all
}

// guest judges who calls a node that asks for no token. No page may: a browser names it as Origin in
// each POST, and in a GET its name stands as Host.
func (o hosts) guest(h *fasthttp.RequestHeader) *refusal {
	switch {
	case len(h.Peek(fasthttp.HeaderOrigin)) > 0:
		return refusedOrigin
	case !o.allow(h.Host()):
		return refusedHost
	}
	return nil
}

// allow judges a Host. None is HTTP/1.0's; a browser sends one always.
func (o hosts) allow(hostport []byte) bool {
	host := hostOf(hostport)
	if len(host) == 0 || isLoopback(host) {
		return true
	}
	for _, own := range o {
		if bytes.EqualFold(own, host) {
			return true
		}
	}
	return false
}

// hostOf is a host:port without its port and without the brackets of an IPv6 address.
func hostOf(hostport []byte) []byte {
	if rest, ok := bytes.CutPrefix(hostport, []byte("[")); ok {
		host, _, _ := bytes.Cut(rest, []byte("]"))
		return host
	}
	if colon := bytes.LastIndexByte(hostport, ':'); colon >= 0 && colon == bytes.IndexByte(hostport, ':') {
		return hostport[:colon]
	}
	return hostport
}

// isLoopback knows the usual names without parsing, which allocates.
func isLoopback(host []byte) bool {
	switch string(host) {
	case "localhost", "127.0.0.1", "::1":
		return true
	}
	address, err := netip.ParseAddr(string(host))
	return err == nil && address.IsLoopback()
}

// loopbackHost judges the Host of the admin plane.
func loopbackHost(hostport string) bool {
	return isLoopback(hostOf([]byte(hostport)))
}
