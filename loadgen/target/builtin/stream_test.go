package builtin

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// TestNextRequestLeavesBeforeTheBodyArrives: a replica that holds a body back until it has been asked for the next
// answer is read to its end.
func TestNextRequestLeavesBeforeTheBodyArrives(t *testing.T) {
	s := startStub(t)
	fill(t, s, 40)
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	served := make(chan error, 1)
	go func() { served <- serveHoldingBack(tcp, s.log) }()
	s.Target.options.Nodes[1].Client = tcp.Addr().String()
	batches, _, end, err := readAll(t.Context(), s, "n1")
	if err != nil || batches != 40 || end.EndOffset != 80 {
		t.Errorf("%d batches of 40, end %d, err %v", batches, end.EndOffset, err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// serveHoldingBack answers the reads of one connection until it ends.
func serveHoldingBack(tcp net.Listener, log *stubLog) error {
	conn, err := tcp.Accept()
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	in := bufio.NewReader(conn)
	held := []byte(nil) // body that waits for the next request
	for {
		request, err := http.ReadRequest(in)
		if errors.Is(err, io.EOF) && held == nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("with %d bytes held back: %w", len(held), err)
		}
		if _, err := conn.Write(held); err != nil {
			return err
		}
		var from uint64
		if _, err := fmt.Sscan(request.URL.Query().Get("offset"), &from); err != nil {
			return err
		}
		a := answer{from: from, body: log.read(from, 1000)}
		next, _ := a.end()
		if len(a.body) == 0 {
			next = from
		}
		if _, err := fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s: %d\r\n%s: 0\r\n%s: %d\r\n\r\n",
			mediaFrame, len(a.body), headerCommitOffset, log.next, headerEarliestOffset, headerNextOffset, next); err != nil {
			return err
		}
		if held = a.body; next >= log.next { // nothing more is asked for before the end of these
			if _, err := conn.Write(held); err != nil {
				return err
			}
			held = nil
		}
	}
}
