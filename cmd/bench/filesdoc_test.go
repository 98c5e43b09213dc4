package main

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"rejoin/results"
	"rejoin/results/compare"
)

// jsonNames are the names of all fields of a type, those of types inside included.
func jsonNames(t reflect.Type, seen map[reflect.Type]bool) (names []string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || seen[t] {
		return nil
	}
	seen[t] = true
	for i := range t.NumField() {
		field := t.Field(i)
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
		names = append(names, jsonNames(field.Type, seen)...)
	}
	return names
}

// TestFilesAreDocumented: docs/files.md names every field of every file, every column of every table and every metric.
func TestFilesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/files.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[reflect.Type]bool{}
	var names []string
	for _, file := range []any{results.Run{}, results.Summary{}, results.Event{}, results.Status{}, results.Rate{}, results.Machine{}, results.LimitsFile{},
		compare.Comparison{}, compare.Repetition{}, abPlan{}} {
		names = append(names, jsonNames(reflect.TypeOf(file), seen)...)
	}
	for table := range exportTables {
		names = append(names, table)
	}
	for _, m := range append(compare.PrimaryMetrics(false, true), compare.PrimaryMetrics(true, false)...) {
		names = append(names, m)
	}
	if len(names) < 150 {
		t.Fatalf("only %d names were found: the walk is broken", len(names))
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("docs/files.md does not name `%s`: say what it is and in which unit", name)
		}
	}
	if strings.Contains(string(text), "`nothing_like_this`") {
		t.Error("the test finds everything")
	}
}
