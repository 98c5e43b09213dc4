package goals

import (
	"fmt"
	"strings"
	"time"
)

// Series is what is measured again and again for some rows.
type Series struct {
	Name  string
	About string
	// Scenario is a file for bench run; the line "name" is added.
	Scenario string
	Pairs    int // samples; 0: as many as are asked for
	// Shape is the load of the shape beside each run; 0: none.
	Shape ShapeLoad
	// Raft is the load of hashicorp/raft beside each run; 0: none.
	Raft RaftLoad
	// Against is a scenario that is run beside each run, to be compared with it; "": none.
	Against string
	// Limits are kinds of other limits measured beside each run.
	Limits []string
	// Windows are kept of each run. LogBytes is the length that the log is to have in the end, where it matters.
	Windows  bool
	LogBytes int64
	// Took is how long one sample may take: all series together, with five samples each, are to end within Budget.
	Took time.Duration
}

// Budget is how long all series may take.
const Budget = 75 * time.Minute

// ShapeLoad is a load of the shape.
type ShapeLoad struct {
	Warmup, Duration time.Duration
	BatchesPerS      float64 // 0: saturated
}

// Names of series.
const (
	SeriesBurst     = "burst"
	SeriesSustained = "sustained"
	SeriesRaft      = "raft"
	SeriesSteady    = "steady"
	SeriesPrimary   = "primary-kills"
	SeriesBackup    = "backup-kills"
	SeriesReturn    = "return"
	SeriesSingles   = "singles"
	SeriesLog       = "log"
	SeriesMany      = "partitions"
	SeriesFew       = "partitions-few"
	SeriesElections = "elections"
)

// What saturates where nothing else is said: the defaults of a scenario.
const (
	saturatedProducers  = 12
	saturatedFrameBytes = 26_928
)

// steadyPayloadBytes is the size of a message of SeriesSteady.
const steadyPayloadBytes = 256

const demandNothing = "demands: {late_p99_max: 10s, canary_change_max: 100}\n"

// Plan is what of the series differs from one measurement to another.
type Plan struct {
	Elections time.Duration // how long the last series loads the log
	LogBytes  int64         // of a large log; 0: none
}

