package child

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// Launcher makes and starts processes of a role. Command's process must call Serve for that role; it ends when ctx does. Start may be
// (*exec.Cmd).Start, or something that also ties the child to the life of its parent.
type Launcher struct {
	Command func(ctx context.Context, role, settings string) *exec.Cmd
	Start   func(*exec.Cmd) error
}

// Process is one part under way. Ask and Close belong to one goroutine.
type Process struct {
	role    string
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers *json.Decoder
	errs    bytes.Buffer // what it said before it died
}

// Start starts a part. Close must be called.
func Start(ctx context.Context, l Launcher, role string, settings any) (*Process, error) {
	text, err := json.Marshal(settings)
	if err != nil {
		return nil, fmt.Errorf("spell the settings of %s: %w", role, err)
	}
	p := &Process{role: role, cmd: l.Command(ctx, role, string(text))}
	p.cmd.Stderr = &p.errs
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start %s: %w", role, err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", role, err)
	}
	if err := l.Start(p.cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", role, err)
	}
	p.answers = json.NewDecoder(out)
	return p, nil
}

// Tell sends a command; Hear must be called for its answer.
func (p *Process) Tell(command string, argument any) error {
	text, err := json.Marshal(argument)
	if err != nil {
		return fmt.Errorf("%s of %s: %w", command, p.role, err)
	}
	line, err := json.Marshal(request{command, text})
	if err != nil {
		return fmt.Errorf("%s of %s: %w", command, p.role, err)
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return p.failed(command, err)
	}
	return nil
}

// Hear waits for the answer to the oldest command that has none yet. value may be nil.
func (p *Process) Hear(command string, value any) error {
	var a answer
	if err := p.answers.Decode(&a); err != nil {
		return p.failed(command, err)
	}
	if a.Error != "" {
		return fmt.Errorf("%s of %s: %s", command, p.role, a.Error)
	}
	if value == nil {
		return nil
	}
	if err := json.Unmarshal(a.Value, value); err != nil {
		return fmt.Errorf("%s of %s: %w", command, p.role, err)
	}
	return nil
}

// Ask is Tell and Hear.
func (p *Process) Ask(command string, argument, value any) error {
	if err := p.Tell(command, argument); err != nil {
		return err
	}
	return p.Hear(command, value)
}

// failed says why a stream broke: mostly because the process has died, and then what it said last.
func (p *Process) failed(command string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(err.Error(), "broken pipe") {
		p.in.Close()
		_ = p.cmd.Wait()
		return fmt.Errorf("%s of %s: the process ended (%v): %s", command, p.role, p.cmd.ProcessState, lastLines(p.errs.String()))
	}
	return fmt.Errorf("%s of %s: %w", command, p.role, err)
}

const lastBytes = 2 << 10

func lastLines(text string) string {
	if len(text) > lastBytes {
		text = "…" + text[len(text)-lastBytes:]
	}
	return strings.TrimSpace(text)
}

// Close ends the process and waits for its exit. Closing twice is allowed.
func (p *Process) Close() error {
	p.in.Close() // at which it ends
	if p.cmd.ProcessState != nil {
		return nil
	}
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("end of %s: %w: %s", p.role, err, lastLines(p.errs.String()))
	}
	return nil
}
