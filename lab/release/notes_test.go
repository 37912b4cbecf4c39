package main

import (
	"strings"
	"testing"
)

const changelog = `# Changelog

## Unreleased

### Added

- What comes next,
  in two lines.
- A second item.

  With a paragraph.

## [1.3.0] - 2026-02-03

- As Keep a Changelog writes it.

## 1.2.3-rc.1

- The candidate.

## v1.2.3

- The release.

## 1.2.2

## 1.2.1

- The first.
`

// A version gets its own section; what is not released yet gets what comes next.
func TestNotesAreThoseOfTheVersion(t *testing.T) {
	next := "### Added\n\n- What comes next, in two lines.\n- A second item.\n\n  With a paragraph.\n"
	for version, want := range map[string]string{
		"1.3.0": "- As Keep a Changelog writes it.\n", "1.2.3": "- The release.\n", "1.2.3-rc.1": "- The candidate.\n", "1.2.1": "- The first.\n",
		"1.3.1-dev.4+gabcdef": next, "1.4.0-rc.1": next, "1.9.9+dirty": next, "1.3.0+dirty": "- As Keep a Changelog writes it.\n",
	} {
		if got, err := notesOf(changelog, version); err != nil || got != want {
			t.Errorf("%s: %q, %v, expected %q", version, got, err, want)
		}
	}
	for _, version := range []string{"1.4.0", "1.2", "1.2.2", "1x2.3"} {
		if got, err := notesOf(changelog, version); err == nil || !strings.Contains(err.Error(), `"## `+version+`"`) {
			t.Errorf("%s: %q, %v", version, got, err)
		}
	}
}
