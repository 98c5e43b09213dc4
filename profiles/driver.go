package profiles

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/google/pprof/driver"
	"github.com/google/pprof/profile"
)

// driverRuns: pprof's driver keeps settings in globals and reads its folders from the environment, so there is one call at a time in this
// process.
var driverRuns sync.Mutex

// Names under which the driver asks for the two profiles.
const (
	sourceName = "B"
	baseName   = "A"
)

// drawFlames lets pprof's own web interface render its flame graph once, without a listener, a browser or a file of the user's: base may
// be nil. Both profiles are consumed.
func drawFlames(p, base *profile.Profile, value string) ([]byte, error) {
	driverRuns.Lock()
	defer driverRuns.Unlock()
	restore, err := isolate()
	if err != nil {
		return nil, err
	}
	defer restore()
	args := []string{"-symbolize=none", "-no_browser", "-http=localhost:1", "-sample_index=" + value}
	if base != nil {
		args = append(args, "-diff_base="+baseName)
	}
	ui := &silentUI{}
	var page []byte
	var drawn error
	err = driver.PProf(&driver.Options{
		Flagset: newFlags(append(args, sourceName)),
		Fetch:   inMemory{sourceName: p, baseName: base},
		UI:      ui,
		Obj:     noBinaries{},
		Sym:     noSymbols{},
		HTTPServer: func(a *driver.HTTPServerArgs) error {
			page, drawn = render(a.Handlers["/flamegraph"])
			return nil
		},
	})
	if err := errors.Join(err, drawn); err != nil {
		return nil, fmt.Errorf("pprof: %w; it said: %s", err, ui.text())
	}
	return page, nil
}

// isolate gives the driver an empty folder for what it may save or read: by default it would use pprof/ in the user's home, and fail where
// there is no home.
func isolate() (restore func(), err error) {
	dir, err := os.MkdirTemp("", "bench-pprof-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for pprof: %w", err)
	}
	var undo []func()
	for _, name := range []string{"PPROF_TMPDIR", "XDG_CONFIG_HOME", "PPROF_BINARY_PATH"} {
		old, was := os.LookupEnv(name)
		undo = append(undo, func() {
			if was {
				_ = os.Setenv(name, old)
			} else {
				_ = os.Unsetenv(name)
			}
		})
		_ = os.Setenv(name, dir) // fails only for names that are not names
	}
	return func() {
		for _, u := range undo {
			u()
		}
		_ = os.RemoveAll(dir)
	}, nil
}

// render asks a handler for its page, as a browser would.
func render(h http.Handler) ([]byte, error) {
	if h == nil {
		return nil, errors.New("this version has no flame graph")
	}
	request, err := http.NewRequest(http.MethodGet, "http://localhost/flamegraph", nil)
	if err != nil {
		return nil, err
	}
	answer := &recorded{header: http.Header{}, status: http.StatusOK}
	h.ServeHTTP(answer, request)
	if answer.status != http.StatusOK {
		return nil, fmt.Errorf("status %d: %s", answer.status, strings.TrimSpace(answer.body.String()))
	}
	return answer.body.Bytes(), nil
}

// recorded is an http.ResponseWriter that keeps the answer.
type recorded struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorded) Header() http.Header         { return r.header }
func (r *recorded) WriteHeader(status int)      { r.status = status }
func (r *recorded) Write(b []byte) (int, error) { return r.body.Write(b) }

// inMemory hands out profiles by name. The empty source says that they are local: what comes from elsewhere is saved by the driver.
type inMemory map[string]*profile.Profile

func (m inMemory) Fetch(src string, _, _ time.Duration) (*profile.Profile, string, error) {
	if p := m[src]; p != nil {
		return p, "", nil
	}
	return nil, "", fmt.Errorf("there is no profile %q", src)
}

// noBinaries: names are in the profile already, and the binary that a foreign file names is not ours to open.
type noBinaries struct{}

var errNoBinaries = errors.New("binaries are not read")

func (noBinaries) Open(string, uint64, uint64, uint64, string) (driver.ObjFile, error) {
	return nil, errNoBinaries
}

func (noBinaries) Disasm(string, uint64, uint64, bool) ([]driver.Inst, error) {
	return nil, errNoBinaries
}

type noSymbols struct{}

func (noSymbols) Symbolize(string, driver.MappingSources, *profile.Profile) error { return nil }

// silentUI keeps what the driver says, for errors.
type silentUI struct {
	mu    sync.Mutex
	lines []string
}

func (u *silentUI) PrintErr(args ...any) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.lines = append(u.lines, strings.TrimSpace(fmt.Sprint(args...)))
}

func (u *silentUI) text() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return strings.Join(u.lines, "; ")
}

func (u *silentUI) ReadLine(string) (string, error)     { return "", io.EOF }
func (u *silentUI) Print(...any)                        {}
func (u *silentUI) IsTerminal() bool                    { return false }
func (u *silentUI) WantBrowser() bool                   { return false }
func (u *silentUI) SetAutoComplete(func(string) string) {}

// flags are a command line of our own for the driver, which would otherwise parse this process's.
type flags struct {
	*flag.FlagSet
	args []string
}

func newFlags(args []string) *flags {
	set := flag.NewFlagSet("pprof", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	return &flags{set, args}
}

// StringList defines a flag that may be given several times.
func (f *flags) StringList(name, def, usage string) *[]*string {
	var list []*string
	if def != "" {
		list = append(list, &def)
	}
	f.Func(name, usage, func(value string) error {
		list = append(list, &value)
		return nil
	})
	return &list
}

func (f *flags) ExtraUsage() string   { return "" }
func (f *flags) AddExtraUsage(string) {}

// Parse returns nothing if there is an unknown flag, which the driver takes as no source.
func (f *flags) Parse(func()) []string {
	if f.FlagSet.Parse(f.args) != nil {
		return nil
	}
	return f.Args()
}
