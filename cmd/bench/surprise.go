package main

import (
	"fmt"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"rejoin/results"
)

// surprise is the end of a node's process that nobody of this run asked for.
type surprise struct {
	node   string
	atMs   float64 // since run start; negative before the load
	status syscall.WaitStatus
	how    string // it ended, in words
	log    string // its path, and its last line: where a node that gives up says why
	said   string
}

// raisedByItself are the signals that the kernel sends a process for what it did itself.
var raisedByItself = []syscall.Signal{syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGILL, syscall.SIGFPE, syscall.SIGABRT, syscall.SIGTRAP, syscall.SIGSYS, syscall.SIGXFSZ, syscall.SIGXCPU}

// foreign says that somebody outside of the run ended the process: a signal that no process raises by what it does, or an orderly end, which
// nodes come to only at a SIGTERM or SIGINT. The run then tells nothing of the target.
func (s surprise) foreign() bool {
	if s.status.Signaled() {
		return !slices.Contains(raisedByItself, s.status.Signal())
	}
	return s.status.Exited() && s.status.ExitStatus() == 0
}

// String says what happened, who did not do it, and what to do.
func (s surprise) String() string {
	switch {
	case !s.foreign():
		return fmt.Sprintf("%s %s %s without being told to; its log %s ends: %s", s.node, s.how, atText(s.atMs), s.log, s.said)
	case s.status.Signal() == syscall.SIGKILL:
		return fmt.Sprintf("the process of %s ended by SIGKILL %s, which nobody of this run sent: another program or a person did, or the kernel for want of memory "+
			"(dmesg tells); repeat the run where its processes are left alone", s.node, atText(s.atMs))
	case s.status.Signaled():
		return fmt.Sprintf("the process of %s ended by %s %s, which nobody of this run sent: another program or a person did; repeat the run where its processes are left alone",
			s.node, unix.SignalName(s.status.Signal()), atText(s.atMs))
	}
	return fmt.Sprintf("the process of %s ended in order (exit code 0) %s, as at a SIGTERM, which nobody of this run sent: another program or a person did; "+
		"repeat the run where its processes are left alone", s.node, atText(s.atMs))
}

// takenAway are the nodes whose process somebody outside of the run has ended. What they lack since then is not theirs.
func (r *session) takenAway() map[string]bool {
	nodes := map[string]bool{}
	if r.system == nil {
		return nodes
	}
	for _, s := range r.system.surprises() {
		if s.foreign() {
			nodes[s.node] = true
		}
	}
	return nodes
}

// judgeSurprises gives the reasons for nodes that ended: by their own doing the run is stuck, by somebody else's it is invalid.
func judgeSurprises(j *results.Judge, all []surprise) {
	for _, s := range all {
		if s.foreign() {
			j.Invalid("%s", s)
		} else {
			j.Stuck("%s", s)
		}
	}
}
