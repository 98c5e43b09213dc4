package nats

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"rejoin/results"
)

// monitorBytesMax bounds what is read of an answer; one stream's state takes a few KiB.
const monitorBytesMax = 4 << 20

// account is where a server without accounts keeps its streams.
const account = "$G"

// groupName is the name of the stream's Raft group, once it is known. It does not change while the stream lives.
type groupName struct {
	mu   sync.Mutex
	name string
}

// ask reads JSON from a server's monitoring.
func (t *Target) ask(ctx context.Context, node Node, path string, query url.Values, into any) error {
	u := url.URL{Scheme: "http", Host: node.Monitor, Path: path, RawQuery: query.Encode()}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return err
	}
	response, err := t.monitor.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, monitorBytesMax))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s of %s: status %d: %.100s", path, node.Name, response.StatusCode, body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%s of %s: %w", path, node.Name, err)
	}
	return nil
}

// streamState is what one server keeps of the stream itself.
type streamState struct {
	Messages uint64 `json:"messages"`
	FirstSeq uint64 `json:"first_seq"`
	LastSeq  uint64 `json:"last_seq"`
}

type streamDetail struct {
	Name      string      `json:"name"`
	State     streamState `json:"state"`
	RaftGroup string      `json:"stream_raft_group"`
}

// detail asks a server for its own copy of the stream.
func (t *Target) detail(ctx context.Context, node Node) (streamDetail, error) {
	var answer struct {
		Accounts []struct {
			Streams []streamDetail `json:"stream_detail"`
		} `json:"account_details"`
	}
	if err := t.ask(ctx, node, "/jsz", url.Values{"acc": {account}, "streams": {"true"}, "raft": {"true"}}, &answer); err != nil {
		return streamDetail{}, err
	}
	for _, a := range answer.Accounts {
		for _, s := range a.Streams {
			if s.Name == t.options.Stream {
				return s, nil
			}
		}
	}
	return streamDetail{}, fmt.Errorf("%s holds no replica of stream %s", node.Name, t.options.Stream)
}

// raftGroup finds the name of the stream's Raft group.
func (t *Target) raftGroup(ctx context.Context, node Node) (string, error) {
	t.group.mu.Lock()
	known := t.group.name
	t.group.mu.Unlock()
	if known != "" {
		return known, nil
	}
	d, err := t.detail(ctx, node)
	if err != nil {
		return "", err
	}
	if d.RaftGroup == "" {
		return "", fmt.Errorf("%s names no Raft group of stream %s", node.Name, t.options.Stream)
	}
	t.group.mu.Lock()
	defer t.group.mu.Unlock()
	t.group.name = d.RaftGroup
	return d.RaftGroup, nil
}

// raftState is what a server says of its part in a Raft group.
type raftState struct {
	State      string `json:"state"`
	Term       int64  `json:"term"`
	LastIndex  int64  `json:"pindex"`
	Applied    int64  `json:"applied"`
	Committed  int64  `json:"committed"`
	CatchingUp bool   `json:"catching_up"`
}

// Status is what server number node says of itself, in our words: ops are entries of the stream's Raft log, the view is its term, the primary
// its leader, and an op is committed here once it is applied to this server's copy of the stream. Before the stream exists the server is only up.
func (t *Target) Status(ctx context.Context, node int) (results.Status, error) {
	n := t.options.Nodes[node]
	group, err := t.raftGroup(ctx, n)
	if err != nil {
		var up json.RawMessage
		return results.Status{}, t.ask(ctx, n, "/jsz", nil, &up) // without JetStream it is no use, either
	}
	var answer map[string]map[string]raftState
	if err := t.ask(ctx, n, "/raftz", url.Values{"acc": {account}, "group": {group}}, &answer); err != nil {
		return results.Status{}, err
	}
	s, known := answer[account][group]
	if !known { // it has just started, or the stream is not placed on it
		return results.Status{}, nil
	}
	return s.status(), nil
}

func (s raftState) status() results.Status {
	out := results.Status{View: &s.Term, HeadOp: &s.LastIndex, CommitOp: &s.Applied, KnownCommit: &s.Committed, State: "normal"}
	switch strings.ToUpper(s.State) {
	case "LEADER":
		out.Role = results.RolePrimary
	case "FOLLOWER":
		out.Role = results.RoleBackup
	case "CANDIDATE":
		out.State = "view_change"
	}
	if s.CatchingUp {
		out.State = "repairing"
	}
	return out
}
