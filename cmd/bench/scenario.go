package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"rejoin/loadgen"
	"rejoin/server"
)

// scenarioFiles are the built-in scenarios, each a YAML file named after itself.
//
//go:embed scenarios/*.yaml
var scenarioFiles embed.FS

// defaultScenario is what `bench run` runs.
const defaultScenario = "quick"

// Scenario is what a run does: the load, the faults and what is demanded. It stands in run.json with every default filled in. docs/scenarios.md
// tells each field; a test holds the two together.
type Scenario struct {
	Name  string `yaml:"name"`
	About string `yaml:"about"`

	Target        string         `yaml:"target"` // one of targetKinds
	Nodes         int            `yaml:"nodes"`
	Partitions    int            `yaml:"partitions,omitempty"` // of the one topic; producer i writes to partition i mod partitions
	Producers     int            `yaml:"producers"`
	BatchMessages int            `yaml:"batch_messages"`
	PayloadBytes  int            `yaml:"payload_bytes"` // of one message, or of the smallest
	Payload       PayloadShape   `yaml:"payload,omitempty"`
	MessagesPerS  int            `yaml:"messages_per_s,omitempty"` // all producers together, open loop; 0 where Load is given
	Load          []LoadStep     `yaml:"load,omitempty"`           // instead of MessagesPerS and Duration
	ClosedLoop    bool           `yaml:"closed_loop,omitempty"`    // instead of MessagesPerS: each producer sends at the answer to the batch before
	Arrival       loadgenArrival `yaml:"arrival,omitempty"`
	Rest          duration       `yaml:"rest,omitempty"`     // from all nodes up to the load
	Warmup        duration       `yaml:"warmup"`             // part of Duration; its samples count apart
	Duration      duration       `yaml:"duration,omitempty"` // of the load; with Load the sum of its steps
	QuietMin      duration       `yaml:"quiet_min"`          // after the load; ends early when all have caught up
	QuietMax      duration       `yaml:"quiet_max"`

	// Repetitions of the whole run, each in a folder of its own.
	Repetitions int `yaml:"repetitions"`

	// FirstAddress "backup" makes every producer ask one backup first, which faults call "first".
	FirstAddress string `yaml:"first_address,omitempty"`
	// Overload says that the rate is beyond any capacity: what was not acknowledged or came late is no failure.
	Overload bool `yaml:"overload,omitempty"`

	// Plant makes the memory target misread at verification (lost, duplicated, …), to try the verdict.
	Plant string `yaml:"plant,omitempty"`

	Durability string        `yaml:"durability"`
	Cluster    server.Limits `yaml:"cluster,omitempty"`
	Faults     []Fault       `yaml:"faults,omitempty"`
	Consumers  Consumers     `yaml:"consumers,omitempty"`
	Demands    Demands       `yaml:"demands"`
}

// loadgenArrival is how due times lie in time: spread or poisson.
type loadgenArrival = loadgen.Arrival

// PayloadShape is how messages differ from one another.
type PayloadShape struct {
	BytesMax        int                  `yaml:"bytes_max,omitempty"` // 0: all have payload_bytes
	Sizes           loadgen.Distribution `yaml:"sizes,omitempty"`
	CompressedShare float64              `yaml:"compressed_share,omitempty"` // what zlib leaves
	Keys            int64                `yaml:"keys,omitempty"`             // 0: none
	KeyDistribution loadgen.Distribution `yaml:"key_distribution,omitempty"`
	ZipfExponent    float64              `yaml:"zipf_exponent,omitempty"`
}

// Demands are what makes a run pass; zero asks nothing, but for the extra view changes, which are counted only when asked for.
type Demands struct {
	AckedShareMin       float64  `yaml:"acked_share_min"`        // of the offered batches
	PrimaryGapMax       duration `yaml:"primary_gap_max"`        // longest time without an acknowledgement around a kill of the primary
	FirstAckMax         duration `yaml:"first_ack_max"`          // from a kill of the primary to the next acknowledgement
	CatchupMax          duration `yaml:"catchup_max"`            // from a restart to caught up
	ReadableMax         duration `yaml:"readable_max"`           // from load stop, or a node's last restart if that came later, to all held, every replica
	ExtraViewChangesMax *int     `yaml:"extra_view_changes_max"` // beyond one for each kill of a primary
	LateP99Max          duration `yaml:"late_p99_max"`           // of the generator's own making, 20 ms; beyond it the run is invalid
	CanaryChangeMax     float64  `yaml:"canary_change_max"`      // factor by which the machine may change from before to after the run; beyond it the run is invalid
	RssAnonMaxBytes     int64    `yaml:"rss_anon_max_bytes"`     // of each node

	// What the run must have exercised; below it the run proves nothing and is invalid.
	KilledPrimariesMin int   `yaml:"killed_primaries_min"`
	KilledBackupsMin   int   `yaml:"killed_backups_min"`
	RepairOpsMin       int64 `yaml:"repair_ops_min"`   // after one kill at least
	TransferOpsMin     int64 `yaml:"transfer_ops_min"` // after one kill at least
}

// scenarioDefaults is a scenario in which nothing was said. A file is read into it, so that a field that the file sets to 0 is 0, and is
// refused or taken as such.
func scenarioDefaults() Scenario {
	return Scenario{
		Name: "unnamed", Repetitions: 1, Target: targetBuiltin, Nodes: 3, Partitions: 1, Producers: 12, BatchMessages: 100, PayloadBytes: 256, MessagesPerS: 30_000,
		Payload: PayloadShape{Sizes: loadgen.DistributionUniform, CompressedShare: 1, KeyDistribution: loadgen.DistributionUniform,
			ZipfExponent: loadgen.ZipfExponentDefault},
		Arrival:  loadgen.ArrivalSpread,
		Duration: duration(60 * time.Second), QuietMax: duration(60 * time.Second), Durability: server.DurabilityPersisted,
		Demands: Demands{LateP99Max: lateP99Default, CanaryChangeMax: canaryChangeDefault},
	}
}

// builtinScenarios are the names of the embedded files, sorted.
func builtinScenarios() []string {
	entries, err := fs.ReadDir(scenarioFiles, "scenarios")
	if err != nil {
		panic("bench: embedded scenarios are missing: " + err.Error())
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// toYAML is the effective scenario: a file that reads back to the same.
func (s Scenario) toYAML() ([]byte, error) {
	if len(s.Load) > 0 {
		s.MessagesPerS, s.Duration = 0, 0 // they follow from the steps
	}
	if s.ClosedLoop {
		s.Arrival = "" // nothing is due
	}
	if s.Partitions == 1 {
		s.Partitions = 0 // said only where it is not the usual: earlier runs did not
	}
	text, err := yaml.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("spell scenario: %w", err)
	}
	return text, nil
}

// toJSON is the form in run.json: the YAML schema, spelled as JSON.
func (s Scenario) toJSON() (json.RawMessage, error) {
	text, err := s.toYAML()
	if err == nil {
		text, err = yaml.YAMLToJSON(text)
	}
	if err != nil {
		return nil, fmt.Errorf("spell scenario: %w", err)
	}
	return text, nil
}
