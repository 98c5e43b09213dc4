package main

import (
	"fmt"
	"strings"
	"time"

	"rejoin/profiles"
)

// dumpProfile prints what a profile is about and the functions that took most. Its flame graph lies beside it, and go tool pprof opens it.
func dumpProfile(path string, title titler, say sayer) error {
	p, err := profiles.ReadFile(path)
	if err != nil {
		return err
	}
	functions, total, unit, err := p.Top("")
	if err != nil {
		return err
	}
	m := p.Meta()
	parts := []string{string(m.Kind) + " profile"}
	for _, part := range []struct{ name, value string }{{"of", m.Node}, {"as", m.Role()}, {"in phase", string(m.Phase)}, {"by", m.Go}} {
		if part.value != "" {
			parts = append(parts, part.name+" "+part.value)
		}
	}
	title("%s", plainLine(strings.Join(parts, " ")))
	_, messages := m.Acked()
	title("%d samples in %s of %d windows, in which %d messages were acknowledged; all functions together %s", p.Samples(), secondsText(p.DurationNs()), len(m.Windows), messages,
		costText(total, unit))
	title("%12s %6s %12s %6s  function (flat: by itself, cum: with what it called)", "flat", "", "cum", "")
	for _, f := range functions {
		if err := say("%12s %5.1f%% %12s %5.1f%%  %s", costText(f.Flat, unit), percentOf(f.Flat, total), costText(f.Cum, unit), percentOf(f.Cum, total),
			plainLine(f.Function)); err != nil {
			return err
		}
	}
	return nil
}

func secondsText(ns int64) string { return fmt.Sprintf("%.1f s", float64(ns)/1e9) }

func percentOf(part, total int64) float64 {
	if total == 0 {
		return 0
	}
	return 100 * float64(part) / float64(total)
}

// costText spells a value of a profile in the unit that the file names.
func costText(v int64, unit string) string {
	switch unit {
	case "nanoseconds":
		return time.Duration(v).Round(10 * time.Microsecond).String()
	case "bytes":
		return bytesText(&v)
	case "count":
		return fmt.Sprint(v)
	}
	return plainLine(fmt.Sprintf("%d %s", v, unit))
}
