package nats

import (
	"net"
	"testing"
	"time"

	"rejoin/loadgen"
)

// TestConnectTooLong: where the time is over before there is a connection, nothing of a batch was sent.
func TestConnectTooLong(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and never greets
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for name, deadline := range map[string]time.Time{"at once": time.Unix(1, 0), "at the greeting": time.Now().Add(200 * time.Millisecond)} {
		l := &link{address: silent.Addr().String()}
		result, ok := l.open(deadline)
		if ok || result.Outcome != loadgen.TryNotAppended || result.Cause != loadgen.CauseTimeout {
			t.Errorf("%s: connected %v, %v, %v, %v", name, ok, result.Outcome, result.Cause, result.Err)
		}
		l.close()
	}
}
