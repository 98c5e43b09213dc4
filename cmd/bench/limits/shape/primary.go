package shape

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"io"
	"net"
	"slices"
	"sync"

	"github.com/valyala/fasthttp"

	"rejoin/cmd/bench/limits/child"
)

// answerBytes is the length of an answer; it begins with the batch's sequence.
const answerBytes = 32

// primary takes batches from producers, gives them numbers, and answers when a majority has synced.
type primary struct {
	*node
	mu        sync.Mutex
	taken     uint64   // sequence of the last batch
	synced    []uint64 // of each node, the primary first
	committed uint64
	waiting   []*batch // not committed, in order
	backups   []*handoff
}

func runPrimary(settings string, in io.Reader, out io.Writer) error {
	n, err := openNode(settings)
	if err != nil {
		return err
	}
	p := &primary{node: n, synced: make([]uint64, 1)}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	commands := n.commands(listener.Addr().String(), p.committedNow)
	commands["connect"] = func(argument json.RawMessage) (any, error) {
		var addresses []string
		if err := json.Unmarshal(argument, &addresses); err != nil {
			return nil, err
		}
		return nil, p.connect(addresses, listener)
	}
	return child.Serve(in, out, commands)
}

func (p *primary) committedNow() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.committed
}

// connect dials the backups and then begins to serve.
func (p *primary) connect(addresses []string, listener net.Listener) error {
	p.synced = make([]uint64, 1+len(addresses))
	for i, address := range addresses {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		queue := newHandoff()
		p.backups = append(p.backups, queue)
		go send(conn, queue)
		go p.hear(conn, 1+i)
	}
	go p.flush(func(sequence uint64) { p.vouch(0, sequence) })
	server := &fasthttp.Server{Handler: p.handle, NoDefaultServerHeader: true, NoDefaultDate: true, MaxRequestBodySize: bodyBytesMax}
	go func() { die(server.Serve(listener)) }()
	return nil
}

// send writes group after group to a backup, each with one writev.
func send(conn net.Conn, queue *handoff) {
	var group []*batch
	var heads [][]byte
	for {
		group = queue.group(group)
		heads = vectors(heads, group)
		buffers := net.Buffers(heads) // WriteTo moves the slice, not the memory behind it
		if _, err := buffers.WriteTo(conn); err != nil {
			peerError(err)
		}
		for _, b := range group {
			b.release()
		}
	}
}

// hear reads how far a backup has synced.
func (p *primary) hear(conn net.Conn, node int) {
	reader := bufio.NewReader(conn)
	var word [8]byte
	for {
		if _, err := io.ReadFull(reader, word[:]); err != nil {
			peerError(err)
		}
		p.vouch(node, binary.LittleEndian.Uint64(word[:]))
	}
}

// nodesMax is how many nodes a majority is counted of.
const nodesMax = 5

// vouch takes that a node has synced up to a batch, and answers all that a majority has.
func (p *primary) vouch(node int, sequence uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.synced[node] = sequence
	var memory [nodesMax]uint64
	ordered := append(memory[:0], p.synced...)
	slices.Sort(ordered)
	by := ordered[(len(ordered)-1)/2] // so far a majority has come
	if by <= p.committed {
		return
	}
	p.committed = by
	answered := 0
	for answered < len(p.waiting) && p.waiting[answered].sequence <= by {
		p.waiting[answered].answered <- struct{}{}
		answered++
	}
	p.waiting = append(p.waiting[:0], p.waiting[answered:]...)
}

// handle takes the request's memory for the batch and leaves it that of an earlier one.
func (p *primary) handle(ctx *fasthttp.RequestCtx) {
	b := newBatch(2 + len(p.backups)) // this handler, the flusher and each sender
	b.body = ctx.Request.SwapBody(b.body[:0])
	p.take(b, crc32.Checksum(b.body, castagnoli))
	<-b.answered
	var answer [answerBytes]byte
	binary.LittleEndian.PutUint64(answer[:], b.sequence)
	b.release()
	ctx.SetBody(answer[:])
}

// take numbers a batch and passes it on in the order of its number.
func (p *primary) take(b *batch, sum uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken++
	b.stamp(p.taken, sum)
	p.waiting = append(p.waiting, b)
	p.pending.add(b)
	for _, queue := range p.backups {
		queue.add(b)
	}
}
