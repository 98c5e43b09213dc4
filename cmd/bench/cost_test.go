package main

import (
	"os"
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
	if none != (results.Status{}) {
		t.Errorf("no process, but %+v", none)
	}
	if cpuOf(1<<22+1) != nil || writtenOf(1<<22+1) != nil { // beyond the largest pid
		t.Error("a process that is none has counters")
	}
}
