package plots

import (
	"errors"
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"rejoin/results"
)

// figuresDir keeps the sample figures, to look at: go test ./plots -run Sample -figures DIR
var figuresDir = flag.String("figures", "", "directory to draw the sample run into")

const (
	sec = int64(time.Second)
	ms  = int64(time.Millisecond)
)

// sampleKill is one kill of the sample run.
type sampleKill struct {
	node                                int
	role                                string
	atNs, firstAckNs, restartNs, caught int64
}

var sampleKills = []sampleKill{
	{1, results.RoleBackup, 15 * sec, 15*sec + 3*ms, 17 * sec, 17*sec + 420*ms},
	{0, results.RolePrimary, 30 * sec, 30*sec + 640*ms, 34 * sec, 34*sec + 980*ms},
	{2, results.RoleBackup, 48 * sec, 48*sec + 2*ms, 58 * sec, 59*sec + 650*ms},
}

// sampleRun writes a run folder of 70 s at 300 batches a second with three kills, as a real run would leave it.
func sampleRun(t *testing.T) results.Folder {
	t.Helper()
	f, err := results.Create(t.TempDir(), "builtin", "quick", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	events := sampleEvents()
	timeline := results.TimelineOf(events)
	samples := sampleLatencies()
	_, latencyErr := f.WriteLatencies(time.Unix(1_767_000_000, 0), samples, timeline.PhaseAt)
	runErr := f.WriteRun(results.Run{Status: results.StatusFinished, StartedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Asked: results.Asked{Target: "builtin", ScenarioName: "quick", Producers: 12, BatchMessages: 100, PayloadBytes: 256, BatchesPerS: 300}})
	if err := errors.Join(latencyErr, runErr, writeEvents(f, events), writeRates(f, samples), writeStatus(f)); err != nil {
		t.Fatal(err)
	}
	return f
}

func sampleEvents() []results.Event {
	h := func(tNs int64, kind results.Kind, node, role string) results.Event {
		return results.Event{TNs: tNs, Source: results.SourceHarness, Kind: kind, Node: node, Role: role}
	}
	events := []results.Event{h(0, results.KindRunStart, "", ""), h(5*sec, results.KindWarmupEnd, "", "")}
	for _, k := range sampleKills {
		node := results.NodeName(k.node)
		events = append(events, h(k.atNs, results.KindKill, node, k.role), h(k.firstAckNs, results.KindFirstAck, node, ""),
			h(k.restartNs, results.KindRestart, node, ""), h(k.caught, results.KindCaughtUp, node, ""))
	}
	pair := func(node string, begin, end results.Kind, from, to, opFrom, opTo, bytes int64) {
		events = append(events, results.Event{TNs: from, Source: node, Kind: begin, OpFrom: &opFrom, OpTo: &opTo, Reason: "gap"},
			results.Event{TNs: to, Source: node, Kind: end, OpFrom: &opFrom, OpTo: &opTo, Bytes: &bytes, DurationNs: new(to - from)})
	}
	pair("n1", results.KindRepairBegin, results.KindRepairEnd, 17*sec+80*ms, 17*sec+390*ms, 4500, 5120, 21_900_000)
	pair("n0", results.KindTransferBegin, results.KindTransferEnd, 34*sec+90*ms, 34*sec+820*ms, 9000, 10_190, 42_000_000)
	pair("n0", results.KindRepairBegin, results.KindRepairEnd, 34*sec+830*ms, 34*sec+960*ms, 10_191, 10_480, 10_200_000)
	pair("n2", results.KindTransferBegin, results.KindTransferEnd, 58*sec+100*ms, 59*sec+500*ms, 14_400, 17_350, 104_000_000)
	pair("n2", results.KindRepairBegin, results.KindRepairEnd, 59*sec+510*ms, 59*sec+640*ms, 17_351, 17_800, 15_800_000)
	events = append(events, h(40*sec, results.KindPause, "n1", results.RoleBackup), h(43*sec, results.KindResume, "n1", ""))
	return append(events, h(70*sec, results.KindLoadStop, "", ""))
}

func sampleLatencies() []results.Sample {
	r := rand.New(rand.NewPCG(7, 7))
	var samples []results.Sample
	for i := range 70 * int64(300) {
		due := i * sec / 300
		sent := due + 40_000 + r.Int64N(120_000)
		ack := sent + 700_000 + int64(r.ExpFloat64()*350_000)
		if r.IntN(700) == 0 {
			ack += r.Int64N(9 * ms)
		}
		for _, k := range sampleKills {
			if k.role == results.RolePrimary && due >= k.atNs && due < k.firstAckNs {
				ack = k.firstAckNs + r.Int64N(30*ms)
			}
			if due >= k.restartNs && due < k.caught {
				ack += int64(r.ExpFloat64() * 1_500_000)
			}
		}
		samples = append(samples, results.Sample{DueNs: due, SentNs: sent, AckNs: ack})
	}
	return samples
}

func writeEvents(f results.Folder, events []results.Event) error {
	w, err := f.AppendEvents()
	if err != nil {
		return err
	}
	for _, e := range events {
		if err := w.Write(e); err != nil {
			return err
		}
	}
	return w.Close()
}

func writeRates(f results.Folder, samples []results.Sample) error {
	rates := make([]results.Rate, 71)
	for i := range rates {
		rates[i].TNs = int64(i) * sec
	}
	for _, s := range samples {
		rates[s.DueNs/sec].OfferedBatches++
		rates[s.AckNs/sec].AckedBatches++
	}
	w, err := f.AppendRates()
	if err != nil {
		return err
	}
	for _, r := range rates[:70] {
		if err := w.Write(r); err != nil {
			return err
		}
	}
	return w.Close()
}

// writeStatus polls three nodes each 20 ms: small lag in normal operation, none while down, a ramp down after the restart.
func writeStatus(f results.Folder) error {
	w, err := f.AppendStatus()
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(9, 9))
	for t := int64(0); t < 74*sec; t += 20 * ms {
		head := min(t, 70*sec) * 300 / sec
		for n := range 3 {
			s := results.Status{TNs: t + int64(n)*100_000, Node: results.NodeName(n), Up: true, Role: results.RoleBackup, State: "normal"}
			commit := head
			if n != 0 && t < 70*sec {
				commit = max(head-r.Int64N(10), 0)
			}
			for _, k := range sampleKills {
				switch {
				case k.node != n || t < k.atNs || t >= k.caught:
				case t < k.restartNs+60*ms:
					s.Up = false
				default:
					lost := (k.restartNs - k.atNs) * 300 / sec
					commit = head - lost*(k.caught-t)/(k.caught-k.restartNs)
				}
			}
			if s.Up {
				s.CommitOp = &commit
			}
			if err := w.Write(s); err != nil {
				return err
			}
		}
	}
	return w.Close()
}

func TestSampleRun(t *testing.T) {
	f := sampleRun(t)
	figures, err := FromRun(f)
	if err != nil {
		t.Fatal(err)
	}
	dir := f.Plots()
	if *figuresDir != "" {
		dir = *figuresDir
	}
	if err := Draw(dir, figures); err != nil {
		t.Fatal(err)
	}
	checkDrawn(t, dir)
}
