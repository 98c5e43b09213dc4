package main

import (
	"fmt"
	"net"
	"slices"
	"testing"
)

// A port stays the run's own while nobody listens on it, and a node can listen on it, again and again.
func TestReservedPorts(t *testing.T) {
	mine, err := reservePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	port := mine.numbers[1]
	for range 3 {
		node, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Fatalf("a node cannot listen on a port that is held for it: %v", err)
		}
		if _, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			t.Fatal("a second node can, too")
		}
		client, err := net.Dial("tcp", node.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		server, err := node.Accept()
		if err != nil {
			t.Fatal(err)
		}
		server.Close() // first, so that its side waits in TIME_WAIT
		client.Close()
		node.Close()
		others, err := reservePorts(3)
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range others.numbers {
			if slices.Contains(mine.numbers, other) {
				t.Fatalf("another run gets port %d while its node is dead", other)
			}
		}
		if err := others.release(); err != nil {
			t.Fatal(err)
		}
	}
	if err := mine.release(); err != nil {
		t.Fatal(err)
	}
	if err := mine.release(); err != nil {
		t.Fatal(err)
	}
	if _, err := reservePorts(portLast - portFirst + 2); err == nil {
		t.Fatal("more ports than there are")
	}
}

// TestPortsText: ports of other runs lie between, and are not told as ours.
func TestPortsText(t *testing.T) {
	for want, ports := range map[string][]int{
		"17000":                        {17000},
		"17000 to 17008":               {17000, 17001, 17002, 17003, 17004, 17005, 17006, 17007, 17008},
		"17001, 17004, 17005":          {17001, 17004, 17005},
		"17000, 17003 to 17005, 17009": {17000, 17003, 17004, 17005, 17009},
	} {
		if got := portsText(ports); got != want {
			t.Errorf("%v: %q, want %q", ports, got, want)
		}
	}
}
