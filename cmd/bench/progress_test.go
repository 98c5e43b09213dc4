package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"rejoin/results"
)

// screen is as much of a terminal as the live block uses: line breaks, wrapping, cursor up, erase below.
type screen struct {
	width  int
	rows   [][]rune
	row    int
	column int
	widest int
}

func (s *screen) Write(b []byte) (int, error) {
	text := []rune(string(b))
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\n':
			s.row, s.column = s.row+1, 0
		case '\r':
			s.column = 0
		case 0x1b:
			end := i + slices.IndexFunc(text[i:], func(r rune) bool { return r >= 'A' && r <= 'Z' })
			s.escape(string(text[i+2:end]), text[end])
			i = end
		default:
			s.put(c)
		}
		s.grow()
	}
	return len(b), nil
}

func (s *screen) escape(argument string, verb rune) {
	switch verb {
	case 'A':
		n, _ := strconv.Atoi(argument)
		s.row = max(s.row-n, 0)
	case 'J':
		s.rows = s.rows[:s.row+1]
		s.rows[s.row] = s.rows[s.row][:min(s.column, len(s.rows[s.row]))]
	}
}

func (s *screen) grow() {
	for len(s.rows) <= s.row {
		s.rows = append(s.rows, nil)
	}
}

func (s *screen) put(c rune) {
	if s.column == s.width {
		s.row, s.column = s.row+1, 0
	}
	s.grow()
	for len(s.rows[s.row]) <= s.column {
		s.rows[s.row] = append(s.rows[s.row], ' ')
	}
	s.rows[s.row][s.column] = c
	s.column++
	s.widest = max(s.widest, s.column)
}

// resize narrows the terminal, which wraps what stands on it.
func (s *screen) resize(width int) {
	old := s.rows
	s.rows, s.row, s.column, s.width = nil, 0, 0, width
	for i, row := range old {
		for _, c := range row {
			s.put(c)
		}
		if i < len(old)-1 {
			s.row, s.column = s.row+1, 0
		}
		s.grow()
	}
}

