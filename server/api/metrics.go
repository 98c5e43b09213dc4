package api

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

var _ prometheus.Collector = (*ClientPlane)(nil)

// Describe sends nothing: Collect makes its descriptions, so the plane is an unchecked collector.
func (p *ClientPlane) Describe(chan<- *prometheus.Desc) {}

// Collect gives the plane's figures to a registry.
func (p *ClientPlane) Collect(out chan<- prometheus.Metric) {
	send := func(kind prometheus.ValueType, name, help string, value float64) {
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, nil), kind, value)
	}
	s := p.Stats()
	send(prometheus.GaugeValue, "rejoin_client_connections", "Open client connections.", float64(s.ConnectionsOpen))
	send(prometheus.CounterValue, "rejoin_client_connections_refused_total", "Client connections beyond the cap.", float64(s.ConnectionsRefused))
	send(prometheus.CounterValue, "rejoin_client_connections_evicted_total", "Unused, idle or slow client connections given up at the cap.", float64(s.ConnectionsEvicted))
	send(prometheus.CounterValue, "rejoin_client_accepts_failed_total", "Client connections that could not be accepted at once, for want of files or memory.", float64(s.AcceptsFailed))
	send(prometheus.GaugeValue, "rejoin_client_waiting_reads", "Reads that wait for new frames.", float64(s.LongPolls))
	send(prometheus.CounterValue, "rejoin_client_bad_requests_total", "Requests that were not HTTP, too slow or cut.", float64(s.BadRequests))
	answers := prometheus.NewDesc("rejoin_client_answers_total", "Answers by class of status.", []string{"class"}, nil)
	for hundreds, n := range s.Answers {
		if n > 0 {
			out <- prometheus.MustNewConstMetric(answers, prometheus.CounterValue, float64(n), strconv.Itoa(hundreds)+"xx")
		}
	}
}
