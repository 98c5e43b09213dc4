package main

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// monoNow reads the raw CLOCK_MONOTONIC, which all processes of this host share. It never blocks, so Go's scheduler is not
// told: each call of which it is told wakes its monitor, which then looks after it every 20 µs for a millisecond.
func monoNow() int64 {
	var t unix.Timespec
	if _, _, errno := syscall.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_MONOTONIC, uintptr(unsafe.Pointer(&t)), 0); errno != 0 {
		panic("bench: CLOCK_MONOTONIC cannot be read: " + errno.Error())
	}
	return t.Nano()
}
