package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"rejoin/cmd/bench/faultproxy"
	"rejoin/loadgen"
	"rejoin/results"
	"rejoin/server"
	"rejoin/server/wire"
)

var (
	vortexFor  = flag.Duration("vortex.for", 12*time.Second, "how long TestVortex harms the cluster")
	vortexSeed = flag.Uint64("vortex.seed", 0, "what TestVortex draws its faults from; 0: from the clock")
)

// TestVortex runs real node processes whose links go through fault proxies, and harms links, clients and
// processes at random from one seed, several at once and beyond what a quorum survives. Then all is
// healed, and within healLimit every batch due is acknowledged again and every replica holds the same,
// with all that was ever acknowledged. The seed repeats the faults, not what the machine makes of them.
func TestVortex(t *testing.T) {
	seed := *vortexSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("repeat the faults: go test ./cmd/bench -run '^TestVortex$' -vortex.seed %d -vortex.for %v", seed, *vortexFor)
	v := newVortex(t, seed)
	defer func() {
		if t.Failed() {
			v.tell(t)
		}
	}()
	v.run(t)
	v.check(t)
}

const (
	healLimit = 30 * time.Second // from the end of all faults to everything in order
	calmTime  = 4 * time.Second  // of load behind the end of all faults
)

func vortexScenario(seed uint64, d time.Duration) Scenario {
	s := scenarioDefaults()
	s.Name, s.BatchMessages, s.PayloadBytes, s.MessagesPerS, s.Duration, s.QuietMax = "vortex", 20, 1024, 3000, duration(d), duration(healLimit)
	s.Cluster = server.Limits{SegmentBytes: 4 << 20, PipelineOps: 32, RingOps: 64} // short, so that outages need transfers over segments
	if seed%4 == 0 {
		s.Durability = server.DurabilityReplicated
	}
	return s
}

// vortex is a cluster with a proxy on each way.
type vortex struct {
	session *session
	nodes   *nodeSystem
	cluster *cluster
	links   [][]*faultproxy.Proxy // links[i][j]: what i dials to reach j
	clients []*faultproxy.Proxy
	plan    *vortexPlan
	healNs  int64 // since the base
}

func newVortex(t *testing.T, seed uint64) *vortex {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s := vortexScenario(seed, *vortexFor+calmTime)
	must(s.validate())
	folder, err := results.Create(t.TempDir(), s.Target, s.Name, time.Now())
	must(err)
	r := &session{command: &runCommand{}, scenario: s, seed: seed, folder: folder, say: newProgress(io.Discard, true)}
	r.record, err = newRecorder(folder)
	must(err)
	r.status, err = folder.AppendStatus()
	must(err)
	n := s.Nodes
	r.ports, err = reservePorts(3*n + n*n)
	must(err)
	ports := r.ports.numbers
	r.system, err = newBuiltinSystem(r, ports[:3*n])
	must(err)
	made := r.system.(*builtinSystem)
	v := &vortex{session: r, nodes: made.nodeSystem, cluster: made.cluster}
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
		must(r.record.close())
		for _, p := range v.proxies() {
			must(p.Close())
		}
	})
	must(v.interpose(ports[3*n:]))
	v.plan = newVortexPlan(v, seed)
	return v
}

