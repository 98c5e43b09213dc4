package main

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"rejoin/results"
)

// newLiveMetrics is /metrics of a run under way: what the harness sees, in base units, besides its own process.
func newLiveMetrics(hub *liveHub) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(&liveCollector{hub}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// liveCollector turns the latest view into metrics.
type liveCollector struct{ hub *liveHub }

func liveDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("rejoin_bench_"+name, help, labels, nil)
}

var (
	descInfo     = liveDesc("run_info", "Names of the run; the value is 1.", "run", "scenario", "target")
	descStep     = liveDesc("step_info", "Step of the run; the value is 1.", "step")
	descElapsed  = liveDesc("step_elapsed_seconds", "Time since the beginning of the load, or of the quiet phase.")
	descTotal    = liveDesc("step_total_seconds", "Length of the load, or the longest quiet phase; 0 in other steps.")
	descDue      = liveDesc("batches_due_total", "Batches that the timetable has asked for.")
	descOutcomes = liveDesc("batches_total", "Batches by outcome.", "outcome")
	descTries    = liveDesc("tries_total", "Tries of batches on the wire, retries included.")
	descWaiting  = liveDesc("batches_waiting", "Batches that are due and have no outcome yet.")
	descRate     = liveDesc("batches_acked_per_second", "Batches acknowledged in the last second.")
	descLatency  = liveDesc("ack_latency_seconds", "Latency from due to acknowledged, of the last second.", "quantile")
	descUp       = liveDesc("node_up", "1 while the node answers.", "node")
	descPrimary  = liveDesc("node_primary", "1 while the node calls itself primary.", "node")
	descLag      = liveDesc("node_lag_ops", "Ops that the node's commit is behind the highest.", "node")
	descTransfer = liveDesc("node_transfer_ratio", "How far a repair or a transfer has come, 0 to 1.", "node", "kind")
	descFaults   = liveDesc("faults_in_force", "Faults that are in force.")
	descEvents   = liveDesc("events_total", "Events recorded by the harness.")
	descReaders  = liveDesc("live_readers", "Readers of the live page.")
	descDropped  = liveDesc("live_dropped_messages_total", "Messages that readers of the live page were too slow for.")
	descExit     = liveDesc("exit_code", "Exit code of the run, once it has ended.")
)

// Describe implements prometheus.Collector.
func (c *liveCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descInfo, descStep, descElapsed, descTotal, descDue, descOutcomes, descTries, descWaiting, descRate,
		descLatency, descUp, descPrimary, descLag, descTransfer, descFaults, descEvents, descReaders, descDropped, descExit} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *liveCollector) Collect(out chan<- prometheus.Metric) {
	v, verdict, counts := c.hub.look()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	counter := func(d *prometheus.Desc, value int64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(value), labels...)
	}
	gauge(descInfo, 1, v.Run, v.Scenario, v.Target)
	gauge(descStep, 1, v.Step)
	gauge(descElapsed, v.ElapsedS)
	gauge(descTotal, v.TotalS)
	counter(descDue, v.DueBatches)
	counter(descOutcomes, v.AckedBatches, "acked")
	counter(descOutcomes, v.UnknownBatches, "unknown")
	counter(descOutcomes, v.FailedBatches, "failed")
	counter(descTries, v.Tries)
	gauge(descWaiting, float64(v.WaitingBatches))
	gauge(descRate, v.BatchesPerS)
	for quantile, ns := range map[string]*int64{"0.5": v.P50Ns, "0.99": v.P99Ns} {
		if ns != nil {
			gauge(descLatency, float64(*ns)/1e9, quantile)
		}
	}
	for _, n := range v.Nodes {
		gauge(descUp, truth(n.Up), n.Node)
		gauge(descPrimary, truth(n.Role == results.RolePrimary), n.Node)
		if n.LagOps != nil {
			gauge(descLag, float64(*n.LagOps), n.Node)
		}
		if n.Transfer != nil {
			gauge(descTransfer, n.Transfer.Percent/100, n.Node, n.Transfer.Kind)
		}
	}
	gauge(descFaults, float64(len(v.Faults)))
	counter(descEvents, counts.events)
	gauge(descReaders, float64(counts.readers))
	counter(descDropped, counts.dropped)
	if verdict != nil {
		gauge(descExit, float64(verdict.ExitCode))
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
