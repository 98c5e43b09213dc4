package results

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Found is the machine and the build a run met: without equal ones two runs are not compared. A fact that could not be read is empty or
// null and named in Missing.
type Found struct {
	Cores       int    `json:"cores"`
	GoMaxProcs  int    `json:"go_max_procs"`
	CPU         string `json:"cpu"`
	MemoryBytes *int64 `json:"memory_bytes"`
	Kernel      string `json:"kernel"`
	Arch        string `json:"arch"`
	BootID      string `json:"boot_id"`

	DataDir       string `json:"data_dir"`
	FileSystem    string `json:"file_system"`
	Tmpfs         bool   `json:"tmpfs"`
	DiskFreeBytes *int64 `json:"disk_free_bytes"`

	GoVersion string `json:"go_version"`
	Commit    string `json:"commit"`
	Dirty     bool   `json:"dirty"`
	Race      bool   `json:"race"`
	// BuildSettings are the compiler's settings that change speed.
	BuildSettings map[string]string `json:"build_settings,omitempty"`

	Missing []string `json:"missing,omitempty"`
}

// Probe fills Found. It never fails: a run on a machine that hides a fact is still a run, and says what is missing.
func Probe(dataDir string) Found {
	f := Found{
		Cores: runtime.NumCPU(), GoMaxProcs: runtime.GOMAXPROCS(0), Arch: runtime.GOARCH,
		DataDir: dataDir, GoVersion: runtime.Version(),
	}
	f.probeMachine()
	f.probeDisk()
	f.probeBuild()
	return f
}

func (f *Found) miss(what string, err error) {
	f.Missing = append(f.Missing, fmt.Sprintf("%s: %v", what, err))
}

func (f *Found) probeMachine() {
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		f.miss("kernel", err)
	} else {
		f.Kernel = unix.ByteSliceToString(uts.Release[:])
	}
	if v, err := procField("/proc/cpuinfo", "model name"); err != nil {
		f.miss("cpu", err)
	} else {
		f.CPU = v
	}
	if v, err := procField("/proc/meminfo", "MemTotal"); err != nil {
		f.miss("memory", err)
	} else if kb, err := strconv.ParseInt(strings.TrimSuffix(v, " kB"), 10, 64); err != nil {
		f.miss("memory", err)
	} else {
		f.MemoryBytes = new(kb << 10)
	}
	if b, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err != nil {
		f.miss("boot_id", err)
	} else {
		f.BootID = strings.TrimSpace(string(b))
	}
}

// procField returns the value of the first "key : value" line of a file of /proc.
func procField(path, key string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		k, v, ok := strings.Cut(lines.Text(), ":")
		if ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v), nil
		}
	}
	if err := lines.Err(); err != nil {
		return "", err
	}
	return "", fmt.Errorf("%s has no field %q", path, key)
}

// fileSystems names the magic numbers of statfs(2) that a data directory is likely to lie on.
var fileSystems = map[int64]string{
	unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs", unix.TMPFS_MAGIC: "tmpfs",
	unix.OVERLAYFS_SUPER_MAGIC: "overlay", unix.F2FS_SUPER_MAGIC: "f2fs", unix.NFS_SUPER_MAGIC: "nfs", unix.RAMFS_MAGIC: "ramfs",
	unix.FUSE_SUPER_MAGIC: "fuse", 0x2fc12fc1: "zfs",
}

func (f *Found) probeDisk() {
	var st unix.Statfs_t
	if err := unix.Statfs(f.DataDir, &st); err != nil {
		f.miss("file_system", err)
		return
	}
	name, ok := fileSystems[int64(st.Type)]
	if !ok {
		name = fmt.Sprintf("0x%x", st.Type)
	}
	f.FileSystem = name
	f.Tmpfs = name == "tmpfs" || name == "ramfs" // in memory both: an fdatasync there proves nothing
	f.DiskFreeBytes = new(int64(st.Bavail) * st.Bsize)
}

func (f *Found) probeBuild() {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		f.Missing = append(f.Missing, "build: binary carries no build information")
		return
	}
	f.BuildSettings = map[string]string{}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			f.Commit = s.Value
		case "vcs.modified":
			f.Dirty = s.Value == "true"
		case "-race":
			f.Race = s.Value == "true"
		case "-gcflags", "-ldflags", "-pgo", "-tags", "CGO_ENABLED", "GOAMD64", "GOARM64", "GOEXPERIMENT", "-cover", "-asan", "-msan":
			f.BuildSettings[s.Key] = s.Value
		}
	}
	if f.Commit == "" {
		f.Missing = append(f.Missing, "commit: built outside a checkout or with -buildvcs=false")
	}
}

// Warnings are plain sentences about what makes the figures of this machine or build hard to believe.
func (f *Found) Warnings() []string {
	var w []string
	if f.Tmpfs {
		w = append(w, fmt.Sprintf("data directory %s is in memory (%s): a sync costs and proves nothing there", f.DataDir, f.FileSystem))
	}
	if f.Race {
		w = append(w, "race build: several times slower than a normal one")
	}
	if f.Dirty {
		w = append(w, "built from a dirty checkout: the commit does not name this code")
	}
	if f.Commit == "" {
		w = append(w, "commit unknown: the figures belong to no version")
	}
	return w
}
