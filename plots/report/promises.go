package report

import (
	"encoding/json"
	"fmt"
	"slices"

	"rejoin/plots/axis"
	"rejoin/results"
)

// promisesSection says what an acknowledgement promised, how it was checked, and what the check does not prove.
type promisesSection struct {
	Guarantee string
	Facts     table
	Rounds    table
	Replicas  table
	Proves    []string
	Not       []string
}

// memoryTarget tries the harness without a log, builtinTarget is our log. All others are systems of others, whose guarantee says it all.
const (
	memoryTarget  = "memory"
	builtinTarget = "builtin"
)

// provesByReading is so only where every reading was made.
const provesByReading = "Every replica was read by its own address and held against what was acknowledged, so a replica that lost or changed something is found even if the others cover for it."

func promisesOf(s *source) promisesSection {
	out := promisesSection{Guarantee: orNoData(s.run.Asked.Guarantee)}
	found := s.run.Found
	fileSystem := orNoData(found.FileSystem)
	if found.Tmpfs {
		fileSystem += " (in memory: a sync proves nothing here)"
	}
	out.Facts = table{ID: "durability", Columns: words("what", "value"), Caption: "What the promise rests on."}
	out.Facts.add("an acknowledgement waits for", durabilityText(s.run.Asked.Scenario))
	out.Facts.add("replicas", axis.CountText(int64(s.run.Asked.Nodes)))
	out.Facts.add("data on", fileSystem)
	out.Proves = []string{
		"SIGKILL takes away a process with its memory: what the node had not handed to the kernel is gone, at whatever instruction it was.",
		provesByReading,
	}
	out.Not = []string{
		"SIGKILL is not a power cut: the kernel's page cache survives it, so a write that was never synced is still there after it. A log that forgets to sync passes this test.",
		"Loss of unsynced writes, torn and rotten sectors are tried in the simulator (bench sim), over the same protocol and recovery code; not in this run.",
		"All processes share one machine: no packet was lost or reordered, and no clocks drifted apart.",
	}
	switch s.run.Asked.Target {
	case builtinTarget, "":
	default:
		out.Facts.Rows = out.Facts.Rows[1:] // the scenario's durability is for our log
		out.Not[1] = "Loss of unsynced writes, torn and rotten sectors are not tried with this target."
	case memoryTarget:
		out.Facts.Rows = nil
		out.Facts.add("an acknowledgement waits for", "nothing: all is kept in the process of the harness")
		out.Proves = []string{"The harness offers its load, keeps its books and finds what was planted. No node ran, so nothing is proven of a log."}
		out.Not = []string{"How a log keeps what it acknowledged, and what a kill or a power cut does to it."}
	}
	if s.summary == nil || !s.summary.Verified() {
		out.Proves = slices.DeleteFunc(out.Proves, func(says string) bool { return says == provesByReading })
		out.Not = append(out.Not, "Not every reading of the replicas was made, so what was lost or changed may not have been found.")
	}
	if s.summary == nil {
		out.Rounds.Empty, out.Replicas.Empty = noData, noData
		return out
	}
	out.Rounds, out.Replicas = roundsTable(s.summary.Verification), replicasTable(s.summary)
	return out
}

// durabilityText reads the scenario's own words.
func durabilityText(scenario json.RawMessage) string {
	var of struct {
		Durability string `json:"durability"`
	}
	if json.Unmarshal(scenario, &of) != nil {
		return noData
	}
	switch of.Durability {
	case "", "persisted":
		return "synced on a quorum (persisted)"
	case "replicated":
		return "written on a quorum, not synced (replicated)"
	}
	return of.Durability
}

func roundsTable(rounds []results.VerifyRound) table {
	t := table{ID: "rounds", Caption: "Each reading of the replicas after the load.",
		Columns: append(append(words("reading", "replica", "result"), numbers("batches found", "lost", "took")...), words("detail")...)}
	for _, r := range rounds {
		class, result := "", "✓ holds all"
		if !r.Ok {
			class, result = "bad", "✗ does not"
		}
		t.addIn(class, r.Name, orDash(r.Replica), result, axis.CountText(r.VerifiedBatches), axis.CountText(r.LostBatches), axis.DurationText(r.DurationMs*1e6), orDash(r.Detail))
	}
	if len(rounds) == 0 {
		t.Empty = "no data: no replica was read"
	}
	return t
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

func replicasTable(s *results.Summary) table {
	t := table{ID: "replicas", Caption: "Each node at the end of the run.",
		Columns: append(append(words("node"), numbers("batches found", "lost", "head op", "commit op", "restarts", "all readable after", "anonymous memory, most")...), words("read to its end")...)}
	for _, r := range s.Replicas {
		readings := readingsOf(s, r.Node)
		read, class := readText(r, readings)
		switch {
		case r.EndedFromOutside != "":
			read, class = "– "+r.EndedFromOutside, "doubtful"
		case r.UnreadableReason != "":
			read, class = "✗ "+r.UnreadableReason, "bad"
		}
		found := axis.CountText(r.VerifiedBatches)
		if r.VerifiedBatches == 0 && len(readings) == 0 {
			found = noData
		}
		t.addIn(class, r.Node, found, foundText(s, r.LostBatches), countText(r.HeadOp), countText(r.CommitOp), axis.CountText(r.Restarts),
			msText(r.ReadableMs, noData), bytesText(r.RssAnonMaxBytes), read)
	}
	if len(s.Replicas) == 0 {
		t.Empty = noData
	}
	return t
}

func readingsOf(s *results.Summary, node string) (readings []results.VerifyRound) {
	for _, v := range s.Verification {
		if v.Replica == node {
			readings = append(readings, v)
		}
	}
	return readings
}

// readText says whether any reading of a node came to its end, and the class of its row.
func readText(r results.ReplicaSummary, readings []results.VerifyRound) (text, class string) {
	whole := func(v results.VerifyRound) bool { return v.Detail == "" }
	switch {
	case slices.ContainsFunc(readings, whole):
		return "✓", ""
	case len(readings) > 0:
		return "– " + readings[0].Detail, "doubtful"
	case r.VerifiedBatches > 0: // the memory target names its replicas otherwise than its nodes
		return "✓", ""
	}
	return "not read", "doubtful"
}

// loadText is the load in words.
func loadText(a results.Asked) string {
	if a.Producers <= 0 || a.BatchesPerS <= 0 && !a.ClosedLoop() {
		return noData
	}
	what := fmt.Sprintf("%s messages of %s by %s", axis.CountText(int64(a.BatchMessages)), axis.BytesText(a.PayloadBytes), counted(int64(a.Producers), "producer"))
	if a.ClosedLoop() {
		return "batches of " + what + ", each sent at the answer to the one before: a closed loop"
	}
	return fmt.Sprintf("%s batches/s of %s, open loop", axis.NumberText(a.BatchesPerS), what)
}
