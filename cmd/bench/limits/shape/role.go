package shape

import "os"

// Roles of processes.
const (
	RolePrimary   = "shape-primary"
	RoleBackup    = "shape-backup"
	RoleProducers = "shape-producers"
)

// Serve is the process of a role, until its standard input ends; known says whether there is one of that name.
func Serve(role, settings string) (known bool, err error) {
	switch role {
	case RolePrimary:
		return true, runPrimary(settings, os.Stdin, os.Stdout)
	case RoleBackup:
		return true, runBackup(settings, os.Stdin, os.Stdout)
	case RoleProducers:
		return true, runProducers(settings, os.Stdin, os.Stdout)
	}
	return false, nil
}
