package nats

import (
	"fmt"
	"strings"
)

// Server is what a nats-server of a cluster is told: where it listens and where it keeps its files. All that is not here is the server's own default.
type Server struct {
	Node
	Route        string   // host:port for the other servers
	Routes       []string // of all servers of the cluster
	StoreDir     string   // absolute
	SyncInterval string   // SyncDefault or SyncAlways, or any duration

	// BatchesInFlight is how many atomic batches may be open at once; the server's own limit of 50 a stream is raised to it.
	BatchesInFlight int
}

// clusterName is what the servers of a run call themselves together.
const clusterName = "rejoin"

// Config is the server's configuration file.
func (s Server) Config() string {
	var routes []string
	for _, r := range s.Routes {
		routes = append(routes, "nats://"+r)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "server_name: %q\nlisten: %q\nhttp: %q\n", s.Name, s.Client, s.Monitor)
	fmt.Fprintf(&text, "cluster {\n  name: %q\n  listen: %q\n  no_advertise: true\n  routes: [%s]\n}\n", clusterName, s.Route, strings.Join(routes, ", "))
	fmt.Fprintf(&text, "jetstream {\n  store_dir: %q\n  sync_interval: %s\n", s.StoreDir, s.SyncInterval)
	if s.BatchesInFlight > serverBatchesInFlight {
		fmt.Fprintf(&text, "  limits { max_batch_inflight_per_stream: %d }\n", s.BatchesInFlight)
	}
	text.WriteString("}\n")
	return text.String()
}

// serverBatchesInFlight is the server's own limit for a stream.
const serverBatchesInFlight = 50
