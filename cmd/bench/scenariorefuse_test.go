package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestScenarioRefuses: each refusal names the place in the file and the field.
func TestScenarioRefuses(t *testing.T) {
	for _, test := range []struct{ text, at, want string }{
		{"producers: 300\ncluster: {client_connections: 256}", "2:31", "need at least 316"},
		{"producers: twelve", "1:12", `a whole number belongs here, and "twelve" is none`},
		{"messages_per_s: .nan", "1:17", `whole number of 64 bits belongs here, and ".nan" is none`},
		{"faults: often", "1:9", "a list belongs here; write [] for none"},
		{"faults: {}", "1:9", "a list belongs here; write [] for none"},
		{"overload: perhaps", "1:11", "true or false belongs here"},
		{"nodes: [3]", "1:8", "a whole number"},
		{"name: a\nproduces: 12", "2:1", "unknown field"},
		{"name: a\nname: b", "2:1", "already defined"},
		{"warmup: 2m", "1:9", "warmup: 2m0s leaves nothing"},
		{"duration: soon", "1:11", "no duration"},
		{"duration: -5s", "1:11", "negative"},
		{"duration: 8000h", "1:11", "7 days"},
		{"duration: 99999999999999999999h", "1:11", "no duration"},
		{"duration: 10ms", "1:11", "at least 1s"},
		{"duration: [1s]", "1:11", "belongs here"},
		{"repetitions: 0", "1:14", "pass 1 to 1000"},
		{"nodes: 3.5", "1:8", "3.5 is no whole number"},
		{"load: [{for: 5s, from: 9000.5, to: 9000}]", "1:24", "load[0].from: 9000.5 is no whole number"},
		{"cluster: {segment_bytes: 5000000.5}", "1:26", "no whole number"},
		{"nodes: 2", "1:8", "1, 3 or 5"},
		{"name: ../x", "1:7", "no name for a run folder"},
		{"quiet_max: 0s", "1:12", "more than 0"},
		{"durability: maybe", "1:13", "persisted or replicated"},
		{"messages_per_s: 0", "1:17", "0 messages a second"},
		{"messages_per_s:", "1:", "has no value"},
		{"messages_per_s: 99999999999999999999999", "1:17", "a whole number of 64 bits"},
		{"messages_per_s: 1000000001", "1:17", "more than can be offered"},
		{"messages_per_s: 1000000000\nbatch_messages: 1\nduration: 1h", "1:17", "keeps what became of each in memory"},
		{"producers: 1000000000", "1:12", "pass 1 to 1200"},
		{"batch_messages: 0", "1:17", "pass 1 to 10000"},
		{"payload_bytes: 0", "1:16", "pass 40 to"},
		{"payload_bytes: 9000000000000000000", "1:16", "pass 40 to"},
		{"payload_bytes: 40\npayload: {keys: 5}", "1:16", "no room for a key"},
		{"payload: {bytes_max: 200000}", "", "make a batch of"},
		{"payload: {compressed_share: 2}", "1:29", "no share"},
		{"payload: {compressed_share: .nan}", "1:29", "no share"},
		{"payload: {sizes: normal}", "1:18", "uniform or zipf"},
		{"payload: {zipf_exponent: 1}", "1:26", "more than 1"},
		{"arrival: bursts", "1:10", "spread or poisson"},
		{"closed_loop: true\nmessages_per_s: 9000", "2:17", "in a closed loop nothing is due"},
		{"closed_loop: true\narrival: poisson", "2:10", "in a closed loop nothing is due"},
		{"closed_loop: true\nconsumers: {count: 1}", "2:20", "in a closed loop nothing is due"},
		{"closed_loop: true\noverload: true", "2:11", "leave one of them out"},
		{"load: []", "1:", "no step"},
		{"load:\n  - {for: 5s}", "2:", "load[0]: say messages_per_s, or from and to"},
		{"load:\n  - {for: 5s, from: 1, to: 2, messages_per_s: 3}", "2:", "say one of them"},
		{"load:\n  - {for: 5s, messages_per_s: 20000}\n  - {for: 5s, from: -1, to: 2}", "3:", "load[1].from: -1"},
		{"load:\n  - {for: 0s, messages_per_s: 20000}", "2:11", "load[0].for"},
		{"load:\n  - {for: 5s, messages_per_s: 0}", "", "less than one batch"},
		{"duration: 9s\nload: [{for: 5s, messages_per_s: 20000}]", "1:11", "the steps of load say it already"},
		{"faults: [{at: 1s, kill: n7, restart_after: 1s}]", "1:25", "there are n0 to n2"},
		{"faults: [{at: 1s, kill: n01, restart_after: 1s}]", "1:25", "there are n0 to n2"},
		{"faults: [{at: 1s, kill: n1}]", "1:", "say restart_after"},
		{"faults: [{at: 1s, kill: n1, cont_after: 1s}]", "1:41", "goes with stop"},
		{"faults: [{at: 1s, stop: n1, restart_after: 1s}]", "1:44", "goes with kill"},
		{"faults: [{at: 1s, kill: n1, wipe: n2, restart_after: 1s}]", "1:", "kill and wipe are two faults"},
		{"faults: [{at: 1s, restart: n1, restart_after: never}]", "1:47", "is a kill"},
		{"faults: [{at: 1s, restart_after: 1s}]", "1:", "say one of kill"},
		{"faults: [{at: 90s, kill: n1, restart_after: 1s}]", "1:15", "behind the load"},
		{"faults: [{at: 9s, kill: first, restart_after: 1s}]", "1:25", "needs first_address"},
		{"faults: [{at: -3s, kill: n1, restart_after: 1s}]", "1:15", "negative"},
		{"faults:\n  - {at: 5s, kill: n1, restart_after: 10s}\n  - {at: 8s, stop: n1, cont_after: 1s}", "3:20", "n1 is still under fault 1 (kill n1 at 5s)"},
		{"faults:\n  - {at: 5s, kill: n1, restart_after: never}\n  - {at: 58s, kill: n1, restart_after: 1s}", "3:21", "still under fault 1"},
		{"nodes: 1\nfaults: [{at: 5s, wipe: n0, restart_after: 1s}]", "2:25", "three or five"},
		{"target: memory\nfaults: [{at: 5s, wipe: n0, restart_after: 1s}]", "2:25", "no data directory"},
		{"cluster: {ring_ops: 5}", "1:21", "cluster.ring_ops: must be from"},
		{"cluster: {tick: -5ms}", "1:17", "cluster.tick"},
		{"cluster: {segment_bytes: 1}", "1:26", "cluster.segment_bytes"},
		{"demands: {acked_share_min: 99.9}", "1:28", "no share"},
		{"demands: {repair_ops_min: -1}", "1:27", "negative"},
		{"demands: {late_p99_max: 0s}", "1:25", "more than 0"},
		{"partitions: 65", "1:13", "pass 1 to 64"},
		{"target: memory\npartitions: 2", "2:13", "one partition"},
		{"partitions: 2\nconsumers: {count: 1}", "1:13", "consumers read one partition"},
		{"partitions: 2\ndemands: {primary_gap_max: 1s}", "2:10", "one that stands still"},
		{"partitions: 2\ndemands: {extra_view_changes_max: 0}", "2:10", "one that stands still"},
		{"consumers: {count: 65}", "1:20", "pass 0 to 64"},
		{"consumers: {count: 1, replica: n3}", "1:32", "there are n0 to n2"},
		{"consumers: {replica: n1}", "1:22", "say count"},
		{"about: &a x\nname: *a", "1:8", "anchors and aliases"},
		{"- a\n- b", "", "not one mapping"},
		{"a: b\n---\nc: d", "", "not one mapping"},
		{"name: [", "", ""},
	} {
		_, err := parseScenario("test.yaml", []byte(test.text))
		if err == nil || !strings.HasPrefix(err.Error(), "test.yaml:"+test.at) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: error is %v, want %q at %q", test.text, err, test.want, test.at)
		}
	}
	if _, err := loadScenario("quack"); err == nil || !strings.Contains(err.Error(), "built in are") {
		t.Errorf("unknown name: %v", err)
	}
}

