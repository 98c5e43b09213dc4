package main

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"rejoin/results"
)

func TestSampleProcess(t *testing.T) {
	before := cpuOf(os.Getpid())
	if before == nil {
		t.Fatal("the CPU time of this process cannot be read")
	}
	for until := ownCPU(t) + 20*time.Millisecond; ownCPU(t) < until; { // burn by the kernel's count, however many others do
	}
	after := cpuOf(os.Getpid())
	if spent := time.Duration(*after - *before); spent < 5*time.Millisecond || spent > 10*time.Second {
		t.Errorf("20 ms of work took %v of CPU time", spent)
	}
	var sample results.Status
	sampleProcess(&sample, os.Getpid())
	if sample.Pid != os.Getpid() || sample.CPUNs == nil || sample.RssAnonBytes == nil {
		t.Errorf("sample %+v", sample)
	}
	var none results.Status
	sampleProcess(&none, 0)
	if !reflect.DeepEqual(none, results.Status{}) {
		t.Errorf("no process, but %+v", none)
	}
	if cpuOf(1<<22+1) != nil || ioOf(1<<22+1, "syscw: ") != nil { // beyond the largest pid
		t.Error("a process that is none has counters")
	}
}

// TestCostTextsOfARunThatKillsEveryNode: the harness is called what it is, and roles without figures say why they have none.
func TestCostTextsOfARunThatKillsEveryNode(t *testing.T) {
	counted := &countedNodes{begin: []*nodeCounters{{pid: 1}, {pid: 2}, nil}, end: []*nodeCounters{{pid: 11}, {pid: 12}, {pid: 13}},
		roles: []string{results.RolePrimary, results.RoleBackup, results.RoleBackup}}
	_, uncounted := counted.roleCosts()
	s := results.Summary{Cost: results.Cost{NodesCPUNs: new(int64(1e9)), Uncounted: uncounted, Roles: []results.RoleCost{{Role: results.RoleGenerator, Nodes: 1, CPUNsPerBatch: new(712e3)}}}}
	texts := strings.Join(costTexts(s), "\n")
	for _, want := range []string{"a batch in the harness     712 µs CPU (the whole process: generator, polls, profiles)", "a batch at the primary, backup: no data: counters begin anew with each process"} {
		if !strings.Contains(texts, want) {
			t.Errorf("%q lacks %q", texts, want)
		}
	}
	alone := &countedNodes{begin: []*nodeCounters{{pid: 1}}, end: []*nodeCounters{{pid: 1}}, roles: []string{results.RolePrimary}}
	for name, of := range map[string]*countedNodes{"a node alone has no backup": alone, "servers of others count nothing": nil} {
		s.Cost.Roles, s.Cost.Uncounted = of.roleCosts()
		if texts := strings.Join(costTexts(s), "\n"); strings.Contains(texts, "counters begin anew") {
			t.Errorf("%s: %q", name, texts)
		}
	}
}
