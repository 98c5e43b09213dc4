package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"rejoin/results"
	"rejoin/server/api"
)

// askBytesMax bounds what is read of an answer.
const askBytesMax = 1 << 20

// clusterAsker asks nodes of our log at their client addresses.
type clusterAsker struct {
	client *http.Client
	urls   []string
	token  string
}

func newClusterAsker(addresses []string, token string) clusterAsker {
	a := clusterAsker{client: &http.Client{Timeout: pollTimeout}, token: token}
	for _, address := range addresses {
		a.urls = append(a.urls, "http://"+address+"/v1/cluster")
	}
	return a
}

// ask implements asker.
func (a clusterAsker) ask(ctx context.Context, node int) (results.Status, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.urls[node], nil)
	if err != nil {
		return results.Status{}, err
	}
	if a.token != "" {
		request.Header.Set("Authorization", "Bearer "+a.token)
	}
	response, err := a.client.Do(request)
	if err != nil {
		return results.Status{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, askBytesMax))
	if err != nil {
		return results.Status{}, err
	}
	if response.StatusCode != http.StatusOK {
		return results.Status{}, fmt.Errorf("status %d", response.StatusCode)
	}
	var cluster api.ClusterStatus
	if err := json.Unmarshal(body, &cluster); err != nil {
		return results.Status{}, err
	}
	for _, s := range cluster.Nodes {
		if s.Node == node && cluster.Node == node {
			return statusOf(s)
		}
	}
	return results.Status{}, fmt.Errorf("node %d answered at the address of node %d", cluster.Node, node)
}

// statusOf sums the ops of all partitions; role, view and state are those of the first.
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
	return results.Status{Role: string(first.Role), State: string(first.State), View: new(int64(first.View)), HeadOp: &head, CommitOp: &commit,
		KnownCommit: &known}, nil
}
