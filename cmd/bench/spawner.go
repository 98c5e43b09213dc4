package main

import (
	"errors"
	"os/exec"
	"runtime"
)

// spawner starts processes from one thread that lives as long as the spawner. Linux sends the parent-death signal when the *thread* that
// started the child ends, and the Go runtime ends threads as it likes: a child started from any goroutine could die at any time.
type spawner struct {
	requests chan spawnRequest
	done     chan struct{}
}

type spawnRequest struct {
	cmd  *exec.Cmd
	done chan error
}

var errSpawnerClosed = errors.New("the harness is ending, no process is started any more")

// newSpawner starts the thread. Children that still live at close die with the thread, or with the process where that thread is its main one.
func newSpawner() *spawner {
	s := &spawner{requests: make(chan spawnRequest), done: make(chan struct{})}
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		for {
			select {
			case r := <-s.requests:
				err := ordinaryPriority()
				if err == nil {
					err = r.cmd.Start()
				}
				r.done <- err
			case <-s.done:
				return
			}
		}
	}()
	return s
}

func (s *spawner) start(cmd *exec.Cmd) error {
	r := spawnRequest{cmd, make(chan error, 1)}
	select {
	case s.requests <- r:
		return <-r.done
	case <-s.done:
		return errSpawnerClosed
	}
}

func (s *spawner) close() { close(s.done) }