func (s *screen) text() string {
	var lines []string
	for _, row := range s.rows {
		lines = append(lines, strings.TrimRight(string(row), " "))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

func sampleView() *liveView {
	return &liveView{Step: stepLoad, Run: "run", Scenario: "quick", Target: "builtin", ElapsedS: 12, TotalS: 64, BatchesPerS: 300, LagFloorOps: 7,
		P50Ns: new(int64(1_200_000)), P99Ns: new(int64(2_900_000)), WaitingBatches: 4, AckedBatches: 3596, DueBatches: 3600,
		Nodes: []liveNode{
			{Node: "n0", Up: true, Role: results.RolePrimary, State: "normal", LagOps: new(int64(7))}, // the floor itself is no lag
			{Node: "n1", Up: true, Role: results.RoleBackup, State: stateTransferring, LagOps: new(int64(1500)),
				Transfer: &liveTransfer{Kind: stateTransferring, DoneOps: 2100, TotalOps: 3600, Percent: 58.3, OpsPerS: 900, BytesPerS: 25 << 20}},
			{Node: "n2"},
		},
		Faults: []string{"n2 killed"}, Next: &liveNext{What: "start n2", InS: 3.2}}
}

func TestBlockTellsEverything(t *testing.T) {
	want := `load: 12/64s  [#####.........................]  19 %
     300 batches/s   p50 1.2ms   p99 2.9ms   waiting 4   acknowledged 3596 of 3600
  n0  primary
  n1  backup   transferring  58 % of 3600 ops, 900 ops/s, 25.0 MiB/s  1500 ops behind
  n2  down
  fault now: n2 killed
  next: start n2 in 3 s`
	if got := strings.Join(sampleView().textBlock(), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	want = "load: 12/64s    300 batches/s  p50 1.2ms  p99 2.9ms  waiting 4  n0 primary  n1 backup -1500 (transferring 58%)  n2 down  | n2 killed"
	if got := sampleView().textLine(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestBlockIsDrawnOver: whatever the width, and when it changes, only one block stands, below the lines, and nothing of it in the end.
func TestBlockIsDrawnOver(t *testing.T) {
	for _, width := range []int{200, 80, 40, 12} {
		s := &screen{width: width}
		p := newProgress(s, false)
		p.width = func() int { return s.width }
		p.line("a")
		for i := range 5 {
			v := sampleView()
			v.ElapsedS += float64(i)
			p.show(v)
			if n := strings.Count(s.text(), "\n"); n != len(v.textBlock()) {
				t.Fatalf("%d columns: %d lines stand after block %d\n%s", width, n, i, s.text())
			}
		}
		if s.widest >= width && width > 1 {
			t.Errorf("a line of %d columns on a terminal of %d", s.widest, width)
		}
		p.line("b")
		p.show(sampleView())
		s.resize(max(width/2, 2))
		p.show(sampleView())
		p.line("c")
		if got := s.text(); got != "a\nb\nc" {
			t.Errorf("%d columns: in the end there stands\n%s", width, got)
		}
	}
}

func TestPlainLinesComeOnceASecond(t *testing.T) {
	var out strings.Builder
	p := newProgress(&out, false)
	for range 20 {
		p.show(sampleView())
	}
	if n := strings.Count(out.String(), "\n"); n != 1 || strings.Contains(out.String(), "\x1b") {
		t.Errorf("%d lines:\n%q", n, out.String())
	}
}

func TestTransferIsFollowedFromOutside(t *testing.T) {
	w := newTransferWatch(1000)
	now := time.Now()
	at := func(second float64, state string, commit, highest int64) *liveTransfer {
		s := []results.Status{{Node: "n0", Up: true, State: "normal", CommitOp: &highest}, {Node: "n1", Up: true, State: state, CommitOp: &commit}}
		return w.all(s, func(int) *int64 { return nil }, now.Add(time.Duration(second*float64(time.Second))))[1].Transfer
	}
	if got := at(0, "normal", 500, 1500); got != nil {
		t.Errorf("%+v", got)
	}
	for _, step := range []struct {
		second          float64
		commit, highest int64
		want            string
	}{
		{1, 500, 1500, "0 of 1000 ops 0.0 % 0 ops/s 0 bytes/s"},
		{2, 800, 1600, "300 of 1100 ops 27.3 % 300 ops/s 300000 bytes/s"},
		{2.1, 801, 1600, "301 of 1100 ops 27.4 % 300 ops/s 300000 bytes/s"},
		{3, 1700, 1700, "1200 of 1200 ops 100.0 % 900 ops/s 900000 bytes/s"},
	} {
		g := at(step.second, stateTransferring, step.commit, step.highest)
		got := fmt.Sprintf("%d of %d ops %.1f %% %.0f ops/s %.0f bytes/s", g.DoneOps, g.TotalOps, g.Percent, g.OpsPerS, g.BytesPerS)
		if got != step.want {
			t.Errorf("at %v s: %s, want %s", step.second, got, step.want)
		}
	}
	if got := at(4, "normal", 1800, 1800); got != nil {
		t.Errorf("%+v", got)
	}
	if got := at(5, stateRepairing, 1900, 2000); got.TotalOps != 100 || got.DoneOps != 0 {
		t.Errorf("a second one starts anew: %+v", got)
	}
}

func TestScheduleSaysWhatIsNext(t *testing.T) {
	s, err := parseScenario("test.yaml", []byte(`faults:
  - {at: 5s, kill: primary, restart_after: 10s}
  - {at: 8s, stop: n1, cont_after: 1s}
  - {at: 30s, kill: n2, restart_after: never}`))
	if err != nil {
		t.Fatal(err)
	}
	plan := newSchedule(newScripted(), s.Faults, -1)
	plan.met[0] = 2
	for _, want := range []struct {
		elapsed time.Duration
		text    string
	}{{0, "kill primary in 5 s"}, {6 * time.Second, "stop n1 in 2 s"}, {8 * time.Second, "continue n1 in 1 s"}, {9 * time.Second, "start n2 in 6 s"},
		{20 * time.Second, "kill n2 in 10 s"}, {31 * time.Second, "no fault"}} {
		if got := plan.next(want.elapsed).text(); got != want.text {
			t.Errorf("at %v: %s, want %s", want.elapsed, got, want.text)
		}
	}
}
