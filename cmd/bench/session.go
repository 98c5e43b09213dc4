package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"rejoin/loadgen"
	"rejoin/profiles"
	"rejoin/results"
	"rejoin/server/wire"
)

// session is one `bench run` under way: what its steps leave for one another.
type session struct {
	nice     int // priority that the generator runs at
	command  *runCommand
	scenario Scenario
	seed     uint64
	folder   results.Folder
	run      results.Run
	judge    results.Judge
	warnings []string
	say      *progress
	closeSay func() // writes what watchers still wait for

	transfers *transferWatch // of the views

	record *recorder
	status *results.StatusWriter
	ports  *ports // nil for a target without nodes
	system system

	profiling profiling
	profile   *profiles.Session // nil before the start
	profiler  *profiler         // nil before the load
	plan      *schedule
	outcome   loadgen.RunOutcome
	loaded    bool  // outcome holds a load
	firstView int64 // in which the load began

	proof    results.Proof
	canaries []canary
	machine  *machineWatch // nil before the load
	counted  *countedNodes // nil: not counted
	device   *deviceWatch  // nil: the nodes have no data here
	limits   []results.Limits

	ackedBeforeFaults int // batches
	primaryFaults     int // faults that met a primary
	withoutQuorum     []results.Stretch
	excused           int64 // batches that were not acknowledged for want of a quorum

	quietEndNs  int64            // since run start; 0 until then
	finalStatus []results.Status // at the end of the quiet phase
	dataBytes   []*int64         // of each node's data directory then
	verified    *loadgen.Report
	// ackedEnds are the offsets of each partition after its last acknowledged message, filesReached the furthest to which any node's files could
	// be read.
	ackedEnds, filesReached []uint64
	verifyTimes             []verifyTime
}

// newSession makes the run folder and what writes into it.
func newSession(env *environment, c *runCommand, s Scenario, seed uint64, profiling profiling) (made *session, err error) {
	r := &session{command: c, scenario: s, seed: seed, profiling: profiling}
	if err := r.openWatchers(env); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			r.abandon(err)
		}
	}()
	folder, err := results.Create(env.results, s.Target, s.Name, time.Now())
	if err != nil {
		return nil, err
	}
	r.folder, r.canaries = folder, canariesIn(folder.Dir, r.scenario.Demands.CanaryChangeMax)
	scenario, err := s.toJSON()
	if err != nil {
		return nil, err
	}
	r.run = results.Run{Status: results.StatusRunning, StartedAt: time.Now(), Pid: os.Getpid(), Found: results.Probe(folder.Data()),
		Asked: results.Asked{Target: s.Target, ScenarioName: s.Name, Scenario: scenario, Seed: seed, Nodes: s.Nodes, Producers: s.Producers,
			BatchMessages: s.BatchMessages, PayloadBytes: int64(s.PayloadBytes), MessagesPerS: s.batchesPerS() * float64(s.BatchMessages),
			BatchesPerS: s.batchesPerS(), WarmupNs: int64(s.Warmup), LoadNs: int64(s.Duration), QuietNs: int64(s.QuietMax),
			BatchBudgetNs: int64(batchBudget), Faults: askedFaults(s.Faults), Elsewhere: c.ExternalFlags.record(), Programs: c.PeerFlags.record(), Profiling: profiling.record(), Arguments: env.args}}
	if err := errors.Join(folder.WriteRun(r.run), folder.Reserve()); err != nil {
		return nil, err
	}
	if err := r.openRecord(); err != nil {
		return nil, err
	}
	r.say.line("run %s, seed %d", folder.Dir, seed)
	if c.Profile != "" {
		r.say.line("profiling: %s", profiling.words())
	}
	return r, nil
}

// openRecord opens the files that the run writes line by line; both or none.
func (r *session) openRecord() error {
	record, err := newRecorder(r.folder)
	if err != nil {
		return err
	}
	status, err := r.folder.AppendStatus()
	if err != nil {
		return errors.Join(err, record.close())
	}
	record.watch = func(e results.Event) { r.say.tell(func(w watcher) { w.event(e) }) }
	r.record, r.status = record, status
	return nil
}

// abandon ends a session that came to nothing: nobody must take its folder for that of a run under way.
func (r *session) abandon(why error) {
	if r.folder.Dir != "" {
		r.endRecord(why)
	}
	r.closeSay()
}

