package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"rejoin/results"
)

// nodeCounters are what a node's process has done since it began: by its own /metrics, and by the kernel's books.
type nodeCounters struct {
	pid     int
	cpuNs   float64
	calls   float64 // of read and write, sockets included
	metrics map[string]float64
}

// Names in /metrics, summed over labels.
const (
	metricCommits     = "rejoin_commit_op"
	metricFlushes     = "rejoin_flush_seconds_count"
	metricAllocations = "go_memstats_mallocs_total"
	metricAllocated   = "go_memstats_alloc_bytes_total"
	metricCopied      = "rejoin_pool_copied_bytes_total"
	metricZeroed      = "rejoin_zeroed_bytes_total"
)

// counting is a system whose nodes are processes that count.
type counting interface {
	profiled
	nodePid(node int) int // 0: it has none
}

func (s *nodeSystem) nodePid(node int) int { return s.poll.pidOf(s.poll.nodes[node]) }

// countedNodes are the nodes' counters at both ends of the measured phase; nil for a node of which there are none, and altogether for a system
// without processes.
type countedNodes struct {
	begin, end []*nodeCounters
	roles      []string // at the end
}

// counterTimeout is how long a node may take to answer: one that is too busy has no counters.
const counterTimeout = 2 * time.Second

// countNodes reads the counters of all nodes when the warm-up ends and when the load does. It returns when both are done, or ctx is.
func (r *session) countNodes(ctx context.Context, begin, end time.Time) *countedNodes {
	system, ok := r.system.(counting)
	if !ok {
		return nil
	}
	counted := &countedNodes{}
	for _, step := range []struct {
		at   time.Time
		into *[]*nodeCounters
	}{{begin, &counted.begin}, {end, &counted.end}} {
		if !sleep(ctx, time.Until(step.at)) {
			return nil
		}
		all := r.system.status()
		*step.into = make([]*nodeCounters, len(all))
		var wait sync.WaitGroup
		for i, plane := range system.adminPlanes() {
			wait.Go(func() { (*step.into)[i] = countersOf(ctx, plane.Admin, system.nodePid(i)) })
		}
		wait.Wait()
		counted.roles = nil
		for i := range all {
			counted.roles = append(counted.roles, roleOf(all, i))
		}
	}
	return counted
}

// countersOf are those of a node now; nil if it cannot tell.
func countersOf(ctx context.Context, admin string, pid int) *nodeCounters {
	metrics, err := scrape(ctx, admin)
	cpu := cpuOf(pid)
	if err != nil || cpu == nil || pid == 0 {
		return nil
	}
	c := &nodeCounters{pid: pid, cpuNs: float64(*cpu), metrics: metrics}
	for _, name := range []string{"syscr: ", "syscw: "} {
		if n := ioOf(pid, name); n != nil {
			c.calls += float64(*n)
		}
	}
	return c
}

const metricsBytesMax = 1 << 20

// scrape reads a node's metrics, those of one name summed over their labels.
func scrape(ctx context.Context, admin string) (map[string]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, counterTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+admin+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", response.StatusCode)
	}
	return parseMetrics(io.LimitReader(response.Body, metricsBytesMax))
}

// parseMetrics reads Prometheus' text form: name{labels} value, and comments.
func parseMetrics(from io.Reader) (map[string]float64, error) {
	sums := map[string]float64{}
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		line := lines.Text()
		space := strings.LastIndexByte(line, ' ')
		if space < 0 || line[0] == '#' {
			continue
		}
		value, err := strconv.ParseFloat(line[space+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("metric %q: %w", line, err)
		}
		name, _, _ := strings.Cut(line[:space], "{")
		sums[name] += value
	}
	return sums, lines.Err()
}

// ioOf is a counter of /proc/PID/io, nil if the kernel does not say.
func ioOf(pid int, name string) *int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return nil
	}
	for line := range bytes.Lines(text) {
		if value, ok := bytes.CutPrefix(line, []byte(name)); ok {
			if n, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64); err == nil {
				return &n
			}
		}
	}
	return nil
}

// roleCosts are what a batch cost in each role of nodes, by the counters of those that lived through the whole measured phase. Roles in which none
// did are uncounted.
func (c *countedNodes) roleCosts() (costs []results.RoleCost, uncounted []string) {
	if c == nil {
		return nil, nil
	}
	for _, role := range []string{results.RolePrimary, results.RoleBackup} {
		var sum nodeCounters
		sum.metrics = map[string]float64{}
		nodes := 0
		for i, of := range c.roles {
			if of == role && c.begin[i] != nil && c.end[i] != nil && c.begin[i].pid == c.end[i].pid {
				nodes++
				sum.addDifference(c.begin[i], c.end[i])
			}
		}
		switch {
		case nodes > 0:
			costs = append(costs, sum.cost(role, nodes))
		case slices.Contains(c.roles, role):
			uncounted = append(uncounted, role)
		}
	}
	return costs, uncounted
}

func (n *nodeCounters) addDifference(begin, end *nodeCounters) {
	n.cpuNs += end.cpuNs - begin.cpuNs
	n.calls += end.calls - begin.calls
	for name, value := range end.metrics {
		n.metrics[name] += value - begin.metrics[name]
	}
}

// cost divides by what these nodes committed meanwhile.
func (n *nodeCounters) cost(role string, nodes int) results.RoleCost {
	batches := n.metrics[metricCommits]
	c := results.RoleCost{Role: role, Nodes: nodes, Batches: int64(batches)}
	if batches <= 0 {
		return c
	}
	a := func(value float64) *float64 { return new(value / batches) }
	c.CPUNsPerBatch, c.CallsPerBatch = a(n.cpuNs), a(n.calls)
	c.AllocationsPerBatch, c.AllocatedBytesPerBatch, c.CopiedBytesPerBatch = a(n.metrics[metricAllocations]), a(n.metrics[metricAllocated]), a(n.metrics[metricCopied])
	if zeroed, told := n.metrics[metricZeroed]; told {
		c.ZeroedBytesPerBatch = a(zeroed)
	}
	if flushes := n.metrics[metricFlushes]; flushes > 0 {
		c.SyncsPerBatch, c.BatchesPerSync = a(flushes), new(batches/flushes)
	}
	return c
}
