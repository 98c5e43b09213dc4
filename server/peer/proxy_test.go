package peer

import (
	"bytes"
	"io"
	"net"
	"sync"
	"testing"
)

// proxy stands between two nodes: it records what the dialer says, and can swallow everything
// without closing anything, as a network does that drops packets.
type proxy struct {
	listener net.Listener
	target   string
	group    sync.WaitGroup

	mu      sync.Mutex
	opened  sync.Cond
	mute    bool
	closed  bool
	conns   []net.Conn
	records []*bytes.Buffer // what each dialer has said
}

func newProxy(t *testing.T, target string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, target: target}
	p.opened.L = &p.mu
	p.group.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

func (p *proxy) accept() {
	for {
		from, err := p.listener.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp", p.target)
		if err != nil {
			from.Close()
			continue
		}
		record := &bytes.Buffer{}
		p.mu.Lock()
		p.conns = append(p.conns, from, to)
		p.records = append(p.records, record)
		if p.closed {
			from.Close()
			to.Close()
		}
		p.mu.Unlock()
		p.group.Go(func() { p.pass(from, to, record) })
		p.group.Go(func() { p.pass(to, from, nil) })
	}
}

func (p *proxy) pass(from, to net.Conn, record *bytes.Buffer) {
	defer from.Close()
	defer to.Close()
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		if n > 0 && !p.forward(to, b[:n], record) || err != nil {
			return
		}
	}
}

func (p *proxy) forward(to io.Writer, b []byte, record *bytes.Buffer) bool {
	p.mu.Lock()
	for p.mute && !p.closed {
		p.opened.Wait()
	}
	if record != nil {
		record.Write(b)
	}
	p.mu.Unlock()
	_, err := to.Write(b)
	return err == nil
}

func (p *proxy) setMute(mute bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mute = mute
	p.opened.Broadcast()
}

func (p *proxy) said() (all [][]byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.records {
		all = append(all, bytes.Clone(r.Bytes()))
	}
	return all
}

func (p *proxy) close() {
	p.listener.Close()
	p.mu.Lock()
	p.closed = true
	p.opened.Broadcast()
	for _, c := range p.conns {
		c.Close()
	}
	p.mu.Unlock()
	p.group.Wait()
}
