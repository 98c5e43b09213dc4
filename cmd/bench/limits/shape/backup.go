package shape

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net"

	"rejoin/cmd/bench/limits/child"
)

// peerBufferBytes is small on purpose: heads pass it, bodies go straight to their own memory.
const peerBufferBytes = 4 << 10

// runBackup takes batches from the primary, stores them, and tells it how far it has synced, until in ends.
func runBackup(settings string, in io.Reader, out io.Writer) error {
	n, err := openNode(settings)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go n.follow(listener)
	return child.Serve(in, out, n.commands(listener.Addr().String(), nil))
}

// follow serves the one connection of the primary.
func (n *node) follow(listener net.Listener) {
	conn, err := listener.Accept()
	if err != nil {
		die(err)
	}
	go n.flush(func(sequence uint64) {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], sequence)
		if _, err := conn.Write(word[:]); err != nil {
			peerError(err)
		}
	})
	reader := bufio.NewReaderSize(conn, peerBufferBytes)
	for {
		b := newBatch(1)
		if err := readBatch(reader, b); err != nil {
			peerError(err)
		}
		n.pending.add(b)
	}
}

func readBatch(r io.Reader, b *batch) error {
	if _, err := io.ReadFull(r, b.head[:]); err != nil {
		return err
	}
	bodyBytes, sequence, sum, err := parseHead(b.head[:])
	if err != nil {
		return err
	}
	if cap(b.body) < bodyBytes {
		b.body = make([]byte, bodyBytes)
	}
	b.body, b.sequence = b.body[:bodyBytes], sequence
	if _, err := io.ReadFull(r, b.body); err != nil {
		return err
	}
	if crc32.Checksum(b.body, castagnoli) != sum {
		return fmt.Errorf("batch %d came with another checksum than it was sent with", sequence)
	}
	return nil
}
