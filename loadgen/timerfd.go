package loadgen

import (
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// timerfdPacer waits on a timer of the kernel that the netpoller watches. Neither of its calls can block, so Go's scheduler is not told
// of them: in an idle process the telling wakes a thread of the runtime, for each batch.
type timerfdPacer struct {
	file *os.File
	raw  syscall.RawConn
	arm  func(fd uintptr)      // made once, like take, so that a wait allocates nothing
	take func(fd uintptr) bool // false: it has not expired yet
	spec unix.ItimerSpec
	err  syscall.Errno

	expirations [8]byte
}

func newTimerfdPacer() (*timerfdPacer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("loadgen: create timerfd: %w", err)
	}
	p := &timerfdPacer{file: os.NewFile(uintptr(fd), "timerfd")}
	if p.raw, err = p.file.SyscallConn(); err != nil {
		p.file.Close()
		return nil, fmt.Errorf("loadgen: timerfd: %w", err)
	}
	p.arm = func(fd uintptr) {
		_, _, p.err = syscall.RawSyscall6(unix.SYS_TIMERFD_SETTIME, fd, 0, uintptr(unsafe.Pointer(&p.spec)), 0, 0, 0)
	}
	p.take = func(fd uintptr) bool {
		_, _, errno := syscall.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&p.expirations[0])), uintptr(len(p.expirations)))
		return errno != syscall.EAGAIN
	}
	return p, nil
}

func (p *timerfdPacer) until(at time.Time) {
	wait := time.Until(at)
	if wait <= 0 {
		return
	}
	p.spec.Value = unix.NsecToTimespec(int64(wait))
	if err := p.raw.Control(p.arm); err != nil || p.err != 0 {
		panic(fmt.Sprintf("loadgen: arm timerfd for %v: %v %v", wait, err, p.err))
	}
	// An error is the deadline that interrupt sets; the caller looks at its context then.
	_ = p.raw.Read(p.take)
}

func (p *timerfdPacer) interrupt()   { _ = p.file.SetReadDeadline(time.Unix(1, 0)) }
func (p *timerfdPacer) close() error { return p.file.Close() }
