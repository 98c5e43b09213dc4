package partition

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"rejoin/server/journal"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// ErrTableLost says that the client table cannot be told any more: neither from a checkpoint nor from the
// log, whose beginning is not there. A table made from what is left would take retries for new requests.
var ErrTableLost = errors.New("the client table is lost")

// Past is what a node knows of a replica's last life beside the log that is left of it.
type Past struct {
	SameBoot  bool // the machine has not restarted since: what was written is there, synced or not
	Forgotten bool // the log that it acknowledged is lost as a whole
}

// Boot turns what the journal recovered into what the state machine starts from. It replays the
// headers above the last checkpoint of the client table, up to commit. Whether this replica has
// forgotten what it acknowledged is decided here, by its past, by what acknowledgements rest on, and by
// a mark that was lost with the log's end; that is durable before Boot returns.
func Boot(log *journal.Log, rec *journal.Recovered, c *vsr.Config, past Past) (vsr.Boot, error) {
	if !c.SyncRequired && (!past.SameBoot || rec.WasFenced) { // a fence drops what was only written
		if err := loseUnsynced(log, rec); err != nil {
			return vsr.Boot{}, err
		}
	}
	b, err := load(log, rec, c)
	for errors.Is(err, journal.ErrDamaged) { // met by reading what recovery had taken from an index
		before := rec.Holes
		if rec.Holes = log.Holes(); slices.Equal(rec.Holes, before) {
			return b, err
		}
		b, err = load(log, rec, c)
	}
	if err != nil {
		return b, err
	}
	b.State = vsr.State{View: rec.State.View, LogView: rec.State.LogView, Wiped: rec.State.Wiped || past.Forgotten || rec.TopUnknown, Kept: rec.State.WipedAbove, Lives: rec.State.Lives}
	if err := saveWiped(log, rec, &b); err != nil {
		return b, err
	}
	if rec.WasFenced || rec.TopUnknown { // what these mean for the replica is saved
		return b, log.Unfence()
	}
	return b, nil
}

// load reads what the state machine must know of the log.
func load(log *journal.Log, rec *journal.Recovered, c *vsr.Config) (vsr.Boot, error) {
	b := vsr.Boot{Start: rec.Start}
	if err := tableReaches(rec); err != nil { // before anything is changed
		return b, err
	}
	commit := knownCommit(rec, c.PipelineOps)
	held, top, err := cutDamage(log, rec)
	if err != nil {
		return b, err
	}
	if err := tableReaches(rec); err != nil {
		return b, err
	}
	commit = min(commit, held)
	b.Head, b.Top = vsr.ID{Op: held, Sum: c.RootSum}, top
	for _, h := range rec.Holes { // what is left of them lies below the client table: committed
		if h.First <= commit {
			b.Holes = append(b.Holes, vsr.OpRange{From: h.First, To: min(h.Last, commit)})
		}
	}
	if err := loadTail(log, rec, &b, commit, held, c.RootSum); err != nil {
		return b, err
	}
	b.Table, err = loadTable(log, rec, b.Commit, c.RootSum, c.SessionsMax)
	return b, err
}

// saveWiped makes sure that the next start knows, too: this one may end before it saves anything else.
func saveWiped(log *journal.Log, rec *journal.Recovered, b *vsr.Boot) error {
	if !b.State.Wiped || rec.State.Wiped {
		return nil
	}
	s := rec.State
	s.Wiped = true
	if err := log.SaveState(s); err != nil {
		return fmt.Errorf("save that this replica has forgotten what it acknowledged: %w", err)
	}
	return nil
}

// loseUnsynced makes a recovered replica one that has forgotten what it acknowledged above its durable
// mark, durably. It is for a topic whose acknowledgements rest on writes.
func loseUnsynced(log *journal.Log, rec *journal.Recovered) error {
	if rec.New || rec.State.Wiped {
		return nil
	}
	// A mark of 0 says that none was synced, not that nothing was acknowledged; and 0 stands for a lost
	// directory.
	rec.State.Wiped, rec.State.WipedAbove = true, max(rec.Mark.ID.Op, 1)
	if err := log.SaveState(rec.State); err != nil {
		return fmt.Errorf("save that un-synced writes may be lost: %w", err)
	}
	return nil
}

// knownCommit is the highest op that is known to be committed: a saved one, that of a checkpoint, or
// the one a pipeline below the highest op ever stamped.
func knownCommit(rec *journal.Recovered, pipeline uint64) uint64 {
	commit := max(rec.State.Commit.Op, rec.Mark.Commit.Op, tableOp(rec))
	if rec.Top > pipeline {
		commit = max(commit, rec.Top-pipeline)
	}
	return commit
}

// tableOp is the op of the checkpoint, or 0 where none can be used: one of an op that is damaged now
// is of no use, since the log will end below it.
func tableOp(rec *journal.Recovered) uint64 {
	if t := rec.Table(); t != nil {
		return t.ID.Op
	}
	return 0
}

// tableReaches tells whether checkpoint and log together tell of every op.
func tableReaches(rec *journal.Recovered) error {
	if tableOp(rec)+1 >= rec.Start {
		return nil
	}
	if u := rec.UnreadTable(); u != nil {
		return unreadTable(u)
	}
	return fmt.Errorf("%w: the log begins at op %d and is whole up to op %d, and no checkpoint between tells who had written what below", ErrTableLost, rec.Start, rec.Held.Op)
}

