package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// process is a node as its parent sees it.
type process struct {
	id      string
	log     string // path of what it said
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers *json.Decoder
}

// startNode starts a node that ends with ctx, with this process, or after end; awaitEnd must be called.
func startNode(ctx context.Context, program string, s nodeSettings) (*process, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return nil, err
	}
	p := &process{id: s.ID, log: filepath.Join(s.Dir, "node.log"), cmd: exec.CommandContext(ctx, program, nodeCommand, string(text))}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the node has its own
	p.cmd.Stderr = log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL} // a Ctrl-C at the terminal is for the parent alone
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.answers = json.NewDecoder(out)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start node %s: %w", s.ID, err)
	}
	return p, nil
}

// tell sends a command. hear must be called for its answer.
func (p *process) tell(command string, argument any) error {
	text, err := json.Marshal(argument)
	if err != nil {
		return err
	}
	line, err := json.Marshal(request{command, text})
	if err != nil {
		return err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return p.failed(command, err)
	}
	return nil
}

// hear waits for the answer to the oldest command that has none yet. value may be nil.
func (p *process) hear(command string, value any) error {
	var a answer
	if err := p.answers.Decode(&a); err != nil {
		return p.failed(command, err)
	}
	if a.Error != "" {
		return p.failed(command, errors.New(a.Error))
	}
	if value == nil {
		return nil
	}
	return json.Unmarshal(a.Value, value)
}

// ask is tell and hear.
func (p *process) ask(command string, argument, value any) error {
	if err := p.tell(command, argument); err != nil {
		return err
	}
	return p.hear(command, value)
}

// failed says which node did not do what, and what it said last.
func (p *process) failed(command string, err error) error {
	return fmt.Errorf("%s of node %s (process %d): %w%s", command, p.id, p.cmd.Process.Pid, err, p.lastWords())
}

const lastWordsBytes = 2 << 10

func (p *process) lastWords() string {
	text, err := os.ReadFile(p.log)
	if err != nil || len(text) == 0 {
		return ""
	}
	return "; its log ends: " + strings.TrimSpace(string(text[max(0, len(text)-lastWordsBytes):]))
}

// end lets the node end, which its input tells it.
func (p *process) end() { p.in.Close() }

// awaitEnd waits until it has.
func (p *process) awaitEnd() error {
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("end of node %s: %w%s", p.id, err, p.lastWords())
	}
	return nil
}
