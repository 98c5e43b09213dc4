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

// builds are the two binaries of an A/B test, and the tree of the revision.
type builds struct {
	root    string // of the checkout
	scratch string // temporary folder: the revision's tree and both binaries
	a, b    builtBench
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

// newBuilds builds revision rev in a tree of its own and the checkout around the working directory as it is.
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
	// A clone that shares the objects, and not a linked worktree: go build stamps no commit into what it builds in one of those, and nothing has
	// to be undone in the user's repository, however this ends.
	tree := filepath.Join(b.scratch, "revision")
	if _, err := git(ctx, b.root, "clone", "--quiet", "--shared", "--no-checkout", b.root, tree); err != nil {
		return fmt.Errorf("check out %s: %w", b.a.Label, err)
	}
	if _, err := git(ctx, tree, "checkout", "--quiet", "--detach", b.a.Commit); err != nil {
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

// close removes the revision's tree and the binaries.
func (b *builds) close() { _ = os.RemoveAll(b.scratch) }

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
