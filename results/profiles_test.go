package results

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
)

func TestProfileIndex(t *testing.T) {
	f := Folder{Dir: t.TempDir()}
	if _, err := f.ReadProfileIndex(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if err := os.Mkdir(f.Profiles(), 0o755); err != nil {
		t.Fatal(err)
	}
	want := ProfileEntry{Source: "n0", Kind: "cpu", Phase: Steady, Samples: 240, SecondsCovered: 8, File: new("n0-cpu-steady.pb.gz")}
	if err := f.WriteProfileIndex([]ProfileEntry{want, {Source: "n1", Kind: "cpu", Phase: Outage, Note: "no data: 37 samples"}}); err != nil {
		t.Fatal(err)
	}
	got, err := f.ReadProfileIndex()
	if err != nil || len(got) != 2 || *got[0].File != *want.File || got[0].Samples != 240 || got[1].File != nil || got[1].HTML != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if text, err := os.ReadFile(f.ProfileIndex()); err != nil || !strings.Contains(string(text), `"html": null`) {
		t.Errorf("%s, %v", text, err)
	}
	for _, outside := range []string{"../run.json", "/etc/passwd", `..\x`} {
		if err := f.WriteProfileIndex([]ProfileEntry{{File: &outside}}); err != nil {
			t.Fatal(err)
		}
		if _, err := f.ReadProfileIndex(); err == nil || !strings.Contains(err.Error(), "outside") {
			t.Errorf("%s: %v", outside, err)
		}
	}
}