// AllSeries are all of them, in the order in which they are measured.
func AllSeries(plan Plan) []Series {
	elections := plan.Elections
	all := []Series{
		{Name: SeriesBurst, About: "saturated for 3 s, in segments that were made while the log was at rest", Took: 35 * time.Second,
			Scenario: "closed_loop: true\nrest: 8s\nwarmup: 300ms\nduration: 3300ms\nquiet_max: 60s\ncluster: {retention_bytes: 2147483648, segments_ready: 12}\n" + demandNothing,
			Shape:    ShapeLoad{Warmup: 300 * time.Millisecond, Duration: 3 * time.Second}, Limits: []string{"loopback"}},
		{Name: SeriesSustained, About: "saturated for 30 s", Took: 102 * time.Second,
			// The log keeps as much as the file of the shape holds, and the load is measured once it has: from then on it trims what it writes.
			Scenario: fmt.Sprintf("closed_loop: true\nwarmup: 12s\nduration: 42s\nquiet_max: 60s\ncluster: {retention_bytes: %d}\n%s", 1<<30, demandNothing),
			Shape:    ShapeLoad{Warmup: 300 * time.Millisecond, Duration: 30 * time.Second}},
		{Name: SeriesRaft, About: "saturated for 10 s, to be held against hashicorp/raft", Took: 49 * time.Second,
			// Here, too, the log is measured once it trims what it writes.
			Scenario: fmt.Sprintf("closed_loop: true\nwarmup: 3s\nduration: 13s\nquiet_max: 60s\ncluster: {retention_bytes: %d}\n%s", 256<<20, demandNothing),
			Raft:     RaftLoad{Producers: saturatedProducers, FrameBytes: saturatedFrameBytes, Warmup: 2 * time.Second, Duration: 10 * time.Second}},
		{Name: SeriesSteady, About: "30,000 messages a second in batches of 100 for 36 s", Took: 65 * time.Second,
			// 36 s are 10,800 batches: fewer than 10,000 carry no p99.9.
			Scenario: fmt.Sprintf("messages_per_s: 30000\npayload_bytes: %d\nwarmup: 2s\nduration: 38s\nquiet_max: 60s\n%s", steadyPayloadBytes, demandNothing),
			Shape:    ShapeLoad{Warmup: time.Second, Duration: 10 * time.Second, BatchesPerS: 300}},
		{Name: SeriesPrimary, About: "50 kills of the primary at 30,000 messages a second", Pairs: 1, Took: 4 * time.Minute,
			Scenario: kills("primary", 50, 4, "2s")},
		{Name: SeriesBackup, About: "15 kills of a backup at 30,000 messages a second", Pairs: 1, Took: 105 * time.Second,
			Scenario: kills("backup", 15, 5, "2s")},
		{Name: SeriesReturn, About: "5 times a backup is away for 10 s at 30,000 messages a second", Pairs: 1, Took: 135 * time.Second,
			Scenario: kills("backup", 5, 20, "10s"), Limits: []string{"disk", "loopback"}},
		{Name: SeriesSingles, About: "30,000 requests of one message a second for 5 s to a log of one node", Took: 20 * time.Second,
			Scenario: "nodes: 1\nbatch_messages: 1\ndurability: replicated\nmessages_per_s: 30000\noverload: true\nwarmup: 1s\nduration: 6s\nquiet_max: 60s\n" + demandNothing},
		{Name: SeriesMany, About: "saturated by 192 producers in 16 partitions, and in one", Took: 43 * time.Second, Scenario: saturated(16, 192), Against: saturated(1, 192)},
		{Name: SeriesFew, About: "saturated by 12 producers in 16 partitions, and in one", Took: 43 * time.Second, Scenario: saturated(16, 12), Against: saturated(1, 12)},
		{Name: SeriesElections, About: fmt.Sprintf("saturated for %v", elections), Pairs: 1, Took: elections + time.Minute,
			Scenario: fmt.Sprintf("closed_loop: true\nwarmup: 5s\nduration: %v\nquiet_max: 120s\ncluster: {retention_bytes: 2147483648}\n%s", elections, demandNothing)},
	}
	if plan.LogBytes > 0 {
		all = append(all, largeLog(plan.LogBytes))
	}
	return all
}

// saturated is a short closed loop over so many partitions.
func saturated(partitions, producers int) string {
	return fmt.Sprintf("partitions: %d\nproducers: %d\nclosed_loop: true\nwarmup: 1s\nduration: 4s\nquiet_max: 60s\n%s", partitions, producers, demandNothing)
}

// kills is a load during which a node of a role is killed again and again.
func kills(role string, times, everyS int, down string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "messages_per_s: 30000\nwarmup: 2s\nduration: %ds\nquiet_max: 120s\ncluster: {retention_bytes: 2147483648}\n%sfaults:\n", 4+times*everyS, demandNothing)
	for i := range times {
		fmt.Fprintf(&b, "  - {at: %ds, kill: %s, restart_after: %s}\n", 3+i*everyS, role, down)
	}
	return b.String()
}

// File is the scenario as a file.
func (s Series) File() []byte { return s.file(s.Name, s.Scenario) }

// AgainstFile is the scenario beside it as a file.
func (s Series) AgainstFile() []byte { return s.file(s.AgainstName(), s.Against) }

// AgainstName is that of the scenario beside it.
func (s Series) AgainstName() string { return s.Name + "-against" }

func (s Series) file(name, scenario string) []byte {
	return fmt.Appendf(nil, "name: %s\nabout: %s\n%s", name, s.About, scenario)
}
