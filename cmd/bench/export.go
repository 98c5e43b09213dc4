package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"rejoin/results"
)

type exportCommand struct {
	Of     string `arg:"" name:"run" help:"Run: folder, name, or latest; for table comparison a folder with comparison.json."`
	Table  string `arg:"" optional:"" help:"metrics, latency, kills, stops, replicas, rates, status, events or comparison." default:"metrics"`
	Format string `help:"csv, or json: a list of objects with the same names." default:"csv" placeholder:"FORMAT"`
	Out    string `help:"File to write; - is the standard output." default:"-" short:"o" placeholder:"FILE"`
}

// Help is shown by bench export --help.
func (exportCommand) Help() string {
	return `Writes one table of a run for spreadsheets and scripts. Column names carry their unit (_ns, _ms, _bytes); a value that was not measured is
empty in CSV and null in JSON, never 0. Every table and file is described in docs/files.md.

  metrics      the numbers that bench compare compares, one line each
  latency      quantiles by phase, of due to acknowledged, sent to acknowledged, due to sent
  kills        each process that the run ended, and the return after it
  stops        each SIGSTOP
  replicas     each node at the end
  rates        batches of each second
  status       each poll of each node
  events       each event of harness and nodes
  comparison   of a folder that bench compare or bench ab wrote: one line a metric

Examples:
  bench export latest latency
  bench export latest rates --format json -o rates.json
  bench export results/ab-20260102T030405Z-steady comparison -o comparison.csv`
}

// Run writes the table.
func (c *exportCommand) Run(env *environment) error {
	if c.Format != "csv" && c.Format != "json" {
		return usage("format %q: pass csv or json", c.Format)
	}
	t, err := c.read(env)
	if err != nil {
		return usage("%w", err)
	}
	write := func(w io.Writer) error {
		if c.Format == "json" {
			return t.writeJSON(w)
		}
		return t.writeCSV(w)
	}
	if c.Out == "-" {
		err = write(tableOut(env.out))
	} else {
		err = results.WriteFileAtomic(c.Out, write)
	}
	if err != nil {
		return usage("write table: %w", err)
	}
	return nil
}

// tableOut is as exact as the table where a program reads it, and harmless on a terminal.
func tableOut(out io.Writer) io.Writer {
	if exact := unplain(out); terminalWidth(exact) == 0 {
		return exact
	}
	return out
}

func (c *exportCommand) read(env *environment) (exportTable, error) {
	if c.Table == tableComparison {
		return comparisonTable(env.results, c.Of)
	}
	read, known := exportTables[c.Table]
	if !known {
		var names []string
		for name := range exportTables {
			names = append(names, name)
		}
		slices.Sort(names)
		return exportTable{}, fmt.Errorf("there is no table %q; there are %s and %s", c.Table, strings.Join(names, ", "), tableComparison)
	}
	folder, err := results.Open(env.results, c.Of)
	if err != nil {
		return exportTable{}, err
	}
	return read(folder)
}

// exportTable is a table whose cells are what encoding/json makes of them; nil is a value that is not known.
type exportTable struct {
	columns []string
	rows    [][]any
}

func (t exportTable) writeCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	if err := out.Write(t.columns); err != nil {
		return err
	}
	line := make([]string, len(t.columns))
	for _, row := range t.rows {
		for i, cell := range row {
			text, err := csvText(cell)
			if err != nil {
				return fmt.Errorf("column %s: %w", t.columns[i], err)
			}
			line[i] = text
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// csvText is a cell as JSON spells it, text without its quotes. Text that a spreadsheet would take for a formula gets a quote before it.
func csvText(cell any) (string, error) {
	if cell == nil {
		return "", nil
	}
	if v := reflect.ValueOf(cell); v.Kind() == reflect.String { // also a named type, such as an event's kind
		text := v.String()
		if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
			return "'" + text, nil
		}
		return text, nil
	}
	text, err := json.Marshal(cell)
	return string(text), err
}

func (t exportTable) writeJSON(w io.Writer) error {
	if len(t.columns) == 0 {
		return errors.New("the table has no columns")
	}
	list := []map[string]any{}
	for _, row := range t.rows {
		object := map[string]any{}
		for i, cell := range row {
			object[t.columns[i]] = cell
		}
		list = append(list, object)
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", " ")
	return encoder.Encode(list)
}
