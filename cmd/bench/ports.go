package main

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// ports are a run's own for as long as it lasts, also while the node that listens on one is dead: each is
// held by a socket that is bound and never listens. A node may bind and listen beside it, because both
// allow it (SO_REUSEADDR); the search of another run, which does not, takes the port for occupied.
type ports struct {
	numbers []int
	holders []int // file descriptors
}

// reservePorts finds n free ports of the harness's range and holds them until release.
func reservePorts(n int) (*ports, error) {
	p := &ports{}
	for port := portFirst; port <= portLast && len(p.numbers) < n; port++ {
		holder, err := holdPort(port)
		if err == unix.EADDRINUSE {
			continue
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("reserve port %d: %w", port, err), p.release())
		}
		p.numbers, p.holders = append(p.numbers, port), append(p.holders, holder)
	}
	if len(p.numbers) < n {
		free := len(p.numbers)
		return nil, errors.Join(fmt.Errorf("only %d of the ports %d to %d are free and %d are needed: other runs or programs hold them; stop those",
			free, portFirst, portLast, n), p.release())
	}
	return p, nil
}

// portsText tells ports as they are, in rising order: 17000 to 17004, 17007.
func portsText(numbers []int) string {
	var parts []string
	for from := 0; from < len(numbers); {
		to := from
		for to+1 < len(numbers) && numbers[to+1] == numbers[to]+1 {
			to++
		}
		switch to - from {
		case 0:
			parts = append(parts, fmt.Sprint(numbers[from]))
		case 1:
			parts = append(parts, fmt.Sprint(numbers[from]), fmt.Sprint(numbers[to]))
		default:
			parts = append(parts, fmt.Sprintf("%d to %d", numbers[from], numbers[to]))
		}
		from = to + 1
	}
	return strings.Join(parts, ", ")
}

// holdPort binds a port of loopback that nobody else has bound, and lets a listener join.
func holdPort(port int) (int, error) {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	err = unix.Bind(socket, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
	if err == nil {
		err = unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	}
	if err != nil {
		unix.Close(socket)
		return 0, err
	}
	return socket, nil
}

// release gives the ports back. It may be called again.
func (p *ports) release() error {
	var errs []error
	for _, holder := range p.holders {
		errs = append(errs, unix.Close(holder))
	}
	p.numbers, p.holders = nil, nil
	return errors.Join(errs...)
}
