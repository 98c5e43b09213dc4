package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"rejoin/server"
)

// scenarioFiles are the built-in scenarios, each a YAML file named after itself.
//
//go:embed scenarios/*.yaml
var scenarioFiles embed.FS

// defaultScenario is what `bench run` runs.
const defaultScenario = "quick"

// Scenario is what a run does: the load, the faults and what is demanded. It stands in run.json with every default filled in.
type Scenario struct {
	Name  string `yaml:"name"`
	About string `yaml:"about"`

	Target        string   `yaml:"target"` // builtin or memory
	Nodes         int      `yaml:"nodes"`
	Producers     int      `yaml:"producers"`
	BatchMessages int      `yaml:"batch_messages"`
	PayloadBytes  int      `yaml:"payload_bytes"`
	MessagesPerS  int      `yaml:"messages_per_s"` // all producers together, open loop
	Warmup        duration `yaml:"warmup"`         // part of Duration; its samples count apart
	Duration      duration `yaml:"duration"`       // of the load
	QuietMin      duration `yaml:"quiet_min"`      // after the load; ends early when all have caught up
	QuietMax      duration `yaml:"quiet_max"`

	// FirstAddress "backup" makes every producer ask one backup first, which faults call "first".
	FirstAddress string `yaml:"first_address,omitempty"`
	// Overload says that the rate is beyond any capacity: what was not acknowledged or came late is no failure.
	Overload bool `yaml:"overload,omitempty"`

	// Plant makes the memory target misread at verification (lost, duplicated, …), to try the verdict.
	Plant string `yaml:"plant,omitempty"`

	Durability string        `yaml:"durability"`
	Cluster    server.Limits `yaml:"cluster,omitempty"`
	Faults     []Fault       `yaml:"faults,omitempty"`
	Demands    Demands       `yaml:"demands"`
}

// Fault is one timed fault: Kill or Stop names the node, Restart or Cont says after how long it comes back.
type Fault struct {
	At           faultTime `yaml:"at"` // since the start of the load
	Kill         string    `yaml:"kill,omitempty"`
	RestartAfter until     `yaml:"restart_after,omitempty"`
	Stop         string    `yaml:"stop,omitempty"`
	ContAfter    until     `yaml:"cont_after,omitempty"`
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
	RssAnonMaxBytes     int64    `yaml:"rss_anon_max_bytes"`     // of each node

	// What the run must have exercised; below it the run proves nothing and is invalid.
	KilledPrimariesMin int   `yaml:"killed_primaries_min"`
	KilledBackupsMin   int   `yaml:"killed_backups_min"`
	RepairOpsMin       int64 `yaml:"repair_ops_min"`   // after one kill at least
	TransferOpsMin     int64 `yaml:"transfer_ops_min"` // after one kill at least
}

// duration is a time.Duration that is written as "1.5s" in YAML and JSON alike.
type duration time.Duration

