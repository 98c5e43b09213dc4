package api

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestClientPlaneIsACollector(t *testing.T) {
	s := start(t, nil)
	s.post(t, makeFrame(3, 1, nil))
	s.do(t, "GET", "/nothing", nil)
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(s.ClientPlane); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			values[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	if values["rejoin_client_answers_total 2xx"] != 1 || values["rejoin_client_answers_total 4xx"] != 1 || values["rejoin_client_connections"] != 1 {
		t.Errorf("%v", values)
	}
}
