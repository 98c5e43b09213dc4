package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"rejoin/results"
)

const (
	dumpJSONBytesMax = 16 << 20 // as much as is read of such a file elsewhere
	dumpJSONDepthMax = 64       // run.json has six
)

// dumpJSON prints one of the files of a run that are a single object, or any other one: a line for each field, in the file's order, what is inside
// of what by its indentation, and numbers in the unit that their name ends in.
func dumpJSON(path string, say sayer) error {
	f, err := results.OpenRegular(path)
	if err != nil {
		return err
	}
	defer f.Close()
	limited := &io.LimitedReader{R: f, N: dumpJSONBytesMax + 1}
	d := json.NewDecoder(limited)
	d.UseNumber()
	p := jsonPrinter{decoder: d, say: say}
	first, err := d.Token()
	if err == nil {
		err = p.value("", first, 0)
	}
	switch {
	case errors.Is(err, errEnough):
		return err
	case limited.N == 0:
		return fmt.Errorf("larger than %d MiB", dumpJSONBytesMax>>20)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("byte %d: the file ends inside", d.InputOffset())
	case err != nil:
		return fmt.Errorf("byte %d: %w", d.InputOffset(), err)
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("byte %d: something follows the end", d.InputOffset())
	}
	return nil
}

// jsonPrinter prints while it reads: the file may be as large as it may be.
type jsonPrinter struct {
	decoder *json.Decoder
	say     sayer
}

// value prints what begins with a token under its name; inside of lists the name is the number.
func (p *jsonPrinter) value(name string, t json.Token, depth int) error {
	if depth > dumpJSONDepthMax {
		return fmt.Errorf("more than %d levels deep", dumpJSONDepthMax)
	}
	indent := strings.Repeat("  ", max(depth-1, 0))
	delimiter, opens := t.(json.Delim)
	if !opens {
		return p.say("%s%-*s  %s", indent, max(28-len(indent), 0), plainLine(name), plainLine(fieldText(name, t)))
	}
	none := "–"
	if p.decoder.More() {
		none = ""
	}
	if name != "" {
		if err := p.say("%s", strings.TrimRight(fmt.Sprintf("%s%-*s  %s", indent, max(28-len(indent), 0), plainLine(name), none), " ")); err != nil {
			return err
		}
	}
	for n := 1; p.decoder.More(); n++ {
		inside := fmt.Sprint(n)
		if delimiter == '{' {
			key, err := p.decoder.Token()
			if err != nil {
				return err
			}
			inside, _ = key.(string) // the decoder takes nothing else there
		}
		t, err := p.decoder.Token()
		if err != nil {
			return err
		}
		if err := p.value(inside, t, depth+1); err != nil {
			return err
		}
	}
	_, err := p.decoder.Token() // the end of it
	return err
}

// fieldText spells a value in the unit that the field's name ends in; what is null is no data.
func fieldText(name string, t json.Token) string {
	number, is := t.(json.Number)
	if !is {
		if t == nil {
			return "–"
		}
		return fmt.Sprint(t)
	}
	if whole, err := number.Int64(); err == nil {
		switch {
		case strings.HasSuffix(name, "_mono_ns"): // a moment, no length
			return number.String() + " ns"
		case strings.HasSuffix(name, "_ns"):
			return nsText(&whole)
		case strings.HasSuffix(name, "_bytes"):
			return fmt.Sprintf("%s (%d)", bytesText(&whole), whole)
		}
	}
	v, err := number.Float64()
	switch {
	case err != nil:
		return number.String()
	case strings.HasSuffix(name, "_ms"):
		return fmt.Sprintf("%.1f ms", v)
	case strings.HasSuffix(name, "_share"):
		return fmt.Sprintf("%.2f %%", 100*v)
	}
	return number.String()
}
