package report

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"rejoin/plots/axis"
	"rejoin/results"
)

// flamesBytesMax bounds what all flame graphs together add to the page; the rest is linked in the folder.
const flamesBytesMax = 3 << 20

// flameBytesMax bounds one page of a flame graph before it is packed; pprof's have about 50 KB.
const flameBytesMax = 8 << 20

// profilesSection lists the profiles with their flame graphs.
type profilesSection struct {
	Says    string
	Entries []profileRow
	Empty   string
	Left    string // why some flame graphs are links only
}

type profileRow struct {
	Source, Kind, Phase, Role string
	Samples, Covered, Acked   string
	File                      string // path within the run folder, "" without one
	Note                      string
	Flame                     *flame
	Link                      string // to a flame graph that is not in the page
}

// flame is a page of its own inside this one, gzipped and base64: the script unpacks it into a sandboxed frame when it is asked for.
type flame struct {
	ID, Title string
	// Short stands on its button.
	Short  string
	Packed string
	page   []byte
}

func profilesOf(s *source) profilesSection {
	entries, err := s.folder.ReadProfileIndex()
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.note("profiles/index.json", err)
		}
		return profilesSection{Empty: unread("profiles/index.json", err, "the run wrote no index of profiles")}
	}
	out := profilesSection{Says: profilingText(s.run)}
	room := flamesBytesMax
	for _, e := range entries {
		r := profileRow{Source: e.Source, Kind: e.Kind, Phase: cmp.Or(string(e.Phase), "–"), Role: cmp.Or(e.Role, "–"), Samples: axis.CountText(e.Samples), Note: e.Note,
			Covered: coveredText(e.SecondsCovered), Acked: axis.CountText(e.AckedBatches)}
		if e.File != nil {
			r.File = "profiles/" + filepath.ToSlash(*e.File)
		}
		if e.HTML != nil {
			title := fmt.Sprintf("Flame graph: %s of %s, phase %s", e.Kind, e.Source, r.Phase)
			r.Flame, err = packFlame(filepath.Join(s.folder.Profiles(), filepath.FromSlash(*e.HTML)), fmt.Sprintf("flame-%d", len(out.Entries)), title, room)
			s.note("flame graph "+*e.HTML, err)
			if r.Flame != nil {
				room -= len(r.Flame.Packed)
			} else if err == nil {
				r.Link = "profiles/" + filepath.ToSlash(*e.HTML)
				out.Left = fmt.Sprintf("To keep this page small, the flame graphs beyond %s are links into the folder.", axis.BytesText(flamesBytesMax))
			}
		}
		out.Entries = append(out.Entries, r)
	}
	if len(entries) == 0 {
		out.Empty = "no data: no profile was taken"
	}
	return out
}

// coveredText has seconds for nothing too: 0 ns would be a measurement.
func coveredText(seconds float64) string {
	if seconds == 0 {
		return "0 s"
	}
	return axis.DurationText(seconds * 1e9)
}

func profilingText(r results.Run) string {
	if r.Asked.Profiling.Words == "" {
		return noData
	}
	return r.Asked.Profiling.Words
}

// packFlame reads a flame graph; nil without an error if it needs more than room.
func packFlame(path, id, title string, room int) (*flame, error) {
	file, err := results.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	page, err := io.ReadAll(io.LimitReader(file, flameBytesMax+1))
	if err != nil {
		return nil, err
	}
	if len(page) > flameBytesMax {
		return nil, nil
	}
	return newFlame(page, id, title, room)
}

func newFlame(page []byte, id, title string, room int) (*flame, error) {
	var zipped bytes.Buffer
	w, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(page)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("pack flame graph: %w", err)
	}
	if base64.URLEncoding.EncodedLen(zipped.Len()) > room {
		return nil, nil
	}
	// The alphabet of addresses holds nothing that a template escapes: within a script element nothing would undo it.
	return &flame{ID: id, Title: title, Short: "Show", Packed: base64.URLEncoding.EncodeToString(zipped.Bytes()), page: page}, nil
}
