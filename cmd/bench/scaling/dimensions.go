package scaling

import (
	"fmt"
	"time"

	"rejoin/cmd/bench/goals"
)

// Dimension is one thing that is varied: in a run for each point, or in one run in which it grows.
type Dimension struct {
	Name, Title, XLabel string
	Points              []Point
	Growth              *Growth
	// Rate is what the curve is judged by.
	Rate Rate
	// Missing says why nothing is measured.
	Missing string
}

// Growth is a run in which a log grows, and one in which the same load meets a log that keeps only its end: what changes in both is not the length's doing.
type Growth struct{ Whole, Bounded goals.Series }

// Series are all that the dimension is measured by.
func (d Dimension) Series() (all []goals.Series) {
	if d.Growth != nil {
		return []goals.Series{d.Growth.Whole, d.Growth.Bounded}
	}
	for _, p := range d.Points {
		all = append(all, p.Series)
	}
	return all
}

// Rate is a figure of a point.
type Rate int

// Rates.
const (
	Messages Rate = iota // a second
	Bytes                // of frames, a second
)

// Point is one value and its scenario.
type Point struct {
	X      int
	Series goals.Series
}

// usual is the load that each point changes one number of.
type usual struct{ nodes, partitions, producers, batchMessages, payloadBytes int }

func (u usual) scenario() string {
	return fmt.Sprintf(`nodes: %d
partitions: %d
producers: %d
batch_messages: %d
payload_bytes: %d
closed_loop: true
warmup: 1s
duration: 4s
quiet_max: 60s
cluster: {retention_bytes: 2147483648}
demands: {late_p99_max: 10s, canary_change_max: 100}
`, u.nodes, u.partitions, u.producers, u.batchMessages, u.payloadBytes)
}

const pointTook = 25 * time.Second

func points(name string, values []int, change func(*usual, int)) (all []Point) {
	for _, x := range values {
		u := usual{nodes: 3, partitions: 1, producers: 12, batchMessages: 100, payloadBytes: 256}
		change(&u, x)
		all = append(all, Point{x, goals.Series{Name: fmt.Sprintf("%s-%d", name, x), About: fmt.Sprintf("scaling, %s %d", name, x), Scenario: u.scenario(), Took: pointTook}})
	}
	return all
}

// payloadBatch is small, so that messages of 64 KiB fit into a batch of 1 MiB.
const payloadBatch = 10

// Dimensions are all of them.
func Dimensions() []Dimension {
	return []Dimension{
		{Name: "producers", Title: "Producers", XLabel: "producers, each with one batch of 100 messages of 256 bytes under way (log scale)",
			Points: points("producers", []int{1, 2, 4, 12, 48, 192, 600, 1200}, func(u *usual, x int) { u.producers = x })},
		{Name: "batch", Title: "Size of a batch", XLabel: "messages of 256 bytes in a batch, 12 producers (log scale)",
			Points: points("batch", []int{1, 3, 10, 30, 100, 300, 1000}, func(u *usual, x int) { u.batchMessages = x })},
		{Name: "payload", Title: "Size of a message", XLabel: fmt.Sprintf("bytes of a message, %d in a batch, 12 producers (log scale)", payloadBatch), Rate: Bytes,
			Points: points("payload", []int{40, 256, 1024, 4096, 16384, 65536}, func(u *usual, x int) { u.payloadBytes, u.batchMessages = x, payloadBatch })},
		{Name: "nodes", Title: "Nodes", XLabel: "nodes on one machine, 12 producers",
			Points: points("nodes", []int{1, 3, 5}, func(u *usual, x int) { u.nodes = x })},
		{Name: "partitions", Title: "Partitions", XLabel: "partitions, 64 producers spread over them (log scale)",
			Points: points("partitions", []int{1, 2, 4, 16, 64}, func(u *usual, x int) { u.partitions, u.producers = x, 64 })},
		growth("log-one", 1, 20<<30, 450_000),
		growth("log-three", 3, 5<<30, 150_000),
	}
}
