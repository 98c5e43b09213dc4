package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"rejoin/results"
	"rejoin/results/compare"
)

// plannedRun is how one run of a plan ended.
type plannedRun struct {
	// Folder is relative to the plan's; empty if the run made none.
	Folder   string `json:"folder"`
	ExitCode int    `json:"exit_code"`
}

// plannedRuns makes the runs of a plan, one after another, each a process.
type plannedRuns struct {
	dir    string // of the plan
	launch launch
}

// one makes a run whose folder lies in runs/ of the plan's, and whose output is a file beside that. The path of that file is returned, too. Of a
// run that lost nothing the nodes' data is removed.
func (p plannedRuns) one(ctx context.Context, name, binary string, args ...string) (plannedRun, string, error) {
	root, log := filepath.Join(p.dir, runsDir), filepath.Join(p.dir, name+".log")
	out, err := os.Create(log)
	if err != nil {
		return plannedRun{ExitCode: results.ExitUsage}, log, fmt.Errorf("open log of a run: %w", err)
	}
	defer out.Close()
	before := latestOf(root)
	code, err := p.launch(ctx, binary, append([]string{"--results", root}, args...), out)
	done := plannedRun{ExitCode: code}
	if err != nil {
		return done, log, err
	}
	if folder := latestOf(root); folder.Dir != "" && folder != before {
		done.Folder = filepath.Join(runsDir, folder.Name())
		dropData(folder, code)
	}
	return done, log, nil
}

// load reads the run of a plan in dir.
func (r plannedRun) load(dir string) (compare.Run, error) {
	if r.Folder == "" || !filepath.IsLocal(r.Folder) {
		return compare.Run{}, fmt.Errorf("exit code %d, and no folder of a run", r.ExitCode)
	}
	return compare.Load(results.Folder{Dir: filepath.Join(dir, r.Folder)})
}

const planBytesMax = 1 << 20

// readPlanFile reads a file that holds a plan of this bench's schema. Where there is no such file the error says fs.ErrNotExist.
func readPlanFile(path string, plan any, version *int) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("read plan: %w", err)
	}
	if info.Size() > planBytesMax {
		return fmt.Errorf("read %s: larger than %d bytes", path, planBytesMax)
	}
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, plan)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if *version != compare.SchemaVersion {
		return fmt.Errorf("read %s: schema version %d, this bench reads %d", path, *version, compare.SchemaVersion)
	}
	return nil
}
