package server

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"rejoin/server/partition"
	"rejoin/server/vsr"
)

const exampleConfig = `cluster: demo
nodes:
  - id: 0
    listen: {peer: "127.0.0.1:17000", client: "127.0.0.1:17001", admin: "127.0.0.1:17002"}
  - id: 1
    listen: {peer: "127.0.0.1:17010", client: "127.0.0.1:17011", admin: "127.0.0.1:17012"}
    dial: {peer: "127.0.0.1:17510"}
  - id: 2
    listen: {peer: "127.0.0.1:17020", client: "127.0.0.1:17021", admin: "127.0.0.1:17022"}
topics:
  - name: orders
    partitions: 4
  - name: audit
    durability: replicated
limits:
  segment_bytes: 16777216
  suspect: 750ms
`

func TestParseConfigFillsDefaults(t *testing.T) {
	c, err := ParseConfig([]byte(exampleConfig))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Nodes[1].Dial; got.Peer != "127.0.0.1:17510" || got.Client != "127.0.0.1:17011" {
		t.Errorf("dial of node 1 is %+v", got)
	}
	if c.Topics[0].Durability != DurabilityPersisted || c.Topics[1].Partitions != 1 || c.Partitions() != 5 {
		t.Errorf("topics are %+v", c.Topics)
	}
	l := c.Limits
	if l.SegmentBytes != 16<<20 || l.Suspect != 750*time.Millisecond || l.RingOps != 1024 || l.Tick != 10*time.Millisecond {
		t.Errorf("limits are %+v", l)
	}
}

func TestParseConfigRefuses(t *testing.T) {
	for _, test := range []struct{ name, old, new, want string }{
		{"unknown field", "cluster: demo", "cluster: demo\nshards: 3", `[2:1] unknown field "shards"`},
		{"wrong type", "partitions: 4", "partitions: many", `[12:17] a whole number belongs here, and "many" is none`},
		{"no number", "partitions: 4", "partitions: .nan", `[12:17] a whole number of 64 bits belongs here, and ".nan" is none`},
		{"huge number", "partitions: 4", "partitions: 99999999999999999999999", "[12:17] a whole number of 64 bits belongs here"},
		{"port 0", `peer: "127.0.0.1:17000"`, `peer: "127.0.0.1:0"`, "[4:20] nodes[0].listen.peer: port \"0\""},
		{"no port", `admin: "127.0.0.1:17002"`, `admin: "127.0.0.1"`, "is not host:port"},
		{"no address for others", `client: "127.0.0.1:17001"`, `client: "0.0.0.0:17001"`, "say under dial by which address"},
		{"no address for others, said", `dial: {peer: "127.0.0.1:17510"}`, `dial: {peer: "[::]:17510"}`, "nodes[1].dial.peer: [::]:17510 stands for every address"},
		{"same port twice", "127.0.0.1:17010", "127.0.0.1:17000", "is also nodes[0].listen.peer"},
		{"id out of order", "id: 2", "id: 3", "must have id 2"},
		{"topic name", "name: orders", "name: ../../x", "[11:11] topics[0].name"},
		{"topic twice", "name: audit", "name: orders", "there are two topics"},
		{"too many partitions", "partitions: 4", "partitions: 64", "all topics together"},
		{"durability", "durability: replicated", "durability: hopeful", "must be persisted or replicated"},
		{"cluster name", "cluster: demo", "cluster: De mo", "is no name for a cluster"},
		{"segment", "segment_bytes: 16777216", "segment_bytes: 12", "limits.segment_bytes: must be from"},
		{"crawling transfer", "segment_bytes: 16777216", "transfer_bytes_per_s_max: 8", "limits.transfer_bytes_per_s_max: must be 0"},
		{"pipeline", "suspect: 750ms", "pipeline_ops: 1000000", "limits.pipeline_ops: must be from 1 to 512, not 1000000"},
		{"few buffers", "suspect: 750ms", "pool_buffers: 1", "limits.pool_buffers: 1 frame buffers are too few for the uncommitted batches (pipeline_ops 256) of 5 partitions, and nothing might be appended: use 0, or at least 5120"},
		{"time", "suspect: 750ms", "suspect: 5ms", "limits.suspect: must be from 60ms"},
		{"duplicate key", "cluster: demo", "cluster: demo\ncluster: other", "cluster"},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := strings.Replace(exampleConfig, test.old, test.new, 1)
			if text == exampleConfig {
				t.Fatal("the test changed nothing")
			}
			_, err := ParseConfig([]byte(text))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error is %v, want %q in it", err, test.want)
			}
			if !strings.Contains(err.Error(), "^") {
				t.Errorf("no caret in %v", err)
			}
		})
	}
	many := strings.NewReplacer("partitions: 4", "partitions: 63", "suspect: 750ms", "pipeline_ops: 512").Replace(exampleConfig)
	if _, err := ParseConfig([]byte(many)); err == nil || !strings.Contains(err.Error(), "limits.pipeline_ops: the uncommitted batches (pipeline_ops 512) of 64 partitions need 131072 frame buffers, and a node has at most 65536: use a pipeline_ops of at most 256, or fewer partitions") {
		t.Errorf("64 partitions with 512 uncommitted batches each: %v", err)
	}
	two := exampleConfig[:strings.Index(exampleConfig, "  - id: 2")] + exampleConfig[strings.Index(exampleConfig, "topics:"):]
	if _, err := ParseConfig([]byte(two)); err == nil || !strings.Contains(err.Error(), "1, 3 or 5 nodes, not 2") {
		t.Errorf("two nodes: %v", err)
	}
	if _, err := ParseConfig(nil); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("empty file: %v", err)
	}
}

