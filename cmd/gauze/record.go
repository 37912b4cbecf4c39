package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/gauze-mcp/gauze/internal/backup"
	"github.com/gauze-mcp/gauze/internal/event"
	"github.com/gauze-mcp/gauze/internal/fault"
	"github.com/gauze-mcp/gauze/internal/journal"
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

// recordEvents records the events in the journal unless that is off. If it fails, gauze continues
// with one warning. finish writes the rest and returns how many events are not written; a disk that
// does not respond delays it by half a second. missed returns how many could not be written so far.
func recordEvents(events *event.Stream, off bool) (finish, missed func() int) {
	path, err := journalPath()
	if off || turnedOff(os.Getenv("GAUZE_JOURNAL")) || err != nil {
		none := func() int { return 0 }
		return none, none
	}
	r := journal.NewRecorder(path, events, func(err error) {
		cause, next, _ := strings.Cut(err.Error(), "\n")
		fmt.Fprintf(os.Stderr, "%s events are not recorded: %s (%s; or --no-journal)\n", fault.LogMark, cause, next)
	})
	return func() int {
		if !within(r.Close()) {
			r.Abandon()
		}
		return r.Lost()
	}, r.Missed
}
