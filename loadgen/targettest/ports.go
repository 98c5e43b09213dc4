package targettest

import (
	"fmt"
	"net"
	"os"
	"testing"
)

// PortRange is where a package's tests find ports for real servers. It lies below the ephemeral range, so that no outgoing connection takes a port
// while its server is down, and each package has its own, because packages are tested at the same time.
type PortRange struct{ First, Last int }

// Ranges of the packages that start servers. The example in docs/targets.md has 16100 to 16122.
var (
	NatsPorts  = PortRange{16200, 16599}
	KafkaPorts = PortRange{16600, 16999}
)

// Free finds n ports of the range that nobody listens on, beginning elsewhere in each process, as addresses on loopback.
func (r PortRange) Free(t *testing.T, n int) []string {
	t.Helper()
	var addresses []string
	size := r.Last - r.First + 1
	for i := 0; i < size && len(addresses) < n; i++ {
		address := fmt.Sprintf("127.0.0.1:%d", r.First+(os.Getpid()+i)%size)
		l, err := net.Listen("tcp", address)
		if err == nil {
			l.Close()
			addresses = append(addresses, address)
		}
	}
	if len(addresses) < n {
		t.Fatalf("only %d of %d ports are free", len(addresses), n)
	}
	return addresses
}
