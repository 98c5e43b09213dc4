package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// textOf is a value as it stands in the file. The library does not say where a value is that UnmarshalText refuses, so these types take the
// node itself.
func textOf(node ast.Node, parse func(text string) error) error {
	var text string
	refused := func(err error) error {
		return &fieldError{field: strings.TrimPrefix(node.GetPath(), "$."), at: node.GetToken(), err: err}
	}
	switch n := node.(type) {
	case *ast.StringNode:
		text = n.Value
	case ast.ScalarNode:
		text = n.GetToken().Value
	default:
		return refused(errors.New("a duration such as 1500ms, 2s or 5m belongs here"))
	}
	if err := parse(text); err != nil {
		return refused(err)
	}
	return nil
}

// duration is a time.Duration that is written as "1.5s" in YAML and JSON alike.
type duration time.Duration

func (d duration) String() string               { return time.Duration(d).String() }
func (d duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// scenarioTimeMax is the longest time that a scenario may name. Sums of a few of them are far from overflowing.
const scenarioTimeMax = 7 * 24 * time.Hour

// UnmarshalYAML is called by the library.
func (d *duration) UnmarshalYAML(node ast.Node) error { return textOf(node, d.parse) }

// UnmarshalText is for flags.
func (d *duration) UnmarshalText(text []byte) error { return d.parse(string(text)) }

func (d *duration) parse(text string) error {
	v, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return fmt.Errorf("%q is no duration such as 1500ms, 2s or 5m", text)
	case v < 0:
		return fmt.Errorf("%q is negative; pass a duration such as 1500ms, 2s or 5m", text)
	case v > scenarioTimeMax:
		return fmt.Errorf("%q is longer than 7 days; pass less", text)
	}
	*d = duration(v)
	return nil
}

// faultTime is a duration, or before: when the cluster is up and the load has not begun.
type faultTime struct {
	Before bool
	After  time.Duration
}

func (t faultTime) MarshalText() ([]byte, error) {
	if t.Before {
		return []byte("before"), nil
	}
	return []byte(t.After.String()), nil
}

// UnmarshalYAML is called by the library.
func (t *faultTime) UnmarshalYAML(node ast.Node) error { return textOf(node, t.parse) }

func (t *faultTime) parse(text string) error {
	if text == "before" {
		*t = faultTime{Before: true}
		return nil
	}
	var d duration
	if err := d.parse(text); err != nil {
		return fmt.Errorf("%w; or the word before", err)
	}
	*t = faultTime{After: time.Duration(d)}
	return nil
}

// until is a duration or the word never.
type until struct {
	Given bool
	Never bool
	After time.Duration
}

func (u until) MarshalText() ([]byte, error) {
	switch {
	case !u.Given:
		return []byte{}, nil
	case u.Never:
		return []byte("never"), nil
	}
	return []byte(u.After.String()), nil
}

// UnmarshalYAML is called by the library.
func (u *until) UnmarshalYAML(node ast.Node) error { return textOf(node, u.parse) }

func (u *until) parse(text string) error {
	switch text {
	case "":
		*u = until{}
		return nil
	case "never":
		*u = until{Given: true, Never: true}
		return nil
	}
	var d duration
	if err := d.parse(text); err != nil {
		return fmt.Errorf("%w; or the word never", err)
	}
	*u = until{Given: true, After: time.Duration(d)}
	return nil
}
