package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every relative link of the documentation leads to a file that exists, and every anchor to a heading.
func TestDocsLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"`)
	checked := 0
	for _, page := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(prose(readPage(t, page)), -1) {
			target := m[1] + m[2]
			if strings.Contains(target, "://") {
				continue
			}
			checked++
			file, anchor, _ := strings.Cut(target, "#")
			path := page
			if file != "" {
				path = filepath.ToSlash(filepath.Join(filepath.Dir(page), filepath.FromSlash(file)))
			}
			if _, err := os.Stat("../../" + path); err != nil {
				t.Errorf("%s: %s: %v", page, target, err)
			} else if anchor != "" && !anchors(readPage(t, path))[anchor] {
				t.Errorf("%s: %s has no heading for #%s", page, path, anchor)
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d links", checked)
	}
}

// prose returns a page without its blocks of code.
func prose(text string) string {
	var b strings.Builder
	for i, part := range strings.Split(text, "```") {
		if i%2 == 0 {
			b.WriteString(part)
		}
	}
	return b.String()
}

// anchors returns the names that GitHub gives to the headings of a page.
func anchors(text string) map[string]bool {
	names := map[string]bool{}
	drop := regexp.MustCompile(`[^\p{L}\p{N}\- _]`)
	for line := range strings.Lines(prose(text)) {
		if heading := strings.TrimLeft(line, "#"); heading != line && strings.HasPrefix(heading, " ") {
			name := drop.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), "")
			names[strings.ReplaceAll(name, " ", "-")] = true
		}
	}
	return names
}

// pages returns README, CONTRIBUTING, SECURITY and everything in docs.
func pages(t *testing.T) []string {
	t.Helper()
	docs, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(docs) < 15 {
		t.Fatalf("%d pages, %v", len(docs), err)
	}
	all := []string{"README.md", "CONTRIBUTING.md", "SECURITY.md"}
	for _, path := range docs {
		all = append(all, "docs/"+filepath.Base(path))
	}
	return all
}

func readPage(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile("../../" + page)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
