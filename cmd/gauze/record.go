package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/disk/journal"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
)

// journalFlag adds --no-journal.
func journalFlag(flags *pflag.FlagSet, off *bool) {
	flags.BoolVar(off, "no-journal", false, "do not record events for gauze history (also: GAUZE_JOURNAL=off)")
}

// journalPath returns the path of this user's journal.
func journalPath() (string, error) {
	dir, err := backup.StateDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, journal.FileName), nil
}

// turnedOff reports whether the value of a variable means no.
func turnedOff(value string) bool {
	return slices.Contains([]string{"off", "no", "false", "0"}, strings.ToLower(value))
}

// recording is how the events of a wrap are recorded. The zero value records none.
type recording struct{ journal *journal.Recorder }

// recordEvents records the events in the journal unless that is off. If it fails, gauze continues
// with one warning.
func recordEvents(events *event.Stream, off bool) recording {
	if off || turnedOff(os.Getenv("GAUZE_JOURNAL")) {
		return recording{}
	}
	path, err := journalPath()
	if err != nil {
		sayUnrecorded(err)
		return recording{}
	}
	return recording{journal.NewRecorder(path, events, sayUnrecorded)}
}

// sayUnrecorded says why events are not recorded.
func sayUnrecorded(err error) {
	cause, next, _ := strings.Cut(err.Error(), "\n")
	fmt.Fprintf(os.Stderr, "%s events are not recorded: %s (%s, or use --no-journal)\n", fault.LogMark, cause, next)
}

// off reports whether nothing is recorded.
func (r recording) off() bool { return r.journal == nil }

// finish writes the rest and returns how many events are not written. A disk that does not respond
// delays it by half a second.
func (r recording) finish() int {
	if r.off() {
		return 0
	}
	if !within(r.journal.Close()) {
		r.journal.Abandon()
	}
	return r.journal.Lost()
}

// missed returns how many events could not be written so far.
func (r recording) missed() int {
	if r.off() {
		return 0
	}
	return r.journal.Missed()
}

// maxSettle is how long who asks a wrap waits until the journal has what the wrap says. The tests set
// it.
var maxSettle = 300 * time.Millisecond

// settle writes what waits to be written.
func (r recording) settle() {
	if !r.off() {
		r.journal.Settle(maxSettle)
	}
}
