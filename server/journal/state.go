package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"

	"rejoin/server/vsr"
)

// State is what a replica must know after a restart besides its log. LogView <= View.
type State struct {
	View    uint64
	LogView uint64 // view whose log was last adopted in full
	Commit  vsr.ID // a hint: this op is committed; the mark may hold a later one

	// Wiped: the replica has forgotten what it acknowledged above WipedAbove (0 for all of it), and
	// neither votes nor acknowledges until it has caught up by the rule of a quorum.
	Wiped      bool
	WipedAbove uint64

	Lives vsr.Lives
}

// The payload of the file state, little-endian:
//
//	 0  version  u32  2
//	 4  group    u32
//	 8  cluster  u64
//	16  view, log_view, commit op, commit sum  u64 each
//	48  flags    u64  1 wiped
//	56  wiped_above  u64
//	64  lives    u64 for each of 5 replicas, boot counters
//
// Version 1 ends before the lives: none were known durably. It is read, and never written.
const (
	stateVersion    = 2
	stateBytes      = stateBytesFirst + 8*vsr.ReplicasMax
	stateBytesFirst = 64 // of version 1
	stateWipedBit   = 1
)

func putState(b []byte, cluster uint64, group uint32, s *State) {
	le := binary.LittleEndian
	le.PutUint32(b, stateVersion)
	le.PutUint32(b[4:], group)
	le.PutUint64(b[8:], cluster)
	le.PutUint64(b[16:], s.View)
	le.PutUint64(b[24:], s.LogView)
	le.PutUint64(b[32:], s.Commit.Op)
	le.PutUint64(b[40:], s.Commit.Sum)
	flags := uint64(0)
	if s.Wiped {
		flags |= stateWipedBit
	}
	le.PutUint64(b[48:], flags)
	le.PutUint64(b[56:], s.WipedAbove)
	for i, boot := range s.Lives {
		le.PutUint64(b[stateBytesFirst+8*i:], boot)
	}
}

func parseState(b []byte, cluster uint64, group uint32) (State, error) {
	le := binary.LittleEndian
	if len(b) < stateBytesFirst || len(b) != bytesOfVersion(le.Uint32(b)) {
		return State{}, fmt.Errorf("state of %d bytes: %w: unknown version", len(b), ErrUnreadable)
	}
	if c, g := le.Uint64(b[8:]), le.Uint32(b[4:]); c != cluster || g != group {
		return State{}, fmt.Errorf("%w: state is of cluster %016x group %d, not %016x group %d", ErrForeign, c, g, cluster, group)
	}
	s := State{View: le.Uint64(b[16:]), LogView: le.Uint64(b[24:]), WipedAbove: le.Uint64(b[56:]),
		Commit: vsr.ID{Op: le.Uint64(b[32:]), Sum: le.Uint64(b[40:])}}
	flags := le.Uint64(b[48:])
	s.Wiped = flags&stateWipedBit != 0
	for at := stateBytesFirst; at < len(b); at += 8 {
		s.Lives[(at-stateBytesFirst)/8] = le.Uint64(b[at:])
	}
	if flags&^stateWipedBit != 0 || s.LogView > s.View {
		return State{}, fmt.Errorf("state with flags %x, log_view %d in view %d: %w", flags, s.LogView, s.View, ErrUnreadable)
	}
	return s, nil
}

// bytesOfVersion is how long a state of that version is; 0: no version that is known.
func bytesOfVersion(version uint32) int {
	switch version {
	case 1:
		return stateBytesFirst
	case stateVersion:
		return stateBytes
	}
	return 0
}

// SaveState makes s durable, in two copies, before it returns.
func (l *Log) SaveState(s State) error {
	if err := l.failed(); err != nil {
		return err
	}
	if s.LogView > s.View {
		panic(fmt.Sprintf("journal: save log_view %d above view %d", s.LogView, s.View))
	}
	var b [stateBytes]byte
	putState(b[:], l.cluster, l.group, &s)
	return l.fail(l.state.Save(b[:]))
}

// openState reads the state, or makes one in a directory that never had one. A log without a state
// is not blank: it must not be taken for a replica that never acknowledged anything.
func (l *Log) openState(r *Recovered, haveSegments bool) error {
	name := l.path("state")
	sf, payload, err := OpenStateFile(l.fs, name, stateBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist) && haveSegments:
		return fmt.Errorf("%s is missing beside segment files: %w", name, ErrUnreadable)
	case errors.Is(err, fs.ErrNotExist):
		r.New = true
		var b [stateBytes]byte
		putState(b[:], l.cluster, l.group, &State{})
		l.state, err = CreateStateFile(l.fs, name, stateBytes, b[:])
		return err
	case err != nil:
		return err
	}
	l.state = sf
	r.State, err = parseState(payload, l.cluster, l.group)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	// What was read may stand in one copy only, or in a page whose sync has failed: write it again.
	return sf.Save(payload)
}

// ReadState reads the state of a log that Open refuses, and changes nothing.
func ReadState(o Options) (State, error) {
	l := &Log{fs: o.FS, dir: o.Dir}
	sf, payload, err := OpenStateFile(l.fs, l.path("state"), stateBytes)
	if err != nil {
		return State{}, err
	}
	defer sf.Close()
	return parseState(payload, o.Cluster, o.Group)
}
