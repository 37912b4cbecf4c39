package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// notes writes the section of the changelog that is about this version: RELEASE_NOTES.md.
func notes(_ context.Context, r *release) error {
	text, err := r.notes()
	if err != nil {
		return err
	}
	return r.write("RELEASE_NOTES.md", []byte(text))
}

func (r *release) notes() (string, error) {
	changelog, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return "", err
	}
	return notesOf(string(changelog), r.version)
}

// notesOf returns the section of a version. What precedes a release may not have one yet: it gets what is
// unreleased.
func notesOf(changelog, version string) (string, error) {
	number, prerelease, build := parts(version)
	name := strings.TrimSuffix(number+"-"+prerelease, "-")
	text := section(changelog, name)
	if text == "" && (prerelease != "" || build != "") {
		text = section(changelog, "Unreleased")
	}
	if text == "" {
		return "", fmt.Errorf("CHANGELOG.md has no text for %s\nnext: rename its section \"## Unreleased\" to \"## %s\"", version, name)
	}
	return unwrapped(text) + "\n", nil
}

// section returns the text below a heading such as "## 1.2.3" or "## [1.2.3] - 2026-01-02".
func section(changelog, name string) string {
	heading := regexp.MustCompile(`(?m)^## \[?v?` + regexp.QuoteMeta(name) + `\]?( .*)?$`).FindStringIndex(changelog)
	if heading == nil {
		return ""
	}
	text, _, _ := strings.Cut(changelog[heading[1]:], "\n## ")
	return strings.TrimSpace(text)
}

var wrap = regexp.MustCompile(`([^\n])\n {2,}([^\s*+-])`)

// unwrapped joins the lines of each list item: GitHub shows every line break of release notes.
func unwrapped(text string) string { return wrap.ReplaceAllString(text, "$1 $2") }
