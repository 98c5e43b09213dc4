// Command bench stands for the real one where a test tries how two revisions are built and run in turn: it needs a second to build, not a
// minute. Its run is a copy of the prepared one that PREPARED_RUN names, with the commit that its build was stamped with.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"
)

// tree tells in the log which source was built.
const tree = "as committed"

func main() {
	fmt.Println("built from the tree", tree)
	if err := run(os.Args[2]); err != nil { // --results ROOT run …
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

func run(root string) error {
	before, _ := filepath.Glob(filepath.Join(root, "2*")) // the pattern is a good one
	name := fmt.Sprintf("20260102T0304%02dZ-builtin-steady", len(before))
	if err := os.CopyFS(filepath.Join(root, name), os.DirFS(os.Getenv("PREPARED_RUN"))); err != nil {
		return err
	}
	if err := stamp(filepath.Join(root, name, "run.json")); err != nil {
		return err
	}
	latest := filepath.Join(root, "latest")
	if err := os.Remove(latest); err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.Symlink(name, latest)
}

func stamp(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var record map[string]any
	if err := json.Unmarshal(text, &record); err != nil {
		return err
	}
	record["started_at"] = time.Now()
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				record["found"].(map[string]any)["commit"] = s.Value
			}
		}
	}
	if text, err = json.Marshal(record); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}
