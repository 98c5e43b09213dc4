package partition

import (
	"rejoin/server/journal"
	"rejoin/server/vsr"
)

// SavedLives are the lives that a partition's state tells of. They are wanted before the log is opened; what cannot
// be read yet counts as none, and OpenDisk will say why.
func SavedLives(o DiskOptions) (lives vsr.Lives) {
	d := &Disk{options: o}
	for _, dir := range [...]string{d.readyDir(), o.Journal.Dir} { // a switch that a crash interrupted is finished only later
		o.Journal.Dir = dir
		state, err := journal.ReadState(o.Journal)
		if err != nil {
			continue
		}
		for i, boot := range state.Lives {
			lives[i] = max(lives[i], boot)
		}
	}
	return lives
}
