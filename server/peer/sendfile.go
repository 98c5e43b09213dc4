package peer

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// sendFile sends so many bytes of a file from an offset by sendfile(2), and fails if the file ends
// before. ReadFrom of a TCP connection would do the same from the file's position, which is one for
// all who share the handle: two transfers out of one segment would send each other's bytes.
func sendFile(to net.Conn, file *os.File, offset int64, bytes int) (sent int, err error) {
	tcp, ok := to.(*net.TCPConn)
	if !ok { // a test's connection
		copied, err := io.CopyN(to, io.NewSectionReader(file, offset, int64(bytes)), int64(bytes))
		if errors.Is(err, io.EOF) {
			err = errShortFile
		}
		return int(copied), err
	}
	out, err := tcp.SyscallConn()
	if err != nil {
		return 0, err
	}
	in, err := file.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = out.Write(func(fd uintptr) (done bool) {
		for sent < bytes && failed == nil {
			n, err := sendFileOnce(int(fd), in, &offset, bytes-sent)
			sent += n
			if errors.Is(err, unix.EAGAIN) {
				return false // called again when the socket has room, or its deadline has passed
			}
			failed = err
		}
		return true
	})
	return sent, errors.Join(err, failed)
}

// sendFileOnce makes one call, which moves offset.
func sendFileOnce(to int, file syscall.RawConn, offset *int64, bytes int) (sent int, err error) {
	closed := file.Control(func(from uintptr) {
		for {
			if sent, err = unix.Sendfile(to, int(from), offset, bytes); !errors.Is(err, unix.EINTR) {
				return
			}
		}
	})
	switch {
	case closed != nil:
		return 0, closed
	case errors.Is(err, unix.EAGAIN):
		return 0, err
	case err != nil:
		return 0, os.NewSyscallError("sendfile", err)
	case sent == 0:
		return 0, errShortFile
	}
	return sent, nil
}
