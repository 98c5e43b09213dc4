package socket

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// iovMax is the most pieces that one writev takes (IOV_MAX of Linux).
const iovMax = 1024

// receive is recv(2) on a socket that does not block; b is not empty.
func receive(fd uintptr, b []byte, flags int) (int, syscall.Errno) {
	for {
		n, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(flags|unix.MSG_DONTWAIT), 0, 0)
		if errno != syscall.EINTR {
			afterReceive(fd)
			return int(n), errno
		}
	}
}

// write is writev(2) on a socket that does not block; pieces is not empty.
func write(fd uintptr, pieces []unix.Iovec) (int, syscall.Errno) {
	beforeWrite(fd)
	for {
		n, _, errno := syscall.RawSyscall(unix.SYS_WRITEV, fd, uintptr(unsafe.Pointer(&pieces[0])), uintptr(min(len(pieces), iovMax)))
		if errno != syscall.EINTR {
			return int(n), errno
		}
	}
}

// advance takes n bytes off the front of a piece that has more.
func advance(v *unix.Iovec, n int) {
	v.Base = (*byte)(unsafe.Add(unsafe.Pointer(v.Base), n))
	v.SetLen(int(v.Len) - n)
}
