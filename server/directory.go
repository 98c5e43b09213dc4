package server

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"rejoin/server/journal"
	"rejoin/server/peer"
	"rejoin/server/vsr"
)

// nodeStateFile holds what a node must know of its data directory, little-endian:
//
//	 0  cluster   u64
//	 8  fixed     u64  Config.FixedDigest
//	16  replica   u32
//	20  format    u8   peer.Format
//	21  zero      3 bytes
//	24  boot      u64  counter of starts; the incarnation
//	32  machine   36 bytes, as text: boot id of the machine when all groups were last recovered
const (
	nodeStateFile  = "node.state"
	nodeStateBytes = 68
	eventsFile     = "events.ndjson"
	bootIDFile     = "/proc/sys/kernel/random/boot_id"
)

// directory is a node's data directory.
type directory struct {
	fs          journal.FS
	lock        *os.File           // of the directory itself, as long as this process uses it
	file        *journal.StateFile // nil while blank
	cluster     uint64
	fixed       uint64
	replica     uint32
	format      peer.Format
	incarnation vsr.Incarnation
	machine     string // as saved; it becomes machineNow only with settled
	machineNow  string // boot id of the machine now
	sameBoot    bool   // the machine has not restarted since this directory was last used
}

// openDirectory reads the directory's state and counts this start, durably, before anybody hears
// of it.
func openDirectory(root string, c *Config, id int) (*directory, error) {
	path, err := filepath.Abs(root)
	if err == nil {
		err = journal.MkdirMissing(journal.OS("/"), path) // by its full name, which errors tell
	}
	if err != nil {
		return nil, fmt.Errorf("data directory: %w; pass another --data or mend its permissions", err)
	}
	lock, err := lockDirectory(root)
	if err != nil {
		return nil, err
	}
	d, err := readDirectory(root, c, id)
	if err != nil {
		_ = lock.Close() // opened for reading only
		return nil, err
	}
	d.lock = lock
	return d, nil
}

// lockDirectory keeps two processes from using one directory: they would write over each other. The
// kernel lets go of the lock when the process ends, however it does.
func lockDirectory(root string) (*os.File, error) {
	f, err := os.Open(root)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w; pass another --data or mend its permissions", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close() // opened for reading only
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("data directory %s is in use by another process; stop that node, or pass another --data", root)
		}
		return nil, fmt.Errorf("lock the data directory: %w", &os.PathError{Op: "flock", Path: root, Err: err})
	}
	return f, nil
}

func readDirectory(root string, c *Config, id int) (*directory, error) {
	machine, err := os.ReadFile(bootIDFile)
	if err != nil {
		return nil, fmt.Errorf("read the machine's boot id: %w", err)
	}
	d := &directory{fs: journal.OS(root), cluster: c.ClusterID(), fixed: c.FixedDigest(), replica: uint32(id),
		format: peer.FormatBlank, machineNow: strings.TrimSpace(string(machine))}
	d.incarnation = vsr.Incarnation{Boot: 1, Nonce: nonce()}
	file, payload, err := journal.OpenStateFile(d.fs, nodeStateFile, nodeStateBytes)
	if errors.Is(err, fs.ErrNotExist) {
		if err := mustBeEmpty(d.fs, root); err != nil {
			return nil, err
		}
		return d, nil
	}
	if errors.Is(err, journal.ErrUnreadable) {
		return nil, fmt.Errorf("%w; the directory cannot be trusted: restore it, or start with an empty one, which is filled from the peers", err)
	}
	if err != nil {
		return nil, fmt.Errorf("data directory: %w; mend the disk or its mount and start again", err)
	}
	d.file = file
	if err := d.load(payload, c.Cluster); err != nil {
		_ = file.Close() // nothing was written
		return nil, err
	}
	d.incarnation.Boot++
	if err := d.save(); err != nil {
		_ = file.Close() // refused already
		return nil, fmt.Errorf("count this start: %w", err)
	}
	return d, nil
}

// mustBeEmpty refuses a directory without a state that holds anything: it may be somebody else's, or a node's whose
// state was lost, and that has acknowledged what lies there. A start that ended before the directory was formatted
// leaves its events, and perhaps half a state.
func mustBeEmpty(fsys journal.FS, root string) error {
	names, err := fsys.List(".")
	if err != nil {
		return fmt.Errorf("data directory: %w; mend its permissions or its mount and start again", err)
	}
	for _, name := range names {
		switch name {
		case "lost+found", eventsFile, eventsFile + ".1", nodeStateFile + ".tmp":
		default:
			return fmt.Errorf("data directory %s holds %q and no %s, so it is neither empty nor known to be this node's; pass an empty directory as --data, or, where a node has used this one, restore its %s",
				root, name, nodeStateFile, nodeStateFile)
		}
	}
	return nil
}

func nonce() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}

func (d *directory) load(b []byte, cluster string) error {
	if len(b) != nodeStateBytes {
		return fmt.Errorf("%s holds %d bytes instead of %d; it was written by another version", nodeStateFile, len(b), nodeStateBytes)
	}
	le := binary.LittleEndian
	switch {
	case le.Uint64(b) != d.cluster:
		return fmt.Errorf("this data directory belongs to another cluster than %q; pass the directory of this one", cluster)
	case le.Uint32(b[16:]) != d.replica:
		return fmt.Errorf("this data directory belongs to node %d, not to node %d; pass the right --id or --data", le.Uint32(b[16:]), d.replica)
	case le.Uint64(b[8:]) != d.fixed:
		return errors.New("this data directory was formatted with other topics or another limits.pipeline_ops; both are fixed then: restore the cluster file, or start a new cluster")
	}
	d.format = peer.Format(b[20])
	d.incarnation.Boot = le.Uint64(b[24:])
	d.machine = string(b[32:])
	d.sameBoot = d.machine == d.machineNow
	return nil
}

func (d *directory) encode() []byte {
	b := make([]byte, nodeStateBytes)
	le := binary.LittleEndian
	le.PutUint64(b, d.cluster)
	le.PutUint64(b[8:], d.fixed)
	le.PutUint32(b[16:], d.replica)
	b[20] = byte(d.format)
	le.PutUint64(b[24:], d.incarnation.Boot)
	copy(b[32:], d.machine)
	return b
}

// settled saves on which machine this directory is used, once what a restart of the machine means is
// saved in every group: a start that ends before leaves it to the next one to find out.
func (d *directory) settled() error {
	if d.machine == d.machineNow {
		return nil
	}
	d.machine = d.machineNow
	return d.save()
}

func (d *directory) save() error {
	if d.file != nil {
		return d.file.Save(d.encode())
	}
	file, err := journal.CreateStateFile(d.fs, nodeStateFile, nodeStateBytes, d.encode())
	d.file = file
	return err
}

func (d *directory) close() error {
	defer d.lock.Close()
	if d.file == nil {
		return nil
	}
	return d.file.Close()
}