// A refusal shows the line and points at the place.
func TestScenarioRefusalPointsAtThePlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(path, []byte("name: mine\nfaults:\n  - {at: 1s, kill: n7, restart_after: 1s}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := loadScenario(path)
	want := path + `:3:20: faults[0].kill: node "n7": there are n0 to n2, primary, backup, unkilled and first
   1 | name: mine
   2 | faults:
>  3 |   - {at: 1s, kill: n7, restart_after: 1s}
                          ^`
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant\n%s", err, want)
	}
}

// Files that want to exhaust the reader are refused at once.
func TestScenarioHostileFiles(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'j'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", c-1), 9), ","))
	}
	for name, text := range map[string]string{
		"aliases":    bomb,
		"brackets":   strings.Repeat("[", 100_000),
		"dashes":     strings.Repeat("- ", 100_000) + "x",
		"questions":  strings.Repeat("? ", 50_000) + "x",
		"large":      "about: " + strings.Repeat("x", scenarioBytesMax),
		"indent":     indented(700),
		"many steps": "load:\n" + strings.Repeat("  - {for: 1s, messages_per_s: 30000}\n", loadStepsMax+1),
		"not utf-8":  "name: \xff\xfe\x00",
	} {
		began := time.Now()
		if _, err := parseScenario("hostile.yaml", []byte(text)); err == nil || len(err.Error()) > 4096 {
			t.Errorf("%s: error is %.200v", name, err)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
	}
}