// endRecord writes what ended a session without a verdict into run.json.
func (r *session) endRecord(why error) {
	_ = r.folder.ReleaseReserve()
	r.run.Status, r.run.Error, r.run.EndedAt = results.StatusFailed, why.Error(), new(time.Now())
	_ = r.folder.WriteRun(r.run) // the error that ends the session is told in any case
}

// batchBudget is how long after its due time a batch may be acknowledged.
const batchBudget = 30 * time.Second

func askedFaults(faults []Fault) []results.AskedFault {
	asked := []results.AskedFault{}
	for _, f := range faults {
		a := results.AskedFault{AtNs: int64(f.At.After), Kind: f.verb(), Node: f.node()}
		if f.Stop != "" {
			a.Kind = "pause"
		}
		if end := f.end(); !end.Never {
			a.DownNs = new(int64(end.After))
		}
		asked = append(asked, a)
	}
	return asked
}

func (r *session) warn(format string, args ...any) { r.note("warning: "+format, args...) }

// note says something that belongs beside the verdict, and keeps it for summary.json.
func (r *session) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.warnings = append(r.warnings, strings.TrimPrefix(text, "warning: "))
	r.say.line("%s", text)
}

// start brings the system up.
func (r *session) start(ctx context.Context) error {
	var err error
	r.profile, err = profiles.Start(r.profiling.mode, filepath.Join(r.folder.Profiles(), results.SourceGenerator))
	if err != nil {
		return err
	}
	began := time.Now()
	if err := r.system.start(ctx); err != nil {
		return fmt.Errorf("start %s: %w", r.scenario.Target, err)
	}
	r.run.Asked.Guarantee = r.system.target().Guarantee()
	if settings := r.system.settings(); settings != nil {
		r.run.Asked.Settings, err = json.Marshal(settings)
	}
	if err != nil {
		return fmt.Errorf("spell settings: %w", err)
	}
	r.say.line("start: %d nodes up in %v; %s", r.scenario.Nodes, time.Since(began).Round(time.Millisecond), r.run.Asked.Guarantee)
	r.say.line("%s", r.headerText())
	sleep(ctx, time.Duration(r.scenario.Rest)) // what nodes do at rest is done before the load
	return nil
}

// load drives the target while the schedule of faults runs beside it.
func (r *session) load(ctx context.Context) error {
	first := 0
	if r.scenario.FirstAddress != "" {
		backups := backupsOf(r.system.status())
		if len(backups) == 0 {
			return errors.New("no node is a backup, so none can be the first address")
		}
		first = backups[0]
	}
	r.firstView = viewOf(r.system.status())
	r.plan = newSchedule(r.system, r.scenario.Faults, first)
	faultCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	loadStart := make(chan struct{})
	early, err := r.plan.before(faultCtx, loadStart)
	var wait sync.WaitGroup
	if err == nil {
		wait.Go(func() { r.plan.run(faultCtx, loadStart) })
		err = r.drive(ctx, first, loadStart)
	}
	if err != nil {
		cancel()
	}
	wait.Wait()
	early.Wait()
	if faultErr := r.plan.err(); faultErr != nil {
		r.judge.Invalid("the schedule of faults was not carried out: %v", faultErr)
	}
	return err
}

