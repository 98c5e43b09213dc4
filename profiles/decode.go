package profiles

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/pprof/profile"
)

const (
	// fileBytesMax bounds a file as it lies on disk; a CPU window of a busy node has some 20 KB.
	fileBytesMax = 4 << 20
	// plainBytesMax bounds what a file unpacks to; the profiles of a long run have some 2 MB.
	plainBytesMax = 8 << 20
	// recordsMax bounds the records (samples, locations, functions, strings …): one of 2 bytes becomes a struct of 150.
	recordsMax = 1 << 17
)

// gzipMagic begins a gzipped file.
var gzipMagic = []byte{0x1f, 0x8b}

// decode reads a gzipped or plain pprof file. The older text formats are not read: nothing of ours writes them.
func decode(data []byte) (*profile.Profile, error) {
	if len(data) == 0 {
		return nil, ErrEmpty
	}
	if len(data) > fileBytesMax {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, fileBytesMax)
	}
	if bytes.HasPrefix(data, gzipMagic) {
		var err error
		if data, err = gunzip(data); err != nil {
			return nil, err
		}
	}
	if err := checkRecords(data); err != nil {
		return nil, err
	}
	p, err := profile.ParseUncompressed(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if err := p.CheckValid(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if len(p.SampleType) == 0 {
		return nil, fmt.Errorf("%w: it names no values", ErrMalformed)
	}
	tidyMappings(p)
	return p, nil
}

// gunzip unpacks twice: once to learn the size without keeping anything, then into a buffer of that size. What is refused costs no memory.
func gunzip(data []byte) ([]byte, error) {
	size, err := unpack(io.Discard, data)
	if err != nil {
		return nil, err
	}
	plain := bytes.NewBuffer(make([]byte, 0, size))
	if _, err := unpack(plain, data); err != nil {
		return nil, err
	}
	return plain.Bytes(), nil
}

func unpack(w io.Writer, data []byte) (int64, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	n, err := io.Copy(w, io.LimitReader(r, plainBytesMax+1))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return 0, fmt.Errorf("%w: it was cut off, as a killed process does", ErrMalformed)
	case err != nil:
		return 0, fmt.Errorf("%w: %w", ErrMalformed, err)
	case n > plainBytesMax:
		return 0, fmt.Errorf("%w: it unpacks to more than %d bytes", ErrTooLarge, plainBytesMax)
	case n == 0:
		return 0, ErrEmpty
	}
	return n, nil
}

// checkRecords counts the records of the outermost message without building any, so that a small file cannot become a large heap.
func checkRecords(data []byte) error {
	for records := 0; len(data) > 0; records++ {
		if records == recordsMax {
			return fmt.Errorf("%w: more than %d records", ErrTooLarge, recordsMax)
		}
		n := fieldBytes(data)
		if n <= 0 {
			return fmt.Errorf("%w: a record is cut off", ErrMalformed)
		}
		data = data[n:]
	}
	return nil
}

// fieldBytes is the length of the first protobuf field: tag, and a varint, 8 bytes, counted bytes or 4 bytes; 0 if it does not fit.
func fieldBytes(data []byte) int {
	tag, n := binary.Uvarint(data)
	if n <= 0 {
		return 0
	}
	rest := data[n:]
	var body int
	switch tag & 7 {
	case 0:
		if _, body = binary.Uvarint(rest); body <= 0 {
			return 0
		}
	case 1:
		body = 8
	case 2:
		length, m := binary.Uvarint(rest)
		if m <= 0 || length > uint64(len(rest)-m) {
			return 0
		}
		body = m + int(length)
	case 5:
		body = 4
	default:
		return 0
	}
	if body > len(rest) {
		return 0
	}
	return n + body
}

// tidyMappings drops what the kernel adds to the name of a binary that was replaced while it ran.
func tidyMappings(p *profile.Profile) {
	for _, m := range p.Mapping {
		m.File = strings.TrimSuffix(m.File, " (deleted)")
	}
}