func indented(levels int) string {
	var b strings.Builder
	for i := range levels {
		fmt.Fprintf(&b, "%sa:\n", strings.Repeat(" ", i))
	}
	return b.String()
}

func FuzzParseScenario(f *testing.F) {
	for _, name := range builtinScenarios() {
		text, _ := scenarioFiles.ReadFile("scenarios/" + name + ".yaml")
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := parseScenario("fuzz.yaml", text)
		if err != nil {
			return
		}
		printed, err := s.toYAML()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parseScenario("printed", printed); err != nil {
			t.Errorf("what was read is not read again: %v\n%s", err, printed)
		}
	})
}

// A scenario's producers must find room at one node, also where the default would have none.
func TestConnectionsFollowTheProducers(t *testing.T) {
	for producers, want := range map[int]int{12: 256, 1000: 1016} {
		s, err := parseScenario("test.yaml", []byte(fmt.Sprintf("producers: %d\nbatch_messages: 10", producers)))
		if err != nil {
			t.Fatal(err)
		}
		ports := make([]int, 3*s.Nodes)
		for i := range ports {
			ports[i] = portFirst + i
		}
		if config, _, err := clusterConfig(s, ports); err != nil || config.Limits.ClientConnections != want {
			t.Errorf("%d producers get %d connections, want %d: %v", producers, config.Limits.ClientConnections, want, err)
		}
	}
}

// TestScenarioErrorIsShort: a file may be one line of a quarter of a megabyte.
func TestScenarioErrorIsShort(t *testing.T) {
	for _, text := range []string{
		"name: " + strings.Repeat("a", 200_000),
		"nodes: 9 # " + strings.Repeat("a", 200_000),
		"faults: [" + strings.Repeat("{at: 1s, kill: n0, restart_after: 0s},", 3000) + "]",
	} {
		_, err := parseScenario("s.yaml", []byte(text))
		if err == nil || len(err.Error()) > 4*scenarioSaidMax {
			t.Errorf("%.40s…: error of %d bytes", text, len(fmt.Sprint(err)))
		}
	}
}

// TestScenarioEncodings: a mark of UTF-8 at the beginning changes nothing, also not the places in errors; other encodings are named.
func TestScenarioEncodings(t *testing.T) {
	s, err := parseScenario("marked.yaml", []byte("\ufeffname: marked\nproducers: 7\n"))
	if err != nil || s.Name != "marked" || s.Producers != 7 {
		t.Errorf("%+v, %v", s, err)
	}
	for text, want := range map[string]string{
		"\ufeffproduces: 12":           "bad.yaml:1:1: ",
		"\ufeff":                       "the file is empty",
		"\xff\xfen\x00a\x00m\x00e\x00": "save it as UTF-8",
		"\xfe\xff\x00n\x00a\x00m\x00e": "save it as UTF-8",
		"name: caf\xe9":                "no UTF-8; save it as UTF-8",
	} {
		if _, err := parseScenario("bad.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
