package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"rejoin/results"
)

// Run is what a comparison needs of a run folder.
type Run struct {
	Name    string
	Dir     string
	Run     results.Run
	Summary results.Summary
	// doubt is what in the files of the run speaks against its verdict; empty if nothing does.
	doubt string
}

// Load reads a run. The error says in words why the folder holds nothing that can be compared.
func Load(f results.Folder) (Run, error) {
	r := Run{Name: f.Name(), Dir: f.Dir}
	var err error
	if r.Run, err = f.ReadRun(); err != nil {
		return r, fmt.Errorf("run %s: %w", r.Name, err)
	}
	r.Summary, err = f.ReadSummary()
	if errors.Is(err, fs.ErrNotExist) {
		return r, fmt.Errorf("run %s has no summary.json: it goes on or crashed; leave it out", r.Name)
	}
	if err != nil {
		return r, fmt.Errorf("run %s: %w", r.Name, err)
	}
	if err := r.impossible(); err != nil {
		return r, fmt.Errorf("run %s %w", r.Name, err)
	}
	r.doubt = doubtOf(f, r.Summary)
	return r, nil
}

// NoEvidence says why the numbers of a run are no evidence; empty if they are. A run that failed a demand, or lost data, has measured what it
// measured; one that is invalid or was interrupted, or whose files are damaged, has not.
func (r Run) NoEvidence() string {
	switch v := r.Summary.Verdict; v {
	case results.Pass, results.Fail, results.Stuck:
		return r.doubt
	case results.Invalid, results.Interrupted:
		because := "it gives no reason"
		if len(r.Summary.Reasons) > 0 {
			because = r.Summary.Reasons[0]
		}
		return fmt.Sprintf("is %s: %s", v, because)
	default:
		return fmt.Sprintf("has the unknown verdict %q", v)
	}
}

// notPassed says how a run that is evidence ended, and why first; empty for a pass.
func (r Run) notPassed() string {
	s := r.Summary
	if s.ExitCode == results.ExitPass {
		return ""
	}
	text := fmt.Sprintf("did not pass (%s, exit code %d)", s.Verdict, s.ExitCode)
	if len(s.Reasons) > 0 {
		text += ": " + s.Reasons[0]
	}
	if more := len(s.Reasons) - 1; more > 0 {
		text += fmt.Sprintf("; and %s", plural(more, "more reason"))
	}
	return text
}

// survivors says that the latencies of a run are of so few of its batches that they flatter; empty if not.
func (r Run) survivors() string {
	share, flatters := r.Summary.Unacknowledged()
	if !flatters {
		return ""
	}
	return fmt.Sprintf("run %s: %.1f %% of the batches were not acknowledged in time; its latencies are of the others, and better than what producers met", r.Name, 100*share)
}

// is says whether both are one run, whatever path led to it, and also where its folder was copied or renamed: run.json keeps the name that it had.
func (r Run) is(other Run) bool {
	return r.Run.Name == other.Run.Name && r.Run.StartMonoNs == other.Run.StartMonoNs && r.Run.StartedAt.Equal(other.Run.StartedAt)
}

func (r Run) ref() Ref {
	return Ref{Name: r.Name, Dir: r.Dir, Verdict: string(r.Summary.Verdict), Seed: r.Run.Asked.Seed, StartedAt: r.Run.StartedAt}
}

// Overload says whether more was asked for than the target can carry. What batches waited then says how full it was, and is a latency at no rate.
func (r Run) Overload() bool {
	var scenario struct {
		Overload   bool `json:"overload"`
		ClosedLoop bool `json:"closed_loop"`
	}
	_ = json.Unmarshal(r.Run.Asked.Scenario, &scenario) // a scenario without the field is an ordinary load
	return scenario.Overload || scenario.ClosedLoop
}

// kills says whether the run was asked to kill nodes.
func (r Run) kills() bool {
	return slices.ContainsFunc(r.Run.Asked.Faults, func(f results.AskedFault) bool { return f.Kind == "kill" })
}