// interpose starts a proxy for each way and writes each node a cluster file that leads through them.
func (v *vortex) interpose(ports []int) error {
	nodes := v.cluster.config.Nodes
	proxy := func(target string) (*faultproxy.Proxy, string, error) {
		address := fmt.Sprintf("127.0.0.1:%d", ports[0])
		ports = ports[1:]
		p, err := faultproxy.New(address, target)
		return p, address, err
	}
	var listen []string
	for i := range nodes {
		p, address, err := proxy(nodes[i].Listen.Client)
		if err != nil {
			return err
		}
		listen = append(listen, nodes[i].Listen.Client)
		v.clients = append(v.clients, p)
		nodes[i].Dial.Client = address
	}
	for i := range nodes {
		config := v.cluster.config
		config.Nodes = append([]server.NodeConfig(nil), nodes...)
		row := make([]*faultproxy.Proxy, len(nodes))
		for j := range nodes {
			if j == i {
				continue
			}
			p, address, err := proxy(nodes[j].Listen.Peer)
			if err != nil {
				return err
			}
			row[j], config.Nodes[j].Dial.Peer = p, address
		}
		v.links = append(v.links, row)
		text, err := yaml.Marshal(config)
		if err == nil {
			err = os.WriteFile(v.fileOf(i), text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	v.cluster.fileOf = v.fileOf
	// Producers go through the proxies, the poller straight: what it says must be true.
	v.cluster.clusterAsker = newClusterAsker(listen, "")
	var err error
	v.cluster.log, err = newBuiltinTarget(v.session.scenario, v.cluster.clientAddresses())
	return err
}

func (v *vortex) fileOf(node int) string {
	return filepath.Join(v.session.folder.Dir, fmt.Sprintf("cluster-%s.yaml", results.NodeName(node)))
}

func (v *vortex) proxies() []*faultproxy.Proxy {
	all := append([]*faultproxy.Proxy(nil), v.clients...)
	for _, row := range v.links {
		for _, p := range row {
			if p != nil {
				all = append(all, p)
			}
		}
	}
	return all
}

// run drives load while the plan does harm, and waits until the nodes are alike.
func (v *vortex) run(t *testing.T) {
	r := v.session
	if err := r.system.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	base := time.Now()
	r.run.StartMonoNs = wire.MonoNow()
	r.record.setBase(r.run.StartMonoNs)
	started := make(chan struct{})
	var harming sync.WaitGroup
	harming.Go(func() {
		<-started
		v.plan.carryOut(t.Context(), *vortexFor)
		v.healNs = int64(time.Since(base))
	})
	var once sync.Once
	var err error
	r.outcome, err = loadgen.Run(t.Context(), loadgen.Options{Target: r.system.target(), LedgerDir: r.folder.Ledger(), Producers: r.scenario.Producers,
		BatchMessages: r.scenario.BatchMessages, MessageBytes: r.scenario.PayloadBytes, RatePerS: r.scenario.MessagesPerS,
		Duration: time.Duration(r.scenario.Duration), Budget: batchBudget, DrainBudget: healLimit, Seed: r.seed, Base: base, OvershootSamples: -1,
		OnStart: func(int64) { once.Do(func() { close(started) }) }})
	once.Do(func() { close(started) })
	harming.Wait()
	if err != nil {
		t.Fatal(err)
	}
	r.loaded = true
	if err := r.quiet(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// check holds what is left against what was promised.
func (v *vortex) check(t *testing.T) {
	r := v.session
	if err := r.verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	judgeVerification(&r.judge, r.verified, nil)
	r.judgeOffline()
	for _, surprise := range r.system.surprises() {
		t.Error(surprise)
	}
	for _, reason := range r.judge.Reasons() {
		t.Error(reason)
	}
	acked, due, calm, late := v.outcomes(t)
	if late > 0 {
		t.Errorf("%d of %d batches that were due after the last fault were not acknowledged", late, calm)
	}
	if calm == 0 || acked == 0 {
		t.Errorf("%d batches acknowledged, %d due after the last fault: this run proves nothing", acked, calm)
	}
	if missing := v.plan.missing(); len(missing) > 0 && *vortexFor >= 10*time.Second {
		t.Errorf("no fault of kind %v was done", missing)
	}
	events, _ := r.system.nodeEvents()
	kinds := map[results.Kind]int{}
	for _, e := range events {
		kinds[e.Kind]++
	}
	spoiled := 0
	for _, p := range v.proxies() {
		spoiled += p.Spoiled()
	}
	t.Logf("%d of %d batches acknowledged; faults %v, %d bytes corrupted; events of the nodes %v", acked, due, v.plan.done, spoiled, kinds)
}

// outcomes counts batches: acknowledged and due in all, and those due when all faults had ended, with
// how many of them were not acknowledged.
func (v *vortex) outcomes(t *testing.T) (acked, due, calm, late int) {
	t.Helper()
	for _, path := range v.session.outcome.Ledgers {
		ledger, err := loadgen.OpenLedger(path)
		if err != nil {
			t.Fatal(err)
		}
		for {
			record, err := ledger.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			ok := record.Outcome == loadgen.OutcomeOK
			due++
			if ok {
				acked++
			}
			if record.DueNs > v.healNs {
				calm++
				if !ok {
					late++
				}
			}
		}
		if err := ledger.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return acked, due, calm, late
}

// tell prints what a person needs to understand a failure: the folder is gone with the test.
func (v *vortex) tell(t *testing.T) {
	for _, line := range v.plan.log {
		t.Log(line)
	}
	for _, s := range v.session.system.status() {
		t.Logf("%+v", s)
	}
	for i := range v.cluster.config.Nodes {
		t.Logf("%s: %s", results.NodeName(i), lastLine(v.session.folder.Log(i)))
	}
}
