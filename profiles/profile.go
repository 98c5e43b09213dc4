package profiles

import (
	"compress/gzip"
	"fmt"
	"io"

	"github.com/google/pprof/profile"

	"rejoin/results"
)

// Labels that samples carry.
const (
	LabelNode  = "node"
	LabelRole  = "role"
	LabelPhase = "phase"
)

// Profile is a parsed profile. It is not changed by anything in this package once it has been handed out.
type Profile struct {
	pb   *profile.Profile // valid: CheckValid passed
	meta Meta
}

// Parse reads a pprof file, gzipped or not. Errors: ErrEmpty, ErrMalformed, ErrTooLarge, ErrUnlike.
func Parse(data []byte) (*Profile, error) {
	pb, err := decode(data)
	if err != nil {
		return nil, err
	}
	meta := readMeta(pb.Comments)
	if meta.Kind == "" {
		meta.Kind = kindOf(pb)
	} else if _, ok := narrower(kindOf(pb), meta.Kind); !ok {
		return nil, fmt.Errorf("%w: its comment says %s, its values are those of kind %s", ErrUnlike, meta.Kind, kindOf(pb))
	}
	return newProfile(pb, meta), nil
}

// newProfile takes over pb and writes the metadata into its comments.
func newProfile(pb *profile.Profile, meta Meta) *Profile {
	pb.Comments = meta.comments(pb.Comments)
	return &Profile{pb: pb, meta: meta}
}

// ReadFile reads a pprof file.
func ReadFile(path string) (*Profile, error) {
	data, err := readBounded(path)
	if err != nil {
		return nil, err
	}
	p, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("read profile %s: %w", path, err)
	}
	return p, nil
}

// readBounded reads at most one byte more than a profile may have.
func readBounded(path string) ([]byte, error) {
	f, err := results.OpenRegular(path)
	if err != nil {
		return nil, fmt.Errorf("read profile: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, fileBytesMax+1))
	if err != nil {
		return nil, fmt.Errorf("read profile: %w", err)
	}
	return data, nil
}

// WriteFile writes the profile with its metadata; a reader never sees half of it.
func (p *Profile) WriteFile(path string) error { return results.WriteFileAtomic(path, p.encode) }

// encode compresses at best speed: a run has many.
func (p *Profile) encode(w io.Writer) error {
	zw, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	if err := p.pb.WriteUncompressed(zw); err != nil {
		return fmt.Errorf("encode profile: %w", err)
	}
	if err := zw.Close(); err != nil {
		return fmt.Errorf("encode profile: %w", err)
	}
	return nil
}

// Meta returns what Rejoin knows about the profile; the windows are the profile's own.
func (p *Profile) Meta() Meta { return p.meta }

// Kind is what the profile measures.
func (p *Profile) Kind() Kind { return p.meta.Kind }

// Samples is the number of samples or events: the sum of the file's first value. A CPU profile takes 100 a second and busy core.
func (p *Profile) Samples() int64 {
	var n int64
	for _, s := range p.pb.Sample {
		n += s.Value[0]
	}
	return n
}

// Total is the sum of a value over all samples; "" is the kind's own. Of a CPU profile it is CPU time, to be held against rusage: a
// profile that saw much less has lost signals.
func (p *Profile) Total(value string) (int64, error) {
	i, err := p.valueIndex(value)
	if err != nil {
		return 0, err
	}
	_, total := functionCosts(p.pb, i)
	return total, nil
}

// DurationNs is how long the profiler ran, in all windows together; 0: the file does not say.
func (p *Profile) DurationNs() int64 { return max(0, p.pb.DurationNanos) }

// Values are the names of what each sample counts, as `go tool pprof -sample_index` takes them.
func (p *Profile) Values() []string {
	var names []string
	for _, t := range p.pb.SampleType {
		names = append(names, t.Type)
	}
	return names
}

// valueIndex finds a value by name; "" is the kind's own.
func (p *Profile) valueIndex(name string) (int, error) {
	if name == "" {
		name = p.meta.Kind.defaultValue()
	}
	if name == "" {
		return len(p.pb.SampleType) - 1, nil // of an unknown kind: the last one, as pprof does
	}
	for i, t := range p.pb.SampleType {
		if t.Type == name {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%w: a profile of kind %s has no value %q; it has %v", ErrUnlike, p.meta.Kind, name, p.Values())
}

// OfRole keeps what was sampled while the node had this role, and the windows of that role: their durations are what to divide by.
func (p *Profile) OfRole(role string) *Profile {
	pb := p.pb.Copy()
	kept := pb.Sample[:0]
	for _, s := range pb.Sample {
		if s.HasLabel(LabelRole, role) {
			kept = append(kept, s)
		}
	}
	pb.Sample = kept
	pb = pb.Compact()
	meta := p.meta
	meta.Windows, pb.DurationNanos = nil, 0
	for _, w := range p.meta.Windows {
		if w.Role == role {
			meta.Windows = append(meta.Windows, w)
			pb.DurationNanos += w.DurationNs
		}
	}
	return newProfile(pb, meta)
}
