package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"reflect"
	"strings"

	"rejoin/results"
	"rejoin/results/compare"
)

// exportTables read a table of a run.
var exportTables = map[string]func(results.Folder) (exportTable, error){
	"metrics":  metricsTable,
	"latency":  latencyTable,
	"kills":    summaryTable(func(s results.Summary) []results.KillSummary { return s.Kills }),
	"stops":    summaryTable(func(s results.Summary) []results.StopSummary { return s.Stops }),
	"replicas": summaryTable(func(s results.Summary) []results.ReplicaSummary { return s.Replicas }),
	"rates":    func(f results.Folder) (exportTable, error) { return listTable(f.ReadRates()) },
	"events":   func(f results.Folder) (exportTable, error) { return listTable(f.ReadEvents()) },
	"status":   statusTable,
}

const tableComparison = "comparison"

// tableOf makes a table of structs: a column for each field, by its name in JSON; fields of a struct inside are joined by dots.
func tableOf[T any](rows []T) exportTable {
	t := exportTable{columns: columnsOf(reflect.TypeFor[T](), "")}
	for _, row := range rows {
		t.rows = append(t.rows, cellsOf(reflect.ValueOf(row), reflect.TypeFor[T]()))
	}
	return t
}

func listTable[T any](rows []T, err error) (exportTable, error) { return tableOf(rows), err }

// inner is the struct that a field holds, itself or by pointer; nil for others.
func inner(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Struct {
		return t
	}
	return nil
}

func columnsOf(t reflect.Type, prefix string) []string {
	var columns []string
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || field.Anonymous {
			continue
		}
		if s := inner(field.Type); s != nil {
			columns = append(columns, columnsOf(s, prefix+name+".")...)
			continue
		}
		columns = append(columns, prefix+name)
	}
	return columns
}

// cellsOf are the values of a struct's columns; v is not valid for what is not there, whose cells are all nil.
func cellsOf(v reflect.Value, t reflect.Type) []any {
	var cells []any
	for _, field := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || field.Anonymous {
			continue
		}
		var value reflect.Value
		if v.IsValid() {
			value = v.FieldByIndex(field.Index)
			if options == "omitempty" && value.IsZero() {
				value = reflect.Value{} // what the file leaves out is not known
			}
		}
		if value.IsValid() {
			if value.Kind() == reflect.Pointer {
				value = value.Elem() // not valid if nil
			}
		}
		switch s := inner(field.Type); {
		case s != nil:
			cells = append(cells, cellsOf(value, s)...)
		case value.IsValid():
			cells = append(cells, value.Interface())
		default:
			cells = append(cells, nil)
		}
	}
	return cells
}

func summaryTable[T any](of func(results.Summary) []T) func(results.Folder) (exportTable, error) {
	return func(f results.Folder) (exportTable, error) {
		s, err := f.ReadSummary()
		if err != nil {
			return exportTable{}, fmt.Errorf("run %s has no summary yet: %w", f.Name(), err)
		}
		return tableOf(of(s)), nil
	}
}

// metricLine is a line of table metrics.
type metricLine struct {
	Metric string  `json:"metric"`
	Group  string  `json:"group"`
	Unit   string  `json:"unit"`
	Better string  `json:"better"`
	Kill   *int    `json:"kill"` // from 1; null for what a run has once
	Value  float64 `json:"value"`
}

func metricsTable(f results.Folder) (exportTable, error) {
	run, err := compare.Load(f)
	if err != nil {
		return exportTable{}, err
	}
	var lines []metricLine
	for _, m := range compare.Measure(run) {
		for _, v := range m.Values {
			line := metricLine{m.Name, string(m.Group), string(m.Unit), string(m.Better), nil, v.Value}
			if v.Kill >= 0 {
				line.Kill = new(v.Kill + 1)
			}
			lines = append(lines, line)
		}
	}
	return tableOf(lines), nil
}

// latencyLine is a line of table latency; quantiles are null where too few samples carry them.
type latencyLine struct {
	Kind    string `json:"kind"` // due_to_ack, sent_to_ack, due_to_sent
	Phase   string `json:"phase"`
	Batches int64  `json:"batches"`
	P50Ns   *int64 `json:"p50_ns"`
	P90Ns   *int64 `json:"p90_ns"`
	P99Ns   *int64 `json:"p99_ns"`
	P999Ns  *int64 `json:"p999_ns"`
	P9999Ns *int64 `json:"p9999_ns"`
	MaxNs   *int64 `json:"max_ns"`
}

