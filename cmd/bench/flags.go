package main

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// rateFlag is --rate. It takes the next word whatever that looks like, so that -5 is refused as a number and not as an unknown flag.
type rateFlag struct {
	given        bool
	messagesPerS int
}

// Decode is called by kong.
func (f *rateFlag) Decode(ctx *kong.DecodeContext) error {
	text, err := nextWord(ctx)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("%q is no whole number of messages a second such as 30000", text)
	}
	*f = rateFlag{true, n}
	return nil
}

// durationFlag is a time above 0 that may be left out: --duration, --command-limit.
type durationFlag struct {
	given  bool
	length time.Duration
}

// Decode is called by kong.
func (f *durationFlag) Decode(ctx *kong.DecodeContext) error {
	text, err := nextWord(ctx)
	if err != nil {
		return err
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return fmt.Errorf("%q is no length of time: pass a number above 0 with its unit, such as 90s or 5m", text)
	}
	*f = durationFlag{true, d}
	return nil
}

// numberFlags let each flag that takes a number or a time take the next word as rateFlag does, and say what it takes.
func numberFlags() []kong.Option {
	return []kong.Option{
		kong.KindMapper(reflect.Int, numberMapper(reflect.TypeFor[int](), "whole number such as 3")),
		kong.KindMapper(reflect.Uint64, numberMapper(reflect.TypeFor[uint64](), "whole number from 0 up")),
		kong.KindMapper(reflect.Float64, numberMapper(reflect.TypeFor[float64](), "number such as 0.5")),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), numberMapper(reflect.TypeFor[time.Duration](), "length of time such as 90s or 5m")),
	}
}

func numberMapper(t reflect.Type, what string) kong.MapperFunc {
	usual := kong.NewRegistry().RegisterDefaults().ForType(t)
	return func(ctx *kong.DecodeContext, target reflect.Value) error {
		text, err := nextWord(ctx)
		if err != nil {
			return err
		}
		ctx.Scan.PushTyped(text, kong.FlagValueToken)
		if err := usual.Decode(ctx, target); err != nil {
			return fmt.Errorf("%q is no %s", text, what)
		}
		return nil
	}
}

func nextWord(ctx *kong.DecodeContext) (string, error) {
	token := ctx.Scan.Pop()
	if token.IsEOL() {
		return "", fmt.Errorf("a value is missing")
	}
	return fmt.Sprint(token.Value), nil
}

// helpWithDefault is a flag's help with the default it has by its tag, which kong keeps to itself; a help that tells it in words stays as it is.
func helpWithDefault(value *kong.Value) string {
	text := kong.DefaultHelpValueFormatter(value)
	if !value.HasDefault || value.Default == "" || value.Target.Kind() == reflect.Bool || strings.Contains(text, "Default: ") {
		return text
	}
	return fmt.Sprintf("%s Default: %s.", text, value.Default)
}
