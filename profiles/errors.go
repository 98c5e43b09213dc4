package profiles

import "errors"

var (
	// ErrRunning: this process is being profiled already, and the runtime can do so once at a time.
	ErrRunning = errors.New("this process is being profiled already; stop that profile first")
	// ErrEmpty: there are no bytes, which is what a killed process leaves.
	ErrEmpty = errors.New("the profile is empty (0 bytes): its process was killed or left before it wrote it")
	// ErrTooLarge: more than this package is willing to hold in memory.
	ErrTooLarge = errors.New("the profile is too large")
	// ErrMalformed: the bytes are no pprof profile, or only the beginning of one.
	ErrMalformed = errors.New("not a complete pprof profile")
	// ErrNoData: a valid profile with too few samples to say anything.
	ErrNoData = errors.New("no data")
	// ErrUnlike: two profiles that measure different things, or the same thing in different ways.
	ErrUnlike = errors.New("the profiles do not fit together")
	// ErrSubtracted: the input is a difference already.
	ErrSubtracted = errors.New("the profile is already a difference; give the two profiles it was made from")
	// ErrDenominator: a comparison without the time or the work that it is to be divided by.
	ErrDenominator = errors.New("the denominator is missing")
)