func latencyTable(f results.Folder) (exportTable, error) {
	s, err := f.ReadSummary()
	if err != nil {
		return exportTable{}, fmt.Errorf("run %s has no summary yet: %w", f.Name(), err)
	}
	var lines []latencyLine
	for _, kind := range []struct {
		name results.LatencyKind
		of   map[string]results.Quantiles
	}{{results.DueToAck, s.LatencyNs}, {results.SentToAck, s.ServiceNs}, {results.DueToSent, s.LateNs}} {
		for _, phase := range append(results.Phases(), results.Overall) {
			if q, ok := kind.of[string(phase)]; ok {
				lines = append(lines, latencyLine{string(kind.name), string(phase), q.Count, q.P50, q.P90, q.P99, q.P999, q.P9999, q.Max})
			}
		}
	}
	return tableOf(lines), nil
}

func statusTable(f results.Folder) (exportTable, error) {
	reader, err := f.OpenStatus()
	if err != nil {
		return exportTable{}, err
	}
	defer reader.Close()
	var lines []results.Status
	for {
		s, err := reader.Next()
		if err == io.EOF {
			return tableOf(lines), nil
		}
		if err != nil {
			return exportTable{}, err
		}
		lines = append(lines, s)
	}
}

// comparisonLine is a line of table comparison. Fractions are of A: 0.1 is ten per cent more.
type comparisonLine struct {
	Metric       string   `json:"metric"`
	Group        string   `json:"group"`
	Unit         string   `json:"unit"`
	Better       string   `json:"better"`
	Primary      bool     `json:"primary"`
	AN           int      `json:"a_n"`
	AMedian      *float64 `json:"a_median"`
	ALo          *float64 `json:"a_lo"`
	AHi          *float64 `json:"a_hi"`
	BN           int      `json:"b_n"`
	BMedian      *float64 `json:"b_median"`
	BLo          *float64 `json:"b_lo"`
	BHi          *float64 `json:"b_hi"`
	Absolute     *float64 `json:"absolute"`
	Fraction     *float64 `json:"fraction"`
	FractionLo   *float64 `json:"fraction_lo"`
	FractionHi   *float64 `json:"fraction_hi"`
	SignedRankP  *float64 `json:"signed_rank_p"`
	MannWhitneyP *float64 `json:"mann_whitney_p"`
	HolmP        *float64 `json:"holm_p"`
	Floor        *float64 `json:"floor_fraction"`
	Finding      string   `json:"finding"`
	Note         string   `json:"note"`
}

func comparisonTable(root, ref string) (exportTable, error) {
	for _, dir := range []string{ref, filepath.Join(root, ref)} {
		c, err := readComparison(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return exportTable{}, err
		}
		var lines []comparisonLine
		for _, m := range c.Metrics {
			lines = append(lines, comparisonLineOf(m))
		}
		return tableOf(lines), nil
	}
	return exportTable{}, fmt.Errorf("%s holds no %s; bench compare and bench ab write one", ref, comparisonFile)
}

func comparisonLineOf(m compare.Metric) comparisonLine {
	line := comparisonLine{Metric: m.Name, Group: string(m.Group), Unit: string(m.Unit), Better: string(m.Better), Primary: m.Primary,
		AN: m.A.N, AMedian: m.A.Median, ALo: m.A.Lo, AHi: m.A.Hi, BN: m.B.N, BMedian: m.B.Median, BLo: m.B.Lo, BHi: m.B.Hi,
		HolmP: m.HolmP, Floor: m.FloorFraction, Finding: m.Finding, Note: m.Note}
	if d := m.Difference; d != nil {
		line.Absolute, line.Fraction, line.FractionLo, line.FractionHi = &d.Absolute, d.Fraction, d.FracLo, d.FracHi
	}
	if m.SignedRank != nil {
		line.SignedRankP = &m.SignedRank.P
	}
	if m.MannWhitney != nil {
		line.MannWhitneyP = &m.MannWhitney.P
	}
	return line
}

const comparisonBytesMax = 64 << 20

// readComparison reads comparison.json of a folder; the error is fs.ErrNotExist if there is none.
func readComparison(dir string) (compare.Comparison, error) {
	var c compare.Comparison
	path := filepath.Join(dir, comparisonFile)
	file, err := results.OpenRegular(path)
	if err != nil {
		return c, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, comparisonBytesMax))
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		return c, fmt.Errorf("read %s: %w", path, err)
	}
	if c.SchemaVersion != compare.SchemaVersion {
		return c, fmt.Errorf("read %s: schema version %d, this bench reads %d", path, c.SchemaVersion, compare.SchemaVersion)
	}
	return c, nil
}
