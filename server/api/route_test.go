package api

import (
	"bytes"
	"strconv"
	"testing"
)

// A path that is taken for a partition's has exactly one spelling.
func FuzzParseTarget(f *testing.F) {
	f.Add([]byte(batches))
	f.Add([]byte(frames + "?offset=1"))
	f.Add([]byte("/v1/topics/../x/partitions/0/batches"))
	f.Add([]byte("http://host/v1/topics/a/partitions/0/batches"))
	actions := map[route]string{routeBatches: "batches", routeFrames: "frames", routeSessions: "sessions"}
	f.Fuzz(func(t *testing.T, uri []byte) {
		got, refused := parseTarget(uri)
		if refused != nil || !got.route.ofPartition() {
			return
		}
		path, _, _ := bytes.Cut(uri, []byte("?"))
		want := partitionsPrefix + string(got.topic) + "/partitions/" + strconv.Itoa(got.partition) + "/" + actions[got.route]
		if string(path) != want || !validTopic(got.topic) {
			t.Fatalf("%q was read as %q", path, want)
		}
	})
}

func FuzzQuery(f *testing.F) {
	f.Add([]byte("offset=1&max_bytes=2&wait_ms=3&consistency=latest"))
	f.Add([]byte("client=000102030405060708090a0b0c0d0e0f"))
	f.Fuzz(func(t *testing.T, query []byte) {
		if r, ok := parseRead(query); ok && (r.wait < 0 || r.wait > readWaitMax || r.maxBytes < 1 || r.maxBytes > readBytesMax) {
			t.Fatalf("%q gave %+v", query, r)
		}
		parseClient(query, nil)
		parseClient(nil, query)
	})
}

func TestParseUint(t *testing.T) {
	for text, want := range map[string]uint64{"0": 0, "7": 7, "18446744073709551615": 1<<64 - 1, "00012": 12} {
		if got, ok := parseUint([]byte(text)); !ok || got != want {
			t.Errorf("%s: %d, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "-1", "+1", " 1", "1 ", "0x1", "1e3", "18446744073709551616", "99999999999999999999", "000000000000000000001", "１"} {
		if got, ok := parseUint([]byte(text)); ok {
			t.Errorf("%q: %d", text, got)
		}
	}
}
