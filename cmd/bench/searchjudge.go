package main

import (
	"fmt"
	"strings"
	"time"

	"rejoin/results"
)

// judge holds a run against what is searched for.
func (s *searchStep) judge(summary results.Summary, p99Max, recoveryMax time.Duration) {
	s.ExitCode = summary.ExitCode
	s.P99Ns = summary.LatencyNs[string(results.Steady)].P99
	var recovered string
	s.RecoveryMs, recovered = recoveryOf(summary)
	say := func(result stepResult, format string, args ...any) {
		s.Result, s.Why = result, fmt.Sprintf(format, args...)
	}
	switch {
	case summary.ExitCode == results.ExitLoss || summary.ExitCode == results.ExitInterrupted || summary.ExitCode == results.ExitUsage:
		say(stepAborted, "%s: %s", summary.Verdict, strings.Join(summary.Reasons, "; "))
	case summary.ExitCode == results.ExitInvalid:
		say(stepUnreliable, "invalid: %s", strings.Join(summary.Reasons, "; "))
	case summary.ExitCode != results.ExitPass:
		say(stepMissed, "%s: %s", summary.Verdict, strings.Join(summary.Reasons, "; "))
	case s.P99Ns == nil:
		say(stepUnreliable, "invalid: too few batches of the steady phase for a p99; the scenario is too short for this rate")
	case *s.P99Ns > int64(p99Max):
		say(stepMissed, "steady p99 %s, at most %v is asked for", nsText(s.P99Ns), p99Max)
	case s.RecoveryMs == nil:
		say(stepMissed, "%s", recovered)
	case *s.RecoveryMs > float64(recoveryMax)/1e6:
		say(stepMissed, "recovery %s, at most %v is asked for", msText(s.RecoveryMs), recoveryMax)
	default:
		say(stepReached, "steady p99 %s, recovery %s", nsText(s.P99Ns), msText(s.RecoveryMs))
	}
}

// recoveryOf is the longest recovery of a run: from a kill until nothing waits that had been due before, and from a node's restart until it
// has caught up, whichever takes longer. Nil, with the reason, if there is none.
func recoveryOf(summary results.Summary) (*float64, string) {
	longest, kills := 0.0, 0
	for _, k := range summary.Kills {
		if k.DownMs == nil {
			continue
		}
		kills++
		if k.CaughtUpMs == nil {
			return nil, fmt.Sprintf("%s never caught up after its restart", k.Node)
		}
		longest = max(longest, *k.CaughtUpMs)
		if k.Recovery == nil {
			continue
		}
		if k.Recovery.Outside.BacklogDrained == nil {
			return nil, fmt.Sprintf("what waited after the kill of %s was never worked off", k.Node)
		}
		longest = max(longest, *k.Recovery.Outside.BacklogDrained)
	}
	if kills == 0 {
		return nil, "no node was killed and came back"
	}
	return &longest, ""
}

func (s searchStep) line() string {
	return fmt.Sprintf("  %8d messages/s  %-10s  %s", s.MessagesPerS, s.Result, s.Why)
}

// unreliable says that the search met rates of which nothing is known.
func (a searchAnswer) unreliable() (rates []int) {
	for _, s := range a.Steps {
		if s.Result == stepUnreliable {
			rates = append(rates, s.MessagesPerS)
		}
	}
	return rates
}

func (a searchAnswer) code(interrupted bool) int {
	last := searchStep{}
	if len(a.Steps) > 0 {
		last = a.Steps[len(a.Steps)-1]
	}
	switch {
	case interrupted:
		return results.ExitInterrupted
	case last.Result == stepAborted && last.ExitCode != results.ExitPass:
		return last.ExitCode
	case last.Result == stepAborted:
		return results.ExitInvalid
	case a.Reached > 0:
		return results.ExitPass
	case len(a.Steps) == 0 || len(a.unreliable()) == len(a.Steps):
		return results.ExitInvalid
	}
	return results.ExitMissed
}

// text is search.txt: the steps and the answer.
func (a searchAnswer) text() string {
	var b strings.Builder
	for _, s := range a.Steps {
		fmt.Fprintln(&b, s.line())
	}
	return b.String() + a.conclusion()
}

// conclusion is the answer for people: the rate with its bracket, or that there is none.
func (a searchAnswer) conclusion() string {
	var b strings.Builder
	last := searchStep{}
	if len(a.Steps) > 0 {
		last = a.Steps[len(a.Steps)-1]
	}
	switch {
	case last.Result == stepAborted:
		fmt.Fprintf(&b, "no answer: at %d messages a second the search was ended: %s\n", last.MessagesPerS, last.Why)
	case a.Reached > 0 && a.Above > 0:
		fmt.Fprintf(&b, "answer: %d messages a second; reached there, not reached at %d\n", a.Reached, a.Above)
	case a.Reached > 0:
		fmt.Fprintf(&b, "answer: at least %d messages a second; it was reached there and no higher rate was tried\n", a.Reached)
	case len(a.unreliable()) == len(a.Steps):
		b.WriteString("no answer: no run could be believed\n")
	default:
		fmt.Fprintf(&b, "answer: no rate reached it, not even %d messages a second\n", a.Above)
	}
	if rates := a.unreliable(); len(rates) > 0 {
		fmt.Fprintf(&b, "unreliable at %s messages a second: the runs there were invalid, also when repeated (once, if runs were left), and count as not reached\n",
			strings.Trim(strings.ReplaceAll(fmt.Sprint(rates), " ", ", "), "[]"))
	}
	fmt.Fprintf(&b, "ended because: %s; %s in %.0f s\n", a.EndedBy, counted(int64(len(a.Steps)), "step"), a.TookS)
	return b.String()
}
