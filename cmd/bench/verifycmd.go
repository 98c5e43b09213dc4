package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"rejoin/loadgen"
	"rejoin/results"
)

type verifyCommand struct {
	Of   string `arg:"" name:"run" optional:"" help:"Folder, name, or latest." default:"latest"`
	Live string `help:"Read running nodes, at the client addresses of this cluster file, instead of files." placeholder:"FILE"`
}

// Help is shown by bench verify --help.
func (verifyCommand) Help() string {
	return `Reads the nodes' files without any node running and holds them against the run's ledger. Data directories are removed after a pass
unless the run was given --keep; then there is nothing to read, and the command says so. Runs that did not pass keep them.

With --live each replica is read by its own address, as clients reach it. To bring a kept run's nodes up again, start
    bench node --cluster RUN/cluster.yaml --id 0 --data RUN/data/n0
and so on for each (on loopback no secret is needed); then
    bench verify RUN --live RUN/cluster.yaml
Where the nodes ask for a token, it is taken from ` + envToken + `.`
}

// Run verifies offline and exits as a run would.
func (c *verifyCommand) Run(env *environment) error {
	folder, err := results.Open(env.results, c.Of)
	if err != nil {
		return usage("%w", err)
	}
	run, err := folder.ReadRun()
	if err != nil {
		return usage("%w", err)
	}
	if goesOn(run) {
		return usage("%s goes on (process %d); wait for its end", folder.Name(), run.Pid)
	}
	if run.Asked.Target != targetBuiltin {
		return usage("%s: only a run of target %s can be read again, this one drove %s", folder.Name(), targetBuiltin, run.Asked.Target)
	}
	report, verifier, err := c.read(env, folder, run)
	if err != nil {
		return err
	}
	var judge results.Judge
	judgeCommand(&judge, report, c.Live == "" && run.Status != results.StatusFinished)
	if c.Live == "" {
		judgeFiles(&judge, verifier.Reached(func(int) bool { return true }), verifier.AckedEnds())
	}
	verdict, code := judge.Verdict()
	fmt.Fprintf(env.out, "%s: %d acknowledged batches, %d lost, %d unknown of which %d are there\n", verdict, report.AckedBatches, report.LostBatches,
		report.UnknownBatches, report.UnknownPresentBatches)
	for _, reason := range judge.Reasons() {
		fmt.Fprintf(env.out, "  because %s\n", reason)
	}
	if code != results.ExitPass {
		return &exitError{code: code}
	}
	return nil
}

// judgeCommand judges a reading. Where a run ended before its nodes had come to rest, by a crash or Ctrl-C, a node that was down or on its way back
// then lacks what the others have: its files prove nothing, which is not that it is stuck.
func judgeCommand(judge *results.Judge, report *loadgen.Report, unrested bool) {
	const mayBe = "the run ended before its nodes had come to rest, which may be why: start them, and verify with --live"
	short := map[string]bool{}
	for _, replica := range report.Replicas {
		switch {
		case !unrested:
		case replica.Unreadable != "":
			short[replica.Replica] = true
			judge.Invalid("%s could not be read to its end: %s; %s", replica.Replica, replica.Unreadable, mayBe)
		case replica.BehindBatches > 0:
			short[replica.Replica] = true
			judge.Invalid("%s ends at offset %d: %d acknowledged batches cannot be read there; %s", replica.Replica, replica.EndOffset, replica.BehindBatches, mayBe)
		}
	}
	judgeVerification(judge, report, short)
}

// read holds the replicas against the ledgers.
func (c *verifyCommand) read(env *environment, folder results.Folder, run results.Run) (*loadgen.Report, *loadgen.Verifier, error) {
	if c.Live == "" && !folder.HasData() {
		return nil, nil, usage("%s: %s", folder.Name(), noData(folder, run))
	}
	var ledgers []string
	for i := range run.Asked.Producers {
		ledgers = append(ledgers, loadgen.LedgerPath(folder.Ledger(), i))
	}
	asked := askedOfLog(run)
	verifier, err := loadgen.NewVerifier(loadgen.VerifyOptions{Ledgers: ledgers, AllowTornLedgers: run.Status != results.StatusFinished, AllowTrimmed: asked.Cluster.RetentionBytes > 0,
		Partitions: asked.Partitions})
	if err != nil {
		return nil, nil, &exitError{results.ExitInvalid, err}
	}
	var source loadgen.Source
	if c.Live != "" {
		source, err = liveSource(c.Live, run.Asked.Nodes, asked.Partitions)
	} else {
		source, err = offlineSource(folder, run.Asked.Nodes, verifier.AckedEnds())
	}
	if err != nil {
		return nil, nil, usage("%w", err)
	}
	for _, replica := range source.Replicas() {
		report := verifier.Read(env.ctx, source, replica)
		fmt.Fprintf(env.out, "%s: %s%s\n", replica, readText(report, c.Live == ""), after(report.Unreadable))
	}
	if env.ctx.Err() != nil {
		return nil, nil, &exitError{results.ExitInterrupted, errors.New("interrupted")}
	}
	report := verifier.Finish()
	for _, sentence := range trimmedTexts(report) {
		fmt.Fprintln(env.out, sentence)
	}
	return report, verifier, nil
}

// askedLog is what a run's scenario says of the log to be read.
type askedLog struct {
	Partitions int `json:"partitions"` // 0: one
	Cluster    struct {
		RetentionBytes int64 `json:"retention_bytes"`
	} `json:"cluster"`
}

func askedOfLog(run results.Run) (asked askedLog) {
	_ = json.Unmarshal(run.Asked.Scenario, &asked) // a scenario without the fields has one partition, and trims nothing
	return asked
}

// noData says why there is nothing to read, as far as the record tells.
func noData(folder results.Folder, run results.Run) string {
	const gone = "there are no data directories of nodes to read"
	summary, err := folder.ReadSummary()
	switch {
	case err != nil:
		return gone + ", and the run left no verdict: it ended before its end was written, or bench clean removed them"
	case summary.Verdict == results.Pass && slices.ContainsFunc(run.Asked.Arguments, func(a string) bool { return a == "--keep" || a == "--keep=true" }):
		return gone + ": the run was given --keep and left them, so they were removed since, by bench clean --data or by hand"
	case summary.Verdict == results.Pass:
		return gone + ": they are removed after a pass unless the run is given --keep"
	}
	return fmt.Sprintf("%s: the run's verdict is %s, so it did not remove them itself; bench clean --data did, or it ended before nodes were started", gone, summary.Verdict)
}

// judgeFiles knows what a reading of live nodes does not: there is nowhere else to look. What no replica's files reach is lost, however
// they end. Each partition is judged by itself: what one has beyond its acknowledgements makes up for nothing that another lacks.
func judgeFiles(judge *results.Judge, reached, ackedEnds []uint64) {
	for partition, end := range ackedEnds {
		of := ""
		if len(ackedEnds) > 1 {
			of = fmt.Sprintf("partition %d: ", partition)
		}
		if reached[partition] < end {
			judge.Loss("%smessages were acknowledged up to offset %d and the files of no replica can be read beyond offset %d", of, end, reached[partition])
		}
	}
}
