package journal_test

import (
	"errors"
	"syscall"
	"testing"

	"rejoin/server/journal"
	"rejoin/server/journal/faultfs"
)

// What an operating system answers for want of descriptors or memory says nothing about the bytes: no op is lost by
// it, and the next try finds them.
func TestNoDamageForWantOfADescriptor(t *testing.T) {
	for _, answer := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM} {
		for name, fault := range map[string]faultfs.Fault{
			"to open a segment": {Verb: faultfs.VerbOpen, Name: ".seg", Err: answer},
			"to read a segment": {Verb: faultfs.VerbRead, Name: ".seg", Err: answer},
		} {
			x := segmented(t)
			x.crash()
			x.fs.Inject(fault)
			if _, _, err := x.log.ReadFrame(3, nil); !errors.Is(err, answer) || errors.Is(err, journal.ErrDamaged) {
				t.Errorf("%v %s: %v", answer, name, err)
			}
			x.wantHoles()
			x.wantHeld(1, 40)
		}
	}
}

// A file system and a disk have words of their own for bytes that are lost, or whose checksum fails. Peers mend these
// like any others.
func TestDamageThatTheFileSystemTells(t *testing.T) {
	for _, answer := range []error{syscall.ENOENT, syscall.EIO, syscall.EUCLEAN, syscall.EBADMSG, syscall.ENODATA, syscall.EILSEQ} {
		x := segmented(t)
		x.crash()
		x.fs.Inject(faultfs.Fault{Verb: faultfs.VerbOpen, Name: "08.seg", Err: answer})
		if _, _, err := x.log.ReadFrame(9, nil); !errors.Is(err, journal.ErrDamaged) {
			t.Errorf("to open a segment: %v is no damage: %v", answer, err)
		}
		x.fs.CrashHard()
		x.fs.Inject(faultfs.Fault{Verb: faultfs.VerbRead, Name: "36.seg", Err: answer, Sticky: true})
		x.reopen()
		x.wantEnd(35, 40)
	}
}

// A state or a mark that could not be read this time is not taken for one that is damaged, not even in one copy: the
// other may be older.
func TestAStateFileIsNotReadForWantOfMemory(t *testing.T) {
	for _, name := range []string{"/state", "/mark", "/start"} {
		for copiesRead := range 2 {
			x := segmented(t)
			x.fs.CrashHard()
			x.fs.Inject(faultfs.Fault{Verb: faultfs.VerbRead, Name: name, After: copiesRead, Err: syscall.ENOMEM})
			_, _, err := journal.Open(x.opts)
			if errors.Is(err, journal.ErrUnreadable) {
				t.Errorf("%s: a good log would be forgotten: %v", name, err)
			}
			if !errors.Is(err, syscall.ENOMEM) {
				t.Errorf("%s, %d copies read: the log was opened: %v", name, copiesRead, err)
			} else {
				wantFault(t, err, "read")
			}
			x.fs.Heal()
			x.crash()
			x.wantEnd(40, 40)
			if x.rec.MarkLost || len(x.rec.Findings) > 0 {
				t.Errorf("%s: mark lost %v, findings %q", name, x.rec.MarkLost, x.rec.Findings)
			}
		}
	}
}

// A start that finds no descriptor does not go on with what it could not look at.
func TestNoStartForWantOfADescriptor(t *testing.T) {
	for _, fault := range []faultfs.Fault{
		{Verb: faultfs.VerbOpen, Name: "08.idx", Err: syscall.EMFILE},
		{Verb: faultfs.VerbOpen, Name: "08.idx", After: 1, Err: syscall.EMFILE},
		{Verb: faultfs.VerbOpen, Name: "29.seg", Err: syscall.EMFILE},
		{Verb: faultfs.VerbRead, Name: "29.seg", Sticky: true, Err: syscall.ENOMEM}, // taken from its index, and verified
		{Verb: faultfs.VerbRead, Name: "36.seg", Sticky: true, Err: syscall.ENOMEM}, // scanned
	} {
		x := segmented(t)
		x.fs.CrashHard()
		x.fs.Inject(fault)
		var disk *journal.FaultError // what the advice to mend the disk or its mount goes with
		if _, _, err := journal.Open(x.opts); !errors.Is(err, fault.Err) || !errors.As(err, &disk) {
			t.Errorf("%s of %s is answered with %v: %v", fault.Verb, fault.Name, fault.Err, err)
		}
		x.fs.Heal()
		x.crash()
		x.wantEnd(40, 40)
		x.wantHeld(1, 40)
		if len(x.rec.Findings) > 0 {
			t.Errorf("%s of %s: findings %q", fault.Verb, fault.Name, x.rec.Findings)
		}
	}
}

// A cut that cannot look up where it ends is a failure of the disk, with its cause.
func TestACutThatCannotReadIsAFault(t *testing.T) {
	x := segmented(t)
	x.crash()
	x.fs.Inject(faultfs.Fault{Verb: faultfs.VerbOpen, Name: ".seg", Err: syscall.EMFILE})
	var fault *journal.FaultError
	if err := x.log.Cut(10); !errors.As(err, &fault) || !errors.Is(err, syscall.EMFILE) {
		t.Errorf("the cut ends with %v", err)
	}
}