// TestDeepConfig: a parser that calls itself for each level must not be given a file of levels.
func TestDeepConfig(t *testing.T) {
	for _, text := range []string{strings.Repeat("[", configBytesMax/2), "cluster: " + strings.Repeat("{a: ", 10_000), strings.Repeat("- ", 10_000)} {
		if _, err := ParseConfig([]byte(text)); err == nil || !strings.Contains(err.Error(), "levels deep") {
			t.Errorf("%.20q…: %v", text, err)
		}
	}
}

func TestLoadConfigNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cluster.yaml")
	if err := os.WriteFile(path, []byte("cluster: [\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadConfig(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error is %v", err)
	}
	if _, err := LoadConfig(path + ".none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error is %v", err)
	}
}

func TestFixedDigest(t *testing.T) {
	a, err := ParseConfig([]byte(exampleConfig))
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{{"name: orders", "name: order"}, {"partitions: 4", "partitions: 5"}, {"durability: replicated", "durability: persisted"},
		{"suspect: 750ms", "pipeline_ops: 128"}} {
		b, err := ParseConfig([]byte(strings.Replace(exampleConfig, change[0], change[1], 1)))
		if err != nil {
			t.Fatal(err)
		}
		if a.FixedDigest() == b.FixedDigest() {
			t.Errorf("%s and %s have one digest", change[0], change[1])
		}
	}
	said, err := ParseConfig([]byte(strings.Replace(exampleConfig, "suspect: 750ms", "pipeline_ops: 256", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if a.FixedDigest() != said.FixedDigest() {
		t.Error("a default that is written out takes part in the identity")
	}
	moved, err := ParseConfig([]byte(strings.ReplaceAll(exampleConfig, "127.0.0.1", "127.0.0.2")))
	if err != nil {
		t.Fatal(err)
	}
	if a.FixedDigest() != moved.FixedDigest() || a.ClusterID() != moved.ClusterID() {
		t.Error("addresses take part in the identity")
	}
}

// TestPipelineMax: a cluster file that is accepted can be run.
func TestPipelineMax(t *testing.T) {
	for ops, good := range map[int]bool{pipelineOpsMax: true, pipelineOpsMax + 1: false} {
		c := testConfig(3, 1)
		c.Limits.PipelineOps = ops
		n := &node{config: *c, dir: &directory{incarnation: vsr.Incarnation{Boot: 1, Nonce: 1}}}
		config := newGroup(n, 0, c.Topics[0], 0).config()
		part, err := partition.New(partition.Options{Replica: config, RingBytes: 64 << 20, CheckpointBytes: 64 << 20, Outside: noOutside{},
			Boot: vsr.Boot{Start: 1, Head: vsr.ID{Sum: config.RootSum}, Top: vsr.ID{Sum: config.RootSum}, Commit: vsr.ID{Sum: config.RootSum}, Table: vsr.Table{ID: vsr.ID{Sum: config.RootSum}}}})
		if (err == nil) != good {
			t.Errorf("a pipeline of %d ops: %v", ops, err)
		}
		if err == nil {
			part.Close()
		}
		if err := c.Limits.validate(); (err == nil) != good {
			t.Errorf("limits with a pipeline of %d ops: %v", ops, err)
		}
	}
}

// noOutside is for a partition that nothing happens to.
type noOutside struct{ partition.Outside }

func TestCheckExposure(t *testing.T) {
	open := strings.Replace(exampleConfig, `peer: "127.0.0.1:17000", client: "127.0.0.1:17001", admin: "127.0.0.1:17002"}`,
		`peer: "0.0.0.0:17000", client: "127.0.0.1:17001", admin: "127.0.0.1:17002"}
    dial: {peer: "10.0.0.6:17000"}`, 1)
	open = strings.Replace(open, `client: "127.0.0.1:17011"`, `client: "10.0.0.7:17011"`, 1)
	open = strings.Replace(open, `admin: "127.0.0.1:17022"}`, `admin: "[::]:17022"}
    dial: {admin: "10.0.0.8:17022"}`, 1)
	c, err := ParseConfig([]byte(open))
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range []string{"REJOIN_CLUSTER_SECRET_FILE", "REJOIN_TOKEN_FILE", "REJOIN_TOKEN_FILE"} {
		if err := c.CheckExposure(id, false, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("node %d: %v", id, err)
		}
		if err := c.CheckExposure(id, true, true); err != nil {
			t.Errorf("node %d with secret and token: %v", id, err)
		}
	}
	closed, err := ParseConfig([]byte(exampleConfig))
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.CheckExposure(0, false, false); err != nil {
		t.Errorf("loopback: %v", err)
	}
}

// TestEveryLimitIsUsed: a setting that is read, validated and printed and that nothing asks for misleads who sets it.
func TestEveryLimitIsUsed(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, name := range files {
		if name == "config.go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				used[s.Sel.Name] = true
			}
			return true
		})
	}
	for limit := range reflect.TypeFor[Limits]().Fields() {
		if !used[limit.Name] {
			t.Errorf("limits.%s has no effect", strings.TrimSuffix(limit.Tag.Get("yaml"), ",omitempty"))
		}
	}
}
