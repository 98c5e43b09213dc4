package sim

import (
	"flag"
	"io"
	"os"
	"testing"
)

var (
	seedFlag  = flag.Uint64("sim.seed", 0, "play this seed only, with its trace")
	seedsFlag = flag.Uint64("sim.seeds", 30, "number of seeds")
	firstFlag = flag.Uint64("sim.first", 1, "first seed")
)

func TestOne(t *testing.T) {
	if *seedFlag == 0 {
		t.Skip()
	}
	var out io.Writer = os.Stdout
	rep, err := Run(*seedFlag, Options{Trace: out})
	t.Log(rep.Setup, rep.Coverage.String())
	if err != nil {
		t.Fatal(err)
	}
}

func TestSeeds(t *testing.T) {
	if *seedFlag != 0 {
		t.Skip()
	}
	var sum Coverage
	for seed := *firstFlag; seed < *firstFlag+*seedsFlag; seed++ {
		rep, err := Run(seed, Options{})
		if err != nil {
			t.Fatal(err)
		}
		sum.Add(&rep.Coverage)
	}
	t.Log(sum.String())
}
