package shape

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
)

// Poster sends the same POST again and again and reads no more of the answer than it must: what a request costs at the server, not what
// an HTTP client costs.
type Poster struct {
	conn    net.Conn
	reader  *bufio.Reader
	request []byte // head and body, one write
	answer  [answerBytes]byte
}

// NewPoster connects. The body is filler that begins with fill.
func NewPoster(address string, bodyBytes int, fill byte) (*Poster, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	request := fmt.Appendf(nil, "POST /batches HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n", address, bodyBytes)
	for i := range bodyBytes {
		request = append(request, fill+byte(i*7))
	}
	return &Poster{conn: conn, reader: bufio.NewReaderSize(conn, peerBufferBytes), request: request}, nil
}

var statusOK = []byte("HTTP/1.1 200 ")

// Do sends one and returns the number that the answer begins with.
func (p *Poster) Do() (uint64, error) {
	if _, err := p.conn.Write(p.request); err != nil {
		return 0, err
	}
	status, err := p.reader.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if !bytes.HasPrefix(status, statusOK) {
		return 0, fmt.Errorf("answered %q", bytes.TrimSpace(status))
	}
	for {
		line, err := p.reader.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		if len(bytes.TrimRight(line, "\r\n")) == 0 {
			break
		}
	}
	if _, err := io.ReadFull(p.reader, p.answer[:]); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(p.answer[:]), nil
}

// Close ends the connection.
func (p *Poster) Close() error { return p.conn.Close() }