func (d duration) String() string               { return time.Duration(d).String() }
func (d duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

func (d *duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil || v < 0 {
		return fmt.Errorf("%q is no duration such as 1500ms, 2s or 5m", text)
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

func (t *faultTime) UnmarshalText(text []byte) error {
	if string(text) == "before" {
		*t = faultTime{Before: true}
		return nil
	}
	var d duration
	if err := d.UnmarshalText(text); err != nil {
		return fmt.Errorf("%w, nor the word before", err)
	}
	*t = faultTime{After: time.Duration(d)}
	return nil
}

// until is a duration or never.
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

func (u *until) UnmarshalText(text []byte) error {
	switch string(text) {
	case "":
		*u = until{}
		return nil
	case "never":
		*u = until{Given: true, Never: true}
		return nil
	}
	var d duration
	if err := d.UnmarshalText(text); err != nil {
		return fmt.Errorf("%w, nor the word never", err)
	}
	*u = until{Given: true, After: time.Duration(d)}
	return nil
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

// loadScenario finds a built-in scenario by its name, or reads a YAML file.
func loadScenario(ref string) (Scenario, error) {
	if text, err := scenarioFiles.ReadFile(path.Join("scenarios", ref+".yaml")); err == nil {
		return parseScenario(text)
	}
	text, err := os.ReadFile(ref)
	if errors.Is(err, fs.ErrNotExist) {
		return Scenario{}, fmt.Errorf("there is no scenario %q: built in are %s; otherwise name a YAML file", ref, strings.Join(builtinScenarios(), ", "))
	}
	if err != nil {
		return Scenario{}, fmt.Errorf("read scenario: %w", err)
	}
	s, err := parseScenario(text)
	if err != nil {
		return Scenario{}, fmt.Errorf("scenario %s: %w", ref, err)
	}
	return s, nil
}

func parseScenario(text []byte) (Scenario, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return Scenario{}, errors.New("the file is empty")
	}
	var s Scenario
	if err := yaml.UnmarshalWithOptions(text, &s, yaml.Strict()); err != nil {
		return Scenario{}, errors.New(yaml.FormatError(err, false, true))
	}
	s = s.withDefaults()
	return s, s.validate()
}

// toJSON is the form in run.json: the YAML schema, spelled as JSON.
func (s Scenario) toJSON() (json.RawMessage, error) {
	text, err := yaml.Marshal(s)
	if err == nil {
		text, err = yaml.YAMLToJSON(text)
	}
	if err != nil {
		return nil, fmt.Errorf("spell scenario: %w", err)
	}
	return text, nil
}

func (s Scenario) withDefaults() Scenario {
	orDefault(&s.Name, "unnamed")
	orDefault(&s.Target, targetBuiltin)
	orDefault(&s.Nodes, 3)
	orDefault(&s.Producers, 12)
	orDefault(&s.BatchMessages, 100)
	orDefault(&s.PayloadBytes, 256)
	orDefault(&s.MessagesPerS, 30_000)
	orDefault(&s.Duration, duration(60*time.Second))
	orDefault(&s.QuietMax, duration(60*time.Second))
	orDefault(&s.Durability, server.DurabilityPersisted)
	orDefault(&s.Demands.LateP99Max, lateP99Default)
	return s
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (s Scenario) validate() error {
	switch {
	case s.Target != targetBuiltin && s.Target != targetMemory:
		return fmt.Errorf("scenario %s: target %q is unknown; there are %s and %s", s.Name, s.Target, targetBuiltin, targetMemory)
	case s.Nodes != 1 && s.Nodes != 3 && s.Nodes != 5:
		return fmt.Errorf("scenario %s: %d nodes; a cluster has 1, 3 or 5", s.Name, s.Nodes)
	case s.Producers < 1 || s.Producers > 1000:
		return fmt.Errorf("scenario %s: %d producers; pass 1 to 1000", s.Name, s.Producers)
	case s.BatchMessages < 1 || s.BatchMessages > 10_000:
		return fmt.Errorf("scenario %s: batches of %d messages; pass 1 to 10000", s.Name, s.BatchMessages)
	case s.Duration < duration(time.Second):
		return fmt.Errorf("scenario %s: duration: a load of %v is too short; pass at least 1s", s.Name, s.Duration)
	case s.Warmup >= s.Duration:
		return fmt.Errorf("scenario %s: a warm-up of %v leaves nothing of a load of %v", s.Name, s.Warmup, s.Duration)
	case s.QuietMin > s.QuietMax:
		return fmt.Errorf("scenario %s: quiet_min %v is longer than quiet_max %v", s.Name, s.QuietMin, s.QuietMax)
	case s.FirstAddress != "" && s.FirstAddress != "backup":
		return fmt.Errorf("scenario %s: first_address %q; leave it out or say backup", s.Name, s.FirstAddress)
	case s.Plant != "" && s.Target != targetMemory:
		return fmt.Errorf("scenario %s: plant works with target %s only; our server has no fault to switch on", s.Name, targetMemory)
	case s.Demands.AckedShareMin < 0 || s.Demands.AckedShareMin > 1:
		return fmt.Errorf("scenario %s: acked_share_min %v is no share; pass 0 to 1", s.Name, s.Demands.AckedShareMin)
	}
	if err := s.validateLoad(); err != nil {
		return fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	if d := s.Demands; s.Target == targetMemory && d.RepairOpsMin+d.TransferOpsMin > 0 {
		return fmt.Errorf("scenario %s: target %s repairs and transfers nothing; leave repair_ops_min and transfer_ops_min out", s.Name, targetMemory)
	}
	for i, f := range s.Faults {
		if err := f.validate(s); err != nil {
			return fmt.Errorf("scenario %s: fault %d: %w", s.Name, i+1, err)
		}
	}
	return nil
}

// Limits of the load generator: what its timetable can express, and the head of its payloads.
const (
	messagesPerSMax = 1_000_000_000
	payloadBytesMin = 40
)

// validateLoad holds rate and sizes against what can be offered and what a log takes.
func (s Scenario) validateLoad() error {
	if least := s.Producers * s.BatchMessages; s.MessagesPerS < least {
		return fmt.Errorf("%d messages a second are less than one batch of %d messages a second for each of %d producers; pass a rate of at least %d, or smaller batches or fewer producers",
			s.MessagesPerS, s.BatchMessages, s.Producers, least)
	}
	if s.MessagesPerS > messagesPerSMax {
		return fmt.Errorf("%d messages a second are more than can be offered; pass a rate of at most %d", s.MessagesPerS, messagesPerSMax)
	}
	if s.PayloadBytes < payloadBytesMin {
		return fmt.Errorf("payload_bytes: %d; pass at least %d, because a payload says whose it is", s.PayloadBytes, payloadBytesMin)
	}
	if body, most := bodyBytesOf(s.BatchMessages, s.PayloadBytes), s.bodyBytesMax(); body > most {
		return fmt.Errorf("batch_messages x payload_bytes, %d x %d, make a batch of %d bytes with the head of each message; a batch holds at most %d",
			s.BatchMessages, s.PayloadBytes, body, most)
	}
	return nil
}

// Names that a fault resolves when its time comes.
const (
	nodePrimary  = "primary"
	nodeBackup   = "backup"   // the lowest-numbered backup that no fault has killed yet, else the lowest-numbered
	nodeUnkilled = "unkilled" // the lowest-numbered node that no fault has killed yet
	nodeFirst    = "first"    // the backup that producers ask first
)

func (f Fault) validate(s Scenario) error {
	if (f.Kill == "") == (f.Stop == "") {
		return errors.New("say either kill: NODE or stop: NODE")
	}
	if f.Kill != "" && f.ContAfter.Given || f.Stop != "" && f.RestartAfter.Given {
		return errors.New("restart_after goes with kill, cont_after with stop")
	}
	if !f.end().Given {
		return errors.New("say restart_after (kill) or cont_after (stop): a duration or never")
	}
	if !f.At.Before && f.At.After >= time.Duration(s.Duration) {
		return fmt.Errorf("at %v lies behind the load of %v", f.At.After, s.Duration)
	}
	switch name := f.node(); name {
	case nodePrimary, nodeBackup, nodeUnkilled:
		return nil
	case nodeFirst:
		if s.FirstAddress == "" {
			return errors.New("the node first needs first_address")
		}
		return nil
	default:
		_, err := nodeNumber(name, s.Nodes)
		return err
	}
}

func (f Fault) node() string { return f.Kill + f.Stop }

// end is when the node comes back, since At; a fault before the load counts from its start.
func (f Fault) end() until {
	if f.Kill != "" {
		return f.RestartAfter
	}
	return f.ContAfter
}

func nodeNumber(name string, nodes int) (int, error) {
	digits, ok := strings.CutPrefix(name, "n")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 0 || n >= nodes {
		return 0, fmt.Errorf("node %q: there are n0 to n%d, %s, %s, %s and %s", name, nodes-1, nodePrimary, nodeBackup, nodeUnkilled, nodeFirst)
	}
	return n, nil
}

// batchesPerS is the offered rate in batches.
func (s Scenario) batchesPerS() float64 { return float64(s.MessagesPerS) / float64(s.BatchMessages) }
