package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"rejoin/loadgen"
	"rejoin/profiles"
	"rejoin/results"
)

const (
	flightInterval = 50 * time.Millisecond
	// flightSpacing lies between two takings: one event shows in several ways, and a record holds some seconds.
	flightSpacing = 5 * time.Second
	// flightFilesMax bounds what a run keeps; a file has some megabytes.
	flightFilesMax = 12
)

// flightTaker saves the nodes' flight records when something happens that a mean does not show: a view changes, or a batch takes longer than
// a limit.
type flightTaker struct {
	nodes  []profiles.NodeAddress
	dir    string
	over   time.Duration
	system system
	live   *loadgen.Observer
	nowNs  func() int64
	record *recorder

	mu     sync.Mutex
	listed []results.ProfileEntry
}

func newFlightTaker(p *profiler, over duration, record *recorder) *flightTaker {
	return &flightTaker{nodes: p.planes, dir: p.folder.Profiles(), over: time.Duration(over), system: p.system, live: p.live.NewObserver(), nowNs: p.nowNs, record: record}
}

// watch waits for occasions until ctx ends or enough was kept.
func (f *flightTaker) watch(ctx context.Context) {
	view := viewOf(f.system.status())
	var takenNs int64
	for files := 0; files < flightFilesMax && sleep(ctx, flightInterval); {
		reason := ""
		now := f.nowNs()
		if slowest := f.live.Look().MaxNs; slowest != nil && *slowest > int64(f.over) {
			reason = fmt.Sprintf("a batch took %s, more than %v", nsText(slowest), f.over)
		}
		if seen := viewOf(f.system.status()); seen > view {
			reason = fmt.Sprintf("view %d began after view %d", seen, view)
			view = seen
		}
		if reason == "" || takenNs != 0 && now-takenNs < int64(flightSpacing) {
			continue
		}
		takenNs = now
		files += f.take(ctx, now, reason, flightFilesMax-files)
	}
}

// take asks all nodes that are up at once, and counts those it asked.
func (f *flightTaker) take(ctx context.Context, nowNs int64, reason string, most int) int {
	up := slices.DeleteFunc(f.system.status(), func(s results.Status) bool { return !s.Up })
	var wait sync.WaitGroup
	for i, s := range up {
		if i >= most {
			break
		}
		at := slices.IndexFunc(f.nodes, func(n profiles.NodeAddress) bool { return n.Name == s.Node })
		if at < 0 {
			continue
		}
		wait.Go(func() { f.takeOne(ctx, f.nodes[at], s.Role, nowNs, reason) })
	}
	wait.Wait()
	return min(len(up), most)
}

func (f *flightTaker) takeOne(ctx context.Context, node profiles.NodeAddress, role string, nowNs int64, reason string) {
	name := fmt.Sprintf("%s-flight-%d.trace", node.Name, nowNs/1e6)
	entry := results.ProfileEntry{Source: node.Name, Kind: profileFlight, Role: role, Note: fmt.Sprintf("the seconds before %.1f s: %s", float64(nowNs)/1e9, reason)}
	event := results.Event{Kind: results.KindFlight, Node: node.Name, Role: role, Reason: reason, Detail: name}
	if err := profiles.FetchFlight(ctx, node.Admin, "", filepath.Join(f.dir, name)); err != nil {
		event.Detail = err.Error()
		entry.Note += "; not kept: " + err.Error()
	} else {
		entry.File = &name
	}
	f.record.write(event)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listed = append(f.listed, entry)
}

// entries are the lines of the index.
func (f *flightTaker) entries() []results.ProfileEntry {
	f.mu.Lock()
	defer f.mu.Unlock()
	slices.SortStableFunc(f.listed, func(a, b results.ProfileEntry) int { return cmp.Compare(a.Source, b.Source) })
	return slices.Clone(f.listed)
}
