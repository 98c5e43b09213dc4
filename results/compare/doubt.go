package compare

import (
	"errors"
	"fmt"
	"io/fs"

	"rejoin/results"
)

// valueMost is beyond all that a run can have: 31 years in ns, an exabyte.
const valueMost = 1e18

// impossible says which number of a run nothing can measure; nil if all are possible. The folder may come from anywhere.
func (r Run) impossible() error {
	for _, m := range Measure(r) {
		for _, v := range m.Values {
			if !(v.Value >= 0 && v.Value <= valueMost) { // NaN is neither
				return fmt.Errorf("gives %g %s as %s, which nothing can measure: its summary.json is damaged", v.Value, m.Unit, m.Name)
			}
		}
	}
	return nil
}

// doubtOf says what in the files of a run speaks against a verdict by which it is evidence; empty if nothing does.
func doubtOf(f results.Folder, s results.Summary) string {
	if _, err := f.ReadProof(); err != nil && !errors.Is(err, fs.ErrNotExist) { // builds older than the file wrote none
		return fmt.Sprintf("has a proof that cannot be read: %v", err)
	}
	if s.OfferedBatches <= 0 || min(s.AckedBatches, s.UnknownBatches, s.FailedBatches) < 0 || s.AckedBatches+s.UnknownBatches+s.FailedBatches != s.OfferedBatches {
		return fmt.Sprintf("has books that do not balance: %d batches offered, %d acknowledged, %d unknown, %d failed", s.OfferedBatches, s.AckedBatches, s.UnknownBatches, s.FailedBatches)
	}
	return ""
}
