package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"time"

	"github.com/valyala/fasthttp"

	"rejoin/loadgen/socket"
	"rejoin/results"
	"rejoin/server/api"
)

// askBytesMax bounds what is read of an answer.
const askBytesMax = 1 << 20

// clusterAsker asks nodes of our log at their client addresses. It does so 50 times a second beside the load, on the load's cores: by net/http,
// which passes each question through three goroutines, that was a third of the harness's CPU time.
type clusterAsker struct {
	nodes []*fasthttp.HostClient
	urls  []string // what each is asked for: itself alone
	token string
}

// askTries: a connection that a node closed while it was idle is noticed by the question on it, which is then asked once more.
const askTries = 2

func newClusterAsker(addresses []string, token string) clusterAsker {
	a := clusterAsker{token: token}
	for node, address := range addresses {
		a.urls = append(a.urls, fmt.Sprintf("http://%s/v1/cluster?node=%d", address, node))
		a.nodes = append(a.nodes, &fasthttp.HostClient{Addr: address, Dial: dialSocket, MaxResponseBodySize: askBytesMax, MaxIdemponentCallAttempts: askTries,
			NoDefaultUserAgentHeader: true})
	}
	return a
}

// dialSocket makes a connection that does not bother Go's scheduler.
func dialSocket(address string) (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", address, pollTimeout)
	if err != nil {
		return nil, err
	}
	return socket.New(conn.(*net.TCPConn))
}

// closeIdle ends the connections.
func (a clusterAsker) closeIdle() {
	for _, n := range a.nodes {
		n.CloseIdleConnections()
	}
}

// ask implements asker.
func (a clusterAsker) ask(ctx context.Context, node int) (results.Status, error) {
	request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(request)
	defer fasthttp.ReleaseResponse(response)
	request.SetRequestURI(a.urls[node])
	if a.token != "" {
		request.Header.Set("Authorization", "Bearer "+a.token)
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(pollTimeout)
	}
	if err := a.nodes[node].DoDeadline(request, response, deadline); err != nil {
		return results.Status{}, err
	}
	if response.StatusCode() != fasthttp.StatusOK {
		return results.Status{}, fmt.Errorf("status %d", response.StatusCode())
	}
	var cluster api.ClusterStatus
	if err := json.Unmarshal(response.Body(), &cluster); err != nil {
		return results.Status{}, err
	}
	for _, s := range cluster.Nodes {
		if s.Node == node && cluster.Node == node {
			return statusOf(s)
		}
	}
	return results.Status{}, fmt.Errorf("node %d answered at the address of node %d", cluster.Node, node)
}

// statusOf sums the ops of all partitions, and lists them where there are several. A node is primary if it leads any partition, since its death
// then interrupts producers, and backup only if it is one in all; it is in the first state that is not normal, and fetches what it fetches anywhere.
// The view is that of the first.
func statusOf(s api.NodeStatus) (results.Status, error) {
	if len(s.Partitions) == 0 {
		return results.Status{}, fmt.Errorf("node %d names no partition", s.Node)
	}
	var head, commit, known int64
	for _, part := range s.Partitions {
		head += int64(part.Head)
		commit += int64(part.Commit)
		known += int64(part.KnownCommit)
	}
	first := s.Partitions[0]
	out := results.Status{Role: string(first.Role), State: string(first.State), Fetching: first.Fetching, View: new(int64(first.View)), HeadOp: &head, CommitOp: &commit,
		KnownCommit: &known}
	if len(s.Partitions) > 1 {
		tellApart(&out, s.Partitions)
	}
	return out, nil
}

func tellApart(out *results.Status, partitions []api.Status) {
	noRole := false
	for i, part := range partitions {
		out.Views, out.Heads, out.Commits = append(out.Views, int64(part.View)), append(out.Heads, int64(part.Head)), append(out.Commits, int64(part.Commit))
		switch part.Role {
		case api.RolePrimary:
			out.PrimaryOf = append(out.PrimaryOf, i)
		case api.RoleBackup:
		default:
			noRole = true
		}
		if out.State == string(api.StateNormal) {
			out.State = string(part.State)
		}
		out.Fetching = cmp.Or(out.Fetching, part.Fetching)
	}
	switch {
	case noRole:
		out.Role = string(api.RoleNone)
	case len(out.PrimaryOf) > 0:
		out.Role = results.RolePrimary
	default:
		out.Role = results.RoleBackup
	}
}
