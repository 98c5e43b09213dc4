package child

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// request and answer are the two lines of one command.
type request struct {
	Command  string          `json:"command"`
	Argument json.RawMessage `json:"argument,omitempty"`
}

type answer struct {
	Value json.RawMessage `json:"value,omitempty"`
	Error string          `json:"error,omitempty"`
}

// Handlers are the commands that a part knows.
type Handlers map[string]func(argument json.RawMessage) (any, error)

// Serve answers commands until in ends. An error of a command is an answer; one of the streams ends Serve.
func Serve(in io.Reader, out io.Writer, commands Handlers) error {
	requests, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var r request
		if err := requests.Decode(&r); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("read a command: %w", err)
		}
		if err := answers.Encode(perform(commands, r)); err != nil {
			return fmt.Errorf("answer %s: %w", r.Command, err)
		}
	}
}

func perform(commands Handlers, r request) answer {
	do, known := commands[r.Command]
	if !known {
		return answer{Error: fmt.Sprintf("there is no command %q", r.Command)}
	}
	value, err := do(r.Argument)
	if err != nil {
		return answer{Error: err.Error()}
	}
	text, err := json.Marshal(value)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Value: text}
}
