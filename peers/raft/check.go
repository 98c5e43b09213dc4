package main

import (
	"errors"
	"fmt"
)

// check says what keeps the figures from counting; nil if nothing does.
func check(leader string, d driven, reports []report) error {
	errs := []error{checkLeader(leader, d)}
	for _, r := range reports {
		if r.applied.Snapshots > 0 {
			errs = append(errs, fmt.Errorf("node %s was to take %d snapshots, and none may be taken", r.id, r.applied.Snapshots))
		}
		errs = append(errs, checkSum("node "+r.id+" applied", r.applied.sum, d.Acknowledged), checkSum("the files of node "+r.id+" hold", r.stored, d.Acknowledged))
	}
	return errors.Join(errs...)
}

// checkLeader: a node that leads in the same term at the beginning and at the end led all the time.
func checkLeader(leader string, d driven) error {
	switch {
	case d.TermBefore != d.TermAfter:
		return fmt.Errorf("the term went from %d to %d: an election came between, and the time without a leader is no part of what is measured", d.TermBefore, d.TermAfter)
	case !d.Leads:
		return fmt.Errorf("node %s led at the beginning and not at the end", leader)
	case d.Batches == 0:
		return errors.New("not one batch was acknowledged in the measured time")
	}
	return nil
}

func checkSum(what string, has, acknowledged sum) error {
	if has == acknowledged {
		return nil
	}
	why := "batches are missing, or other ones are there"
	if has.Batches == acknowledged.Batches && has.LastIndex == acknowledged.LastIndex {
		why = "as many as there must be, and their content or order differs"
	}
	return fmt.Errorf("%s %s; acknowledged were %s: %s", what, has.text(), acknowledged.text(), why)
}

func (s sum) text() string {
	return fmt.Sprintf("%d batches to index %d with digest %016x", s.Batches, s.LastIndex, s.Digest)
}
