package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

var eventFull = Event{TimeMonoNs: 1234567890123, Node: 2, Topic: "orders", Partition: 3, Kind: EventRepairEnd, View: 5, LogView: 4,
	OpFrom: 17, OpTo: 40, Bytes: 1 << 40, HasPeer: true, Peer: 0, Rounds: 2, DurationNs: 99, Reason: "gap", Detail: `said "no" \ here`}

func TestEventLineIsGolden(t *testing.T) {
	want := `{"t_mono_ns":1234567890123,"node":2,"topic":"orders","partition":3,"kind":"repair_end","view":5,"log_view":4,` +
		`"op_from":17,"op_to":40,"bytes":1099511627776,"peer":0,"rounds":2,"duration_ns":99,"reason":"gap","detail":"said \"no\" \\ here"}` + "\n"
	if got := string(eventFull.AppendJSON(nil)); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
	small := Event{TimeMonoNs: 1, Kind: EventFenced}
	if got, want := string(small.AppendJSON(nil)), `{"t_mono_ns":1,"node":0,"topic":"","partition":0,"kind":"fenced"}`+"\n"; got != want {
		t.Errorf("got  %swant %s", got, want)
	}
}

func TestEventComesBack(t *testing.T) {
	for _, e := range []Event{eventFull, {TimeMonoNs: 1, Kind: "new_kind", HasPeer: true, Peer: 4}, {Kind: EventRole, Reason: "backup"}} {
		got, err := ParseEvent(e.AppendJSON(nil))
		if err != nil || got != e {
			t.Errorf("got %+v, %v, want %+v", got, err, e)
		}
	}
}

// H8: nothing in a text may end the line, forge a field or steer a terminal.
func TestEventTextsAreEscaped(t *testing.T) {
	for _, text := range []string{"a\r\n{\"kind\":\"fenced\"}", "\x1b[31mred", "sep\u2028\u2029", "bad\xff\xfeutf8", "\u202eflip", "\u0085\x7f\x00", `"},{"`} {
		e := Event{Kind: EventKind("k" + text), Topic: text, Reason: text, Detail: text}
		line := e.AppendJSON(nil)
		if !json.Valid(line) || bytes.Count(line, []byte("\n")) != 1 || bytes.ContainsAny(line[:len(line)-1], "\x00\x1b\r\x7f\u2028\u2029\u202e\u0085") {
			t.Errorf("line %q", line)
		}
		got, err := ParseEvent(line)
		if err != nil || got.Detail != strings.ToValidUTF8(strings.ReplaceAll(text, "\xff\xfe", "\ufffd\ufffd"), "") {
			t.Errorf("%q came back as %q, %v", text, got.Detail, err)
		}
	}
}

func TestEventLineIsBounded(t *testing.T) {
	long := strings.Repeat("\xff", 10_000)
	e := Event{TimeMonoNs: 1<<63 - 1, Node: 1 << 40, Topic: long, Partition: 1 << 40, Kind: EventKind(long), View: 1<<64 - 1, LogView: 1<<64 - 1,
		OpFrom: 1<<64 - 1, OpTo: 1<<64 - 1, Bytes: 1<<64 - 1, HasPeer: true, Peer: -1 << 40, Rounds: 1<<64 - 1, DurationNs: -1 << 63, Reason: long, Detail: long}
	line := e.AppendJSON(nil)
	if len(line) > EventLineBytesMax {
		t.Errorf("%d bytes, the limit is %d", len(line), EventLineBytesMax)
	}
	if _, err := ParseEvent(line); err != nil {
		t.Error(err)
	}
	euro := Event{Kind: EventRole, Detail: strings.Repeat("€", 1000)}
	if got, err := ParseEvent(euro.AppendJSON(nil)); err != nil || strings.Trim(got.Detail, "€") != "" {
		t.Errorf("a character was cut in two: %q, %v", got.Detail, err)
	}
}

func TestParseEventRefuses(t *testing.T) {
	for _, line := range []string{"", "{}", "null", "[]", `{"kind":""}`, `{"kind":"role"`, `{"kind":"role","node":-1}`, `{"kind":"role","t_mono_ns":-5}`,
		`{"kind":"role","view":-1}`, `{"kind":"role"}{}`, `{"kind":"role","detail":"` + strings.Repeat("x", EventLineBytesMax) + `"}`} {
		if _, err := ParseEvent([]byte(line)); !errors.Is(err, ErrEvent) {
			t.Errorf("%.60q: %v", line, err)
		}
	}
	if _, err := ParseEvent([]byte(`{"kind":"role","colour":"later"}`)); err != nil {
		t.Errorf("an unknown field: %v", err)
	}
}

func TestEventAllocatesNothing(t *testing.T) {
	b := make([]byte, 0, EventLineBytesMax)
	if got := testing.AllocsPerRun(100, func() { b = eventFull.AppendJSON(b[:0]) }); got != 0 {
		t.Fatalf("%v allocations a line", got)
	}
}

func TestMonoNowRises(t *testing.T) {
	if a, b := MonoNow(), MonoNow(); a <= 0 || b < a {
		t.Fatalf("%d, then %d", a, b)
	}
}

func FuzzParseEvent(f *testing.F) {
	f.Add(eventFull.AppendJSON(nil))
	f.Add([]byte(`{"kind":"role"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := ParseEvent(line)
		if err != nil {
			return
		}
		if out := e.AppendJSON(nil); !json.Valid(out) || len(out) > EventLineBytesMax {
			t.Fatalf("%q gave %q", line, out)
		}
	})
}
