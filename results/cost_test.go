package results

import "testing"

// TestCostWatch: what lies outside of the measured phase does not count, samples across its borders count in part, and each process of a node
// begins at 0.
func TestCostWatch(t *testing.T) {
	const s = int64(1e9)
	w := CostWatch{FromNs: 2 * s, ToNs: 10 * s}
	add := func(node string, pid int, at, cpu int64) {
		w.Add(Status{Node: node, TNs: at, Pid: pid, CPUNs: &cpu})
	}
	add("n0", 1, 1*s, 500)
	add("n0", 1, 3*s, 700)  // half of it inside: 100
	add("n0", 1, 5*s, 800)  // 100
	add("n0", 2, 7*s, 50)   // a new process: 50
	add("n0", 2, 9*s, 90)   // 40
	add("n0", 2, 11*s, 190) // half: 50
	add("n0", 2, 13*s, 990)
	add("n1", 9, 4*s, 1000)
	add("n1", 9, 6*s, 1001) // 1
	w.Add(Status{Node: "n1", TNs: 6 * s, Up: true})
	if got := w.CPUNs(); got == nil || *got != 100+100+50+40+50+1 {
		t.Errorf("CPU %v, want 341", got)
	}
	var none CostWatch
	if none.CPUNs() != nil {
		t.Error("no sample, but a sum")
	}
}