// unreadTable refuses a start without a checkpoint that may be whole: it would give up good copies of ops for good,
// perhaps the last ones.
func unreadTable(u *journal.Unread) error {
	return fmt.Errorf("the log cannot be told without the checkpoint of the client table at op %d, which could not be read now: %w; nothing was given up, so start again. If that does not help, the disk is failing; a node with peers can start with an empty data directory, which it fills from them", u.Op, u.Err)
}

// cutDamage ends the log below the first damaged op above the client table's checkpoint: without it
// neither the table nor the chain of what is uncommitted could be told. What was above stays on record
// as damaged, and is fetched again. Damage below the checkpoint is left, to be filled in its place.
func cutDamage(log *journal.Log, rec *journal.Recovered) (held uint64, top vsr.ID, err error) {
	top = topOf(rec)
	for {
		held = heldBelowDamage(rec)
		if held == rec.Held.Op {
			return held, top, nil
		}
		if u := rec.UnreadTable(); u != nil && u.Op > held {
			return 0, top, unreadTable(u)
		}
		if err := log.CutKeeping(held, top); err != nil {
			return 0, top, fmt.Errorf("cut the log below damage at op %d: %w", held+1, err)
		}
		rec.Held = log.Written() // perhaps lower still: a log does not end in a hole, and may lose the checkpoint so
	}
}

// heldBelowDamage is the op at which the log must end.
func heldBelowDamage(rec *journal.Recovered) uint64 {
	held := rec.Held.Op
	for _, h := range rec.Holes {
		if h.First <= rec.Held.Op && h.Last > tableOp(rec) {
			held = min(held, max(h.First, tableOp(rec)+1)-1)
		}
	}
	return held
}

func topOf(rec *journal.Recovered) vsr.ID {
	if rec.Top <= rec.Held.Op {
		return rec.Held
	}
	top := vsr.ID{Op: rec.Top}
	if n := len(rec.Tail); n > 0 && rec.Tail[n-1].Op == rec.Top {
		top.Sum = rec.Tail[n-1].Header.Sum
	}
	return top
}

// loadTail reads the headers of (commit, held], and that of commit itself.
func loadTail(log *journal.Log, rec *journal.Recovered, b *vsr.Boot, commit, held, root uint64) error {
	b.Commit = vsr.ID{Op: commit, Sum: root}
	if held == 0 {
		return nil
	}
	first := max(commit, 1)
	if t := rec.Table(); t != nil && commit == t.ID.Op { // it may be damaged itself; its checkpoint tells all that is needed
		b.Commit, b.Offset, b.Head = t.ID, t.NextOffset, t.ID
		first = commit + 1
	}
	err := log.Headers(first, held, func(h *vsr.Header) error {
		if h.Op == commit {
			b.Commit, b.Offset = h.ID(), h.NextOffset()
		}
		b.Tail = append(b.Tail, *h)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the headers of ops %d to %d: %w", first, held, err)
	}
	if n := len(b.Tail); n > 0 {
		b.Head = b.Tail[n-1].ID()
	}
	if b.Top.Op <= b.Head.Op {
		b.Top = b.Head
	}
	return nil
}

// loadTable brings the last checkpoint of the client table up to commit.
func loadTable(log *journal.Log, rec *journal.Recovered, commit vsr.ID, root uint64, sessionsMax int) (vsr.Table, error) {
	t := vsr.Table{ID: vsr.ID{Sum: root}}
	if last := rec.Table(); last != nil && last.ID.Op <= commit.Op {
		entries, err := decodeTable(last.Bytes)
		if err != nil {
			return t, fmt.Errorf("checkpoint of the client table at op %d: %w", last.ID.Op, err)
		}
		t = vsr.Table{ID: last.ID, Offset: last.NextOffset, Entries: entries}
	}
	if t.ID.Op >= commit.Op {
		return t, nil
	}
	replay := vsr.NewReplay(sessionsMax, t)
	err := log.Headers(max(t.ID.Op+1, rec.Start), commit.Op, func(h *vsr.Header) error {
		replay.Commit(h)
		return nil
	})
	if err != nil {
		return t, fmt.Errorf("replay the headers of ops %d to %d: %w", t.ID.Op+1, commit.Op, err)
	}
	return replay.Table(), nil
}

// A client table, encoded: the number of sessions u32, then each session u64 with its last frame's
// 128-byte header.
const sessionBytes = 8 + wire.HeaderBytes

func encodeTable(t *vsr.Table) []byte {
	out := make([]byte, 4, 4+len(t.Entries)*sessionBytes)
	binary.LittleEndian.PutUint32(out, uint32(len(t.Entries)))
	for i := range t.Entries {
		e := &t.Entries[i]
		out = binary.LittleEndian.AppendUint64(out, e.Session)
		at := len(out)
		out = append(out, make([]byte, wire.HeaderBytes)...)
		wire.PutHeader(out[at:], &e.Last)
	}
	return out
}

func decodeTable(b []byte) ([]vsr.Session, error) {
	if len(b) < 4 || uint64(len(b)-4) != uint64(binary.LittleEndian.Uint32(b))*sessionBytes {
		return nil, fmt.Errorf("%w: %d bytes are no client table", wire.ErrFormat, len(b))
	}
	var out []vsr.Session
	for b = b[4:]; len(b) > 0; b = b[sessionBytes:] {
		h, err := wire.ParseSealed(b[8:])
		if err != nil {
			return nil, err
		}
		out = append(out, vsr.Session{Session: binary.LittleEndian.Uint64(b), Last: h})
	}
	return out, nil
}
