package wire

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// MonoNow reads the raw CLOCK_MONOTONIC in ns, which time.Time hides. It never blocks, so Go's scheduler is not
// told: in a process that was idle each call of which it is told wakes its monitor, which then looks every 20 µs for a millisecond.
func MonoNow() int64 {
	var t unix.Timespec
	if _, _, errno := syscall.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_MONOTONIC, uintptr(unsafe.Pointer(&t)), 0); errno != 0 {
		panic("wire: CLOCK_MONOTONIC cannot be read: " + errno.Error())
	}
	return t.Nano()
}
