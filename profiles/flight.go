package profiles

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime/trace"
	"time"
)

// What a flight recorder keeps. A node under the usual load writes some megabytes of trace a second, so the bytes decide.
const (
	flightAge   = 5 * time.Second
	flightBytes = 8 << 20
)

// StartFlight keeps the last seconds of this process's execution trace in memory, some 8 MiB, until Stop. Its WriteTo writes them. There is
// one a process; it may run beside a trace of Start and beside CPU windows.
func StartFlight() (*trace.FlightRecorder, error) {
	flight := trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: flightAge, MaxBytes: flightBytes})
	if err := flight.Start(); err != nil {
		return nil, fmt.Errorf("start flight recorder: %w", err)
	}
	return flight, nil
}

const (
	// flightTimeout bounds how long a node may take to answer.
	flightTimeout = 5 * time.Second
	// flightFileMax bounds a file: the recorder takes its size as a hint.
	flightFileMax = 64 << 20
)

// FetchFlight saves a node's flight record as a file, whole or not at all.
func FetchFlight(ctx context.Context, admin, token, path string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("fetch flight record: %w", err)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, flightTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+admin+"/debug/pprof/flight", nil)
	if err != nil {
		return err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, refusalBytesMax))
		return fmt.Errorf("%w with status %d: %s", errRefused, answer.StatusCode, text)
	}
	return saveTrace(answer.Body, path)
}

func saveTrace(body io.Reader, path string) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".flight-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // fails harmlessly once the file has its name
	n, err := io.Copy(tmp, io.LimitReader(body, flightFileMax+1))
	if cerr := tmp.Chmod(0o644); err == nil {
		err = cerr
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	switch {
	case err != nil:
		return err
	case n > flightFileMax:
		return fmt.Errorf("%w: more than %d bytes", ErrTooLarge, flightFileMax)
	}
	if err := checkTrace(tmp.Name()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
