package results

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// lineBytesMax bounds a line of an NDJSON file; ours have 100 to 400 bytes.
const lineBytesMax = 64 << 10

// LineWriter appends values to an NDJSON file, one write(2) a line, so that a SIGKILL leaves at most one torn line and lines of concurrent
// writers never mix; or, where lines are many and each matters little, one write(2) for several. Safe for concurrent use.
type LineWriter[T any] struct {
	mu  sync.Mutex
	out io.Writer
	// buf holds whole lines that are not yet written, under mu; gather is when they are: at so many bytes.
	buf    bytes.Buffer
	gather int
	enc    *json.Encoder
}

// NewLineWriter writes to out with one Write a line.
func NewLineWriter[T any](out io.Writer) *LineWriter[T] {
	w := &LineWriter[T]{out: out}
	w.enc = json.NewEncoder(&w.buf)
	w.enc.SetEscapeHTML(false)
	return w
}

// gatherBytes are gathered for one write: half a second's polls of three nodes.
const gatherBytes = 16 << 10

// openGathered is openLines for lines that may be lost with the process that writes them.
func openGathered[T any](path string) (*LineWriter[T], error) {
	w, err := openLines[T](path)
	if err == nil {
		w.gather = gatherBytes
	}
	return w, err
}

func openLines[T any](path string) (*LineWriter[T], error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open for append: %w", err)
	}
	return NewLineWriter[T](f), nil
}

// Write appends one line. A value whose line would exceed the bound is refused, because no reader would take it.
func (w *LineWriter[T]) Write(v T) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.buf.Len()
	if err := w.enc.Encode(v); err != nil {
		w.buf.Truncate(before)
		return fmt.Errorf("append line: %w", err)
	}
	if n := w.buf.Len() - before; n > lineBytesMax {
		w.buf.Truncate(before)
		return fmt.Errorf("append line of %d bytes: %w", n, ErrLineTooLong)
	}
	if w.buf.Len() < w.gather {
		return nil
	}
	return w.flush()
}

// flush writes what was gathered. What could not be written is not tried again.
func (w *LineWriter[T]) flush() error {
	_, err := w.out.Write(w.buf.Bytes())
	w.buf.Reset()
	if err != nil {
		return fmt.Errorf("append line: %w", err)
	}
	return nil
}

// Close writes what was gathered and closes the file; no Write may follow.
func (w *LineWriter[T]) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var err error
	if w.buf.Len() > 0 {
		err = w.flush()
	}
	if c, ok := w.out.(io.Closer); ok {
		err = errors.Join(err, c.Close())
	}
	return err
}

// LineReader streams an NDJSON file in bounded memory.
type LineReader[T any] struct {
	in   *bufio.Reader
	file io.Closer
	line int
	torn bool
}

// NewLineReader reads from in.
func NewLineReader[T any](in io.Reader) *LineReader[T] {
	return &LineReader[T]{in: bufio.NewReaderSize(in, lineBytesMax)}
}

func openReader[T any](path string) (*LineReader[T], error) {
	f, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	r := NewLineReader[T](f)
	r.file = f
	return r, nil
}

// Next returns the next value, io.EOF at the end, or a *LineError for a damaged or overlong line; after a *LineError the next call goes on
// behind it. A last line without its newline that does not decode is a torn write: it ends the file (see Torn) and is no error.
func (r *LineReader[T]) Next() (T, error) {
	var v T
	for {
		line, err := r.nextLine()
		last := err == io.EOF
		if err != nil && !last {
			return v, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if err := json.Unmarshal(line, &v); err == nil {
				return v, nil
			} else if !last {
				var zero T
				return zero, &LineError{r.line, err}
			}
			var zero T
			v, r.torn = zero, true
		}
		if last {
			return v, io.EOF
		}
	}
}

// nextLine returns one line; io.EOF may come with the bytes of a line that has no newline. An overlong line is skipped to its end.
func (r *LineReader[T]) nextLine() ([]byte, error) {
	r.line++
	line, err := r.in.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = r.in.ReadSlice('\n')
	}
	if err != nil && err != io.EOF {
		return nil, err
	}
	return nil, &LineError{r.line, ErrLineTooLong}
}

// Torn says, after io.EOF, whether the last line was cut off.
func (r *LineReader[T]) Torn() bool { return r.torn }

// Close closes the file.
func (r *LineReader[T]) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// ReadAll returns every readable value; damaged lines are skipped and come back joined in the error, beside the values.
func (r *LineReader[T]) ReadAll() ([]T, error) {
	var all []T
	var damage []error
	for {
		v, err := r.Next()
		var le *LineError
		switch {
		case err == nil:
			all = append(all, v)
		case err == io.EOF:
			return all, errors.Join(damage...)
		case errors.As(err, &le):
			if len(damage) < damageMax {
				damage = append(damage, err)
			}
		default:
			return all, errors.Join(append(damage, err)...)
		}
	}
}

// damageMax bounds how many damaged lines an error names; a file of garbage needs no million sentences.
const damageMax = 10

func readLines[T any](path string) ([]T, error) {
	r, err := openReader[T](path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	all, err := r.ReadAll()
	if err != nil {
		return all, fmt.Errorf("read %s: %w", path, err)
	}
	return all, nil
}
