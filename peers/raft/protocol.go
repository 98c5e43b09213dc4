package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// A node answers commands, one JSON object a line each way over its standard streams, and ends when its input ends.
type (
	request struct {
		Command  string          `json:"command"`
		Argument json.RawMessage `json:"argument"`
	}
	answer struct {
		Value json.RawMessage `json:"value"`
		Error string          `json:"error,omitempty"`
	}
	handlers map[string]func(argument json.RawMessage) (any, error)
)

// with is a handler that reads its argument first.
func with[T any](do func(T) (any, error)) func(json.RawMessage) (any, error) {
	return func(text json.RawMessage) (any, error) {
		var argument T
		if err := json.Unmarshal(text, &argument); err != nil {
			return nil, err
		}
		return do(argument)
	}
}

// serve answers commands until in ends.
func serve(in io.Reader, out io.Writer, commands handlers) error {
	requests, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var r request
		if err := requests.Decode(&r); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("read a command: %w", err)
		}
		if err := answers.Encode(commands.perform(r)); err != nil {
			return fmt.Errorf("answer %s: %w", r.Command, err)
		}
	}
}

func (h handlers) perform(r request) answer {
	do, known := h[r.Command]
	if !known {
		return answer{Error: fmt.Sprintf("there is no command %q", r.Command)}
	}
	value, err := do(r.Argument)
	var a answer
	if err == nil {
		a.Value, err = json.Marshal(value)
	}
	if err != nil {
		a.Error = err.Error()
	}
	return a
}