// drive runs the load generator and shows its progress.
func (r *session) drive(ctx context.Context, first int, loadStart chan<- struct{}) error {
	live := loadgen.NewLive(r.scenario.Producers)
	base, monoBase := time.Now(), wire.MonoNow()
	r.run.StartMonoNs, r.run.StartedAt = monoBase, base
	r.record.setBase(monoBase)
	r.record.write(results.Event{TMonoNs: monoBase, Kind: results.KindRunStart})
	var err error
	if r.profiler, err = r.newProfiler(live); err != nil {
		return err
	}
	var show, counting sync.WaitGroup
	showing, stopShowing := context.WithCancel(ctx)
	countCtx, stopCounting := context.WithCancel(ctx)
	defer stopCounting()
	options := r.scenario.shape(loadgen.Options{Target: r.system.target(), LedgerDir: r.folder.Ledger(),
		Budget: batchBudget, Partitions: r.scenario.Partitions, FirstAddress: first, Seed: r.seed, Base: base, Live: live,
		OnStart: func(startNs int64) {
			r.record.write(results.Event{TMonoNs: monoBase + startNs, Kind: results.KindLoadStart})
			r.record.write(results.Event{TMonoNs: monoBase + startNs + int64(r.scenario.Warmup), Kind: results.KindWarmupEnd})
			r.machine = watchMachine(r.folder, monoBase)
			close(loadStart)
			r.profiler.begin(ctx, startNs+int64(r.scenario.Warmup), startNs+int64(r.scenario.Duration))
			show.Go(func() { r.showLoad(showing, live) })
			show.Go(func() { r.watchOwnPauses(showing) })
			start := base.Add(time.Duration(startNs))
			begin, end := start.Add(time.Duration(r.scenario.Warmup)), start.Add(time.Duration(r.scenario.Duration))
			counting.Go(func() { r.counted = r.countNodes(countCtx, begin, end) })
			if r.system.dataBytesOf(0) != nil {
				r.device = watchDevice(r.folder.Data())
				counting.Go(func() { r.device.watchPhase(countCtx, begin, end) })
			}
		}})
	r.outcome, err = loadgen.Run(ctx, r.scenario.consumerOptions(options))
	if err != nil {
		stopCounting()
	}
	r.profiler.end()
	stopShowing()
	show.Wait()
	counting.Wait()
	if r.machine != nil {
		r.machine.stop()
		if r.machine.err != nil {
			r.warn("%v", r.machine.err)
		}
	}
	r.loaded = r.outcome.StopNs > 0
	if r.loaded {
		r.record.write(results.Event{TMonoNs: monoBase + r.outcome.StopNs, Kind: results.KindLoadStop})
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("load: %w", err)
	}
	return nil
}

// quiet waits until every node has caught up and holds the same: at least quiet_min, at most quiet_max after the end of the load.
func (r *session) quiet(ctx context.Context) error {
	loadStop := r.run.StartMonoNs + r.outcome.StopNs
	atLeast, atMost := loadStop+int64(r.scenario.QuietMin), loadStop+int64(r.scenario.QuietMax)
	said := time.Now()
	for {
		now := wire.MonoNow()
		waiting := r.notAlike(loadStop)
		if now >= atMost || now >= atLeast && waiting == "" {
			r.quietEndNs = now - r.run.StartMonoNs
			r.finalStatus = r.system.status()
			for i := range r.finalStatus {
				r.dataBytes = append(r.dataBytes, r.system.dataBytesOf(i))
			}
			r.record.write(results.Event{TMonoNs: now, Kind: results.KindQuietEnd, Detail: waiting})
			if waiting != "" {
				r.judge.Stuck("%v after the load had stopped, %s", time.Duration(r.scenario.QuietMax), waiting)
			}
			r.say.line("quiet: ended %v after the load%s", time.Duration(now-loadStop).Round(time.Millisecond), after(waiting))
			return nil
		}
		if time.Since(said) >= viewEvery {
			said = time.Now()
			v := r.newView(stepQuiet)
			v.ElapsedS, v.TotalS, v.WaitingFor = float64(now-loadStop)/1e9, time.Duration(r.scenario.QuietMax).Seconds(), waiting
			r.say.show(v)
		}
		if !sleep(ctx, pollInterval) {
			return nil
		}
	}
}

// notAlike says what still differs between the nodes, by what they answered since; empty when nothing does. Those that somebody took away are
// not waited for.
func (r *session) notAlike(sinceMonoNs int64) string {
	if !r.system.askedSince(sinceMonoNs) {
		return "not every node had been asked since the load stopped" // what was told before may leave out the last commits on all of them
	}
	if behind := r.system.catchingUp(); len(behind) > 0 {
		return fmt.Sprintf("%v had not caught up", behind)
	}
	gone := r.takenAway()
	all := slices.DeleteFunc(r.system.status(), func(s results.Status) bool { return gone[s.Node] })
	return differing(all)
}

// stop ends what the system runs, and gives back what it held.
func (r *session) stop() error {
	var errs []error
	if r.system != nil {
		errs = append(errs, r.system.stop())
	}
	if r.ports != nil {
		errs = append(errs, r.ports.release())
	}
	return errors.Join(errs...)
}
