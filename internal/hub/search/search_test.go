package search

import (
	"slices"
	"testing"
)

var tools = []Tool{
	{"github__create_issue", "Open a new issue in a repository.", []string{"title", "body"}},
	{"github__list_issues", "List the issues of a repository.", []string{"state", "labels"}},
	{"files__read_file", "Read the contents of a file from disk.", []string{"path"}},
	{"files__writeFile", "Replace the contents of a file.", []string{"path", "content"}},
	{"web__fetch", "Download a page and return it as text.", []string{"url The address of the page"}},
	{"time__now", "The current time.", nil},
}

func TestFind(t *testing.T) {
	x := New(tools)
	for _, c := range []struct{ query, first string }{
		{"create an issue", "github__create_issue"},
		{"listing of issues", "github__list_issues"},
		{"read a file from the disk", "files__read_file"},
		{"write file", "files__writeFile"},
		{"download url", "web__fetch"},
		{"what time is it", "time__now"},
	} {
		found := x.Find(c.query, 3)
		if len(found) == 0 || len(found) > 3 || tools[found[0]].Name != c.first {
			t.Errorf("%q: found %v, want %s first", c.query, found, c.first)
		}
	}
	if found := x.Find("zebra", 8); found != nil {
		t.Errorf("found %v for a word that no tool has", found)
	}
	if found := New(nil).Find("anything", 8); found != nil {
		t.Errorf("found %v among no tools", found)
	}
}

func TestWords(t *testing.T) {
	for text, want := range map[string][]string{
		"createIssue":        {"creat", "issu"},
		"create_issues":      {"creat", "issu"},
		"Lists all queries.": {"list", "all", "query"},
		"HTTP-URL 42":        {"http", "url", "42"},
		"":                   nil,
	} {
		if got := Words(text); !slices.Equal(got, want) {
			t.Errorf("Words(%q) = %q, want %q", text, got, want)
		}
	}
}
