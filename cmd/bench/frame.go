package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

type frameCommand struct {
	Client  string `help:"Client id, 1 to 32 hex digits; the one the session was opened with." default:"1" placeholder:"HEX"`
	Session uint64 `required:"" help:"Session number that POST …/sessions answered." placeholder:"N"`
	Request uint64 `help:"Request number; must rise from batch to batch of a session." default:"1" placeholder:"N"`
	Out     string `help:"File to write; - is the standard output." default:"-" short:"o" placeholder:"FILE"`
}

// Help is shown by bench frame --help.
func (frameCommand) Help() string {
	return `Reads lines of text from the standard input, one message each, and writes one frame: a 128-byte header and the messages.

Example, with the N that the third line answers as "session". The second line asks any node for the primary; a node that is not it would
answer 421 and name it.

  P=/v1/topics/bench/partitions/0
  PRIMARY=$(curl -s -o /dev/null -D - "http://127.0.0.1:17001$P/frames?max_bytes=0" | tr -d '\r' | sed -n 's/^Rejoin-Primary: //p')
  curl -s "http://$PRIMARY$P/sessions" -H 'Content-Type: application/json' -d '{"client":"00000000000000000000000000000001"}'
  printf 'hello\nworld\n' | bench frame --session N -o batch.frame
  curl -s "http://$PRIMARY$P/batches" -H 'Content-Type: application/vnd.rejoin.frame' --data-binary @batch.frame`
}

// Run makes the frame.
func (c *frameCommand) Run(env *environment) error {
	client, err := parseClient(c.Client)
	if err != nil {
		return usage("%w", err)
	}
	if c.Session == 0 {
		return usage("--session 0: no session has this number; pass what POST …/sessions answered as \"session\"")
	}
	frame, err := frameOf(os.Stdin, client, c.Session, c.Request)
	if err != nil {
		return usage("%w", err)
	}
	if c.Out == "-" {
		_, err = unplain(env.out).Write(frame)
	} else {
		err = os.WriteFile(c.Out, frame, 0o644)
	}
	if err != nil {
		return usage("write frame: %w", err)
	}
	return nil
}

// parseClient reads up to 128 bits of hex.
func parseClient(text string) (vsr.Client, error) {
	if len(text) == 0 || len(text) > 32 {
		return vsr.Client{}, fmt.Errorf("client id %q: pass 1 to 32 hex digits", text)
	}
	high, low := "0", text
	if len(text) > 16 {
		high, low = text[:len(text)-16], text[len(text)-16:]
	}
	hi, err := strconv.ParseUint(high, 16, 64)
	if err != nil {
		return vsr.Client{}, fmt.Errorf("client id %q: pass hex digits", text)
	}
	lo, err := strconv.ParseUint(low, 16, 64)
	if err != nil {
		return vsr.Client{}, fmt.Errorf("client id %q: pass hex digits", text)
	}
	return vsr.Client{Hi: hi, Lo: lo}, nil
}

// frameOf makes one message of each line.
func frameOf(in io.Reader, client vsr.Client, session, request uint64) ([]byte, error) {
	frame := make([]byte, wire.HeaderBytes)
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, wire.BodyBytesMax)
	messages := 0
	for lines.Scan() {
		frame = wire.AppendMessage(frame, wire.Message{Payload: lines.Bytes()})
		if messages++; messages > wire.MessagesMax || len(frame) > wire.FrameBytesMax {
			return nil, fmt.Errorf("a batch holds at most %d messages and %d bytes; split the text", wire.MessagesMax, wire.BodyBytesMax)
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return nil, fmt.Errorf("line %d alone is longer than a batch may be, which is %d bytes; split it", messages+1, wire.BodyBytesMax)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read lines: %w", err)
	}
	if messages == 0 {
		return nil, fmt.Errorf("no line came in; a batch needs at least one message")
	}
	wire.SealRequest(frame, client, session, request, uint32(messages))
	return frame, nil
}
