package api

import (
	"bytes"
	"strings"
)

// route is one call of the client plane.
type route uint8

const (
	routeNone route = iota
	routeBatches
	routeFrames
	routeSessions
	routeTopics
	routeCluster
	routeOpenAPI
)

// routeMethods names the one method of each route.
var routeMethods = [...]string{routeBatches: "POST", routeFrames: "GET", routeSessions: "POST", routeTopics: "GET", routeCluster: "GET", routeOpenAPI: "GET"}

func (r route) ofPartition() bool { return r == routeBatches || r == routeFrames || r == routeSessions }

// target is what a request line asks for. Its slices lie in the request's head.
type target struct {
	route     route
	topic     []byte
	partition int
	query     []byte
}

const (
	topicBytesMax    = 64
	partitionDigits  = 5
	partitionsPrefix = "/v1/topics/"
)

// parseTarget reads a request target as it came: nothing is decoded, folded or cleaned, so there is
// no second spelling of a path (case H3).
func parseTarget(uri []byte) (target, *refusal) {
	path, query, _ := bytes.Cut(uri, []byte("?"))
	t := target{query: query}
	switch string(path) {
	case "/v1/topics":
		t.route = routeTopics
	case "/v1/cluster":
		t.route = routeCluster
	case "/openapi.yaml":
		t.route = routeOpenAPI
	default:
		return parsePartition(t, path)
	}
	return t, nil
}

// parsePartition reads /v1/topics/{topic}/partitions/{n}/{action}.
func parsePartition(t target, path []byte) (target, *refusal) {
	rest, ok := bytes.CutPrefix(path, []byte(partitionsPrefix))
	if !ok {
		return t, refusedNoRoute
	}
	topic, rest, _ := bytes.Cut(rest, []byte("/"))
	if !validTopic(topic) {
		return t, refusedTopic
	}
	word, rest, _ := bytes.Cut(rest, []byte("/"))
	number, action, _ := bytes.Cut(rest, []byte("/"))
	if string(word) != "partitions" {
		return t, refusedNoRoute
	}
	partition, ok := parsePartitionNumber(number)
	if !ok {
		return t, refusedPartition
	}
	switch string(action) {
	case "batches":
		t.route = routeBatches
	case "frames":
		t.route = routeFrames
	case "sessions":
		t.route = routeSessions
	default:
		return t, refusedNoRoute
	}
	t.topic, t.partition = topic, partition
	return t, nil
}

// validTopic holds a name against [a-z0-9_-]{1,64}.
func validTopic(name []byte) bool {
	if len(name) == 0 || len(name) > topicBytesMax {
		return false
	}
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// parsePartitionNumber reads a number in its only spelling: no sign, no leading zero.
func parsePartitionNumber(digits []byte) (int, bool) {
	if len(digits) == 0 || len(digits) > partitionDigits || len(digits) > 1 && digits[0] == '0' {
		return 0, false
	}
	n, ok := parseUint(digits)
	return int(n), ok
}

// parseUint reads decimal digits only: no sign, space or escape, and no number beyond 64 bits.
func parseUint(digits []byte) (n uint64, ok bool) {
	if len(digits) == 0 || len(digits) > 20 {
		return 0, false
	}
	for _, c := range digits {
		d := uint64(c - '0')
		if c < '0' || c > '9' || n > (1<<64-1-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	return n, true
}

// queryValues calls set for each key=value of a query, in order, once a key; false at the first
// that set does not take or that comes twice. A misspelt key is an error, not a default.
func queryValues(query []byte, set func(key, value []byte) bool) bool {
	var seen []string
	for len(query) > 0 {
		var pair []byte
		pair, query, _ = bytes.Cut(query, []byte("&"))
		key, value, ok := bytes.Cut(pair, []byte("="))
		if !ok || containsString(seen, key) || !set(key, value) {
			return false
		}
		seen = append(seen, string(key))
	}
	return true
}

func containsString(all []string, one []byte) bool {
	for _, s := range all {
		if strings.EqualFold(s, string(one)) {
			return true
		}
	}
	return false
}
