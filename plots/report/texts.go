package report

import (
	"strings"

	"rejoin/plots/axis"
)

const noData = "no data"

// nsText is a latency; "–" where too few samples carry it.
func nsText(ns *int64) string {
	if ns == nil {
		return "–"
	}
	return axis.DurationText(float64(*ns))
}

// knownNs is a duration that is either measured or not.
func knownNs(ns *int64) string {
	if ns == nil {
		return noData
	}
	return axis.DurationText(float64(*ns))
}

// msText is a time in ms; otherwise says why there is none.
func msText(ms *float64, otherwise string) string {
	if ms == nil {
		return otherwise
	}
	return axis.DurationText(*ms * 1e6)
}

func bytesText(n *int64) string {
	if n == nil {
		return noData
	}
	return axis.BytesText(*n)
}

func countText(n *int64) string {
	if n == nil {
		return noData
	}
	return axis.CountText(*n)
}

func percentText(share *float64) string {
	if share == nil {
		return noData
	}
	return axis.NumberText(100**share) + " %"
}

// counted is a number with its thing, in the plural where one is due.
func counted(n int64, thing string) string {
	switch {
	case n == 1:
		return "1 " + thing
	case strings.HasSuffix(thing, "ch"):
		return axis.CountText(n) + " " + thing + "es"
	}
	return axis.CountText(n) + " " + thing + "s"
}

func orNoData(s string) string {
	if strings.TrimSpace(s) == "" {
		return noData
	}
	return s
}

// shellWord makes any text one word of a POSIX shell.
func shellWord(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+=:,@%"
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func shellLine(words ...string) string {
	var out []string
	for _, w := range words {
		out = append(out, shellWord(w))
	}
	return strings.Join(out, " ")
}
