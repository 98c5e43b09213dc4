package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// buildFlags are those of both builds. Profile-guided optimisation would hold the revision's profile against another source.
var buildFlags = []string{"-pgo=off", "-buildvcs=auto"}

// builds are the two binaries of an A/B test, and the worktree of the revision.
type builds struct {
	root     string // of the checkout
	scratch  string // temporary folder: worktree and binaries
	worktree string // "" until it was added
	a, b     builtBench
}

type builtBench struct {
	abBuild
	binary string
}

func (b abBuild) text() string {
	text := b.Label
	if short := b.Commit[:min(12, len(b.Commit))]; short != "" && short != b.Label {
		text += " (" + short + ")"
	}
	if b.Dirty {
		text += ", with uncommitted changes"
	}
	return text
}

// newBuilds builds revision rev in a worktree and the checkout around the working directory as it is.
func newBuilds(ctx context.Context, rev string) (*builds, error) {
	root, err := git(ctx, ".", "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, fmt.Errorf("bench ab builds from a git checkout of Rejoin, run it inside one: %w", err)
	}
	commit, err := git(ctx, root, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
	if err != nil {
		return nil, fmt.Errorf("%q is no revision of %s: name a commit, a branch or a tag", rev, root)
	}
	head, err := git(ctx, root, "rev-parse", "HEAD")
	if err != nil {
		return nil, err
	}
	changes, err := git(ctx, root, "status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return nil, err
	}
	b := &builds{root: root}
	b.a.abBuild = abBuild{Label: rev, Commit: commit, Flags: buildFlags}
	b.b.abBuild = abBuild{Label: "working tree", Commit: head, Dirty: changes != "", Flags: buildFlags}
	if err := b.make(ctx); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *builds) make(ctx context.Context) (err error) {
	if b.scratch, err = os.MkdirTemp("", "rejoin-ab-"); err != nil {
		return fmt.Errorf("make a folder for the builds: %w", err)
	}
	tree := filepath.Join(b.scratch, "revision")
	b.worktree = tree // also if adding fails half-way
	if _, err := git(ctx, b.root, "worktree", "add", "--detach", tree, b.a.Commit); err != nil {
		return fmt.Errorf("check out %s: %w", b.a.Label, err)
	}
	b.a.binary, b.b.binary = filepath.Join(b.scratch, "bench-a"), filepath.Join(b.scratch, "bench-b")
	if err := goBuild(ctx, tree, b.a.binary); err != nil {
		return fmt.Errorf("build %s: %w", b.a.Label, err)
	}
	if err := goBuild(ctx, b.root, b.b.binary); err != nil {
		return fmt.Errorf("build the working tree: %w", err)
	}
	return nil
}

// removeLimit is how long git may take to remove the worktree, also after an interrupt.
const removeLimit = 30 * time.Second

// close removes worktree and binaries.
func (b *builds) close() {
	ctx, cancel := context.WithTimeout(context.Background(), removeLimit)
	defer cancel()
	if b.worktree != "" {
		_, _ = git(ctx, b.root, "worktree", "remove", "--force", b.worktree)
	}
	_ = os.RemoveAll(b.scratch)
	if b.worktree != "" {
		_, _ = git(ctx, b.root, "worktree", "prune") // forgets one that git could not remove itself
	}
}

func goBuild(ctx context.Context, dir, binary string) error {
	args := append([]string{"build"}, buildFlags...)
	_, err := command(ctx, dir, "go", append(args, "-o", binary, "./cmd/bench")...)
	return err
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	return command(ctx, dir, "git", args...)
}

// command runs a tool and returns what it printed; the error holds the end of what it said.
func command(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err == nil {
		return strings.TrimSpace(string(out)), nil
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return "", fmt.Errorf("%s %s: %s", name, args[0], strings.TrimSpace(string(exit.Stderr)))
	}
	return "", fmt.Errorf("%s %s: %w", name, args[0], err)
}
