package server

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"rejoin/server/wire"
)

// metrics are a node's figures in Prometheus' form. Levels are read when they are asked for.
type metrics struct {
	node     *node
	registry *prometheus.Registry
	flushes  prometheus.Histogram
	beats    prometheus.Histogram
	observes *prometheus.CounterVec
	moved    *prometheus.CounterVec
}

func newMetrics(n *node) *metrics {
	m := &metrics{node: n, registry: prometheus.NewRegistry(),
		flushes: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "rejoin_flush_seconds",
			Help: "Time of one batch of disk work: write and fdatasync.", Buckets: prometheus.ExponentialBuckets(50e-6, 2, 16)}),
		beats: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "rejoin_heartbeat_gap_seconds",
			Help: "Time between two beats of a primary.", Buckets: []float64{.01, .02, .03, .04, .05, .075, .1, .15, .2, .3, .5, 1, 2, 5}}),
		observes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "rejoin_events_total", Help: "Protocol events by kind."}, []string{"kind"}),
		moved: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "rejoin_caught_up_bytes_total",
			Help: "Bytes that repairs and transfers brought."}, []string{"phase"}),
	}
	m.registry.MustRegister(m.flushes, m.beats, m.observes, m.moved, levels{n}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

func (m *metrics) flushed(d time.Duration) { m.flushes.Observe(d.Seconds()) }

func (m *metrics) observed(e *wire.Event) {
	m.observes.WithLabelValues(string(e.Kind)).Inc()
	switch e.Kind {
	case wire.EventRepairEnd:
		m.moved.WithLabelValues("repair").Add(float64(e.Bytes))
	case wire.EventTransferEnd:
		m.moved.WithLabelValues("transfer").Add(float64(e.Bytes))
	}
}

// levels reads what has a present value.
type levels struct{ node *node }

var partitionLabels = []string{"topic", "partition"}

var (
	descView    = prometheus.NewDesc("rejoin_view", "Present view.", partitionLabels, nil)
	descLogView = prometheus.NewDesc("rejoin_log_view", "View whose log is held.", partitionLabels, nil)
	descHead    = prometheus.NewDesc("rejoin_head_op", "Op up to which everything is held.", partitionLabels, nil)
	descCommit  = prometheus.NewDesc("rejoin_commit_op", "Committed op.", partitionLabels, nil)
	descKnown   = prometheus.NewDesc("rejoin_known_commit_op", "Highest committed op heard of.", partitionLabels, nil)
	descPrimary = prometheus.NewDesc("rejoin_primary", "1 while this replica leads.", partitionLabels, nil)
	descState   = prometheus.NewDesc("rejoin_state", "1 for the state the replica is in.", append(partitionLabels, "state"), nil)
	descFree    = prometheus.NewDesc("rejoin_pool_free_buffers", "Free frame buffers.", nil, nil)
	descCopied  = prometheus.NewDesc("rejoin_pool_copied_bytes_total", "Bytes copied because a body did not lie in a pool buffer.", nil, nil)
	descDropped = prometheus.NewDesc("rejoin_peer_dropped_total", "Messages dropped for want of room or link.", []string{"peer", "lane"}, nil)
	descSilence = prometheus.NewDesc("rejoin_peer_longest_silence_seconds", "Longest time between two messages of a peer.", []string{"peer"}, nil)
	descAbsurd  = prometheus.NewDesc("rejoin_absurd_requests_total", "Requests of peers for ranges that make no sense.", partitionLabels, nil)
	descZeroed  = prometheus.NewDesc("rejoin_zeroed_bytes_total", "Bytes of zeros written to segments ahead of use.", partitionLabels, nil)
	descRecycle = prometheus.NewDesc("rejoin_recycled_segments_total", "Files of trimmed segments that were kept to be written over.", partitionLabels, nil)
	descTurns   = prometheus.NewDesc("rejoin_flush_turns_missed_total", "Flushes that began without a turn, because others kept theirs for too long.", nil, nil)
	descLost    = prometheus.NewDesc("rejoin_events_dropped_total", "Events that are not in the file.", nil, nil)
)

// Describe sends nothing: the collector is unchecked, its labels depend on the cluster file.
func (levels) Describe(chan<- *prometheus.Desc) {}

// Collect reads the present values.
func (l levels) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	n := l.node
	pool := n.pool.Stats()
	gauge(descFree, float64(pool.Free))
	counter(descCopied, float64(pool.CopiedBytes))
	counter(descTurns, float64(n.turns.missed.Load()))
	counter(descLost, float64(n.recorder.Dropped()))
	for i, p := range n.network.Stats().Peers {
		if i == n.id {
			continue
		}
		id := strconv.Itoa(i)
		counter(descDropped, float64(p.DroppedControl), id, "control")
		counter(descDropped, float64(p.DroppedData), id, "data")
		counter(descDropped, float64(p.DroppedBulk), id, "bulk")
		gauge(descSilence, p.LongestSilence.Seconds(), id)
	}
	if !n.isOpen() {
		return
	}
	for _, g := range n.groups {
		s, labels := g.snapshot.Load(), []string{g.topic.Name, strconv.Itoa(g.index)}
		leading := 0.0
		if s.Leading {
			leading = 1
		}
		gauge(descView, float64(s.View), labels...)
		gauge(descLogView, float64(s.LogView), labels...)
		gauge(descHead, float64(s.Head.Op), labels...)
		gauge(descCommit, float64(s.Commit.Op), labels...)
		gauge(descKnown, float64(max(s.KnownCommit, s.Commit.Op)), labels...)
		gauge(descPrimary, leading, labels...)
		counter(descZeroed, float64(g.disk.Log().ZeroedBytes()), labels...)
		counter(descRecycle, float64(g.disk.Log().RecycledSegments()), labels...)
		counter(descAbsurd, float64(s.Absurd), labels...)
		gauge(descState, 1, append(labels, s.State)...)
	}
}
