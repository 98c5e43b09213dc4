package results

import (
	"fmt"
	"os"
	"time"
)

// CreateGroup makes <kind>-<utc>-<scenario>/ under root (made if missing) for what belongs to several runs: a comparison, a repetition. Its
// name does not begin like a run's, so that lists of runs pass it by.
func CreateGroup(root, kind, scenario string, now time.Time) (dir string, err error) {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", fmt.Errorf("create folder of a %s: %w", kind, err)
	}
	dir, err = mkdirFresh(root, kind+"-"+now.UTC().Format(utcLayout)+"-"+slug(scenario))
	if err != nil {
		return "", fmt.Errorf("create folder of a %s: %w", kind, err)
	}
	return dir, nil
}
