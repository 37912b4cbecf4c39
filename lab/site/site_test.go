package main

import (
	"bytes"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

// tree is the tree that the tests are in.
var tree = os.DirFS("../..")

func generated(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := generate(tree)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestSiteIsTheSameTwice(t *testing.T) {
	first, second := generated(t), generated(t)
	if !slices.Equal(slices.Sorted(maps.Keys(first)), slices.Sorted(maps.Keys(second))) {
		t.Fatal("the files differ")
	}
	for name, content := range first {
		if !bytes.Equal(content, second[name]) {
			t.Errorf("%s differs", name)
		}
	}
}

func TestEveryPageIsOnTheSite(t *testing.T) {
	files := generated(t)
	want := []string{"index.html", "explain.html", "servers.html", "search.html"}
	docs, err := os.ReadDir("../../docs")
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range docs {
		if name, isPage := strings.CutSuffix(doc.Name(), ".md"); isPage {
			want = append(want, strings.ToLower(name)+".html")
		}
	}
	for _, name := range want {
		if files[name] == nil {
			t.Errorf("the site has no %s", name)
		} else if !bytes.Contains(files["index.html"], []byte(`href="`+name+`"`)) && name != searchPage {
			t.Errorf("the navigation lacks %s", name)
		}
	}
}

var (
	attributes = regexp.MustCompile(`(?:href|src|srcset|action)="([^"]*)"`)
	identified = regexp.MustCompile(`\sid="([^"]*)"`)
)

// Every link of every page, as the browser would follow it, leads to a file of the site, to an anchor that its page has,
// or to another site.
func TestLinksLeadSomewhere(t *testing.T) {
	files := generated(t)
	ids := map[string][]string{}
	for name, content := range files {
		for _, m := range identified.FindAllSubmatch(content, -1) {
			if slices.Contains(ids[name], string(m[1])) {
				t.Errorf("%s has two elements %q", name, m[1])
			}
			ids[name] = append(ids[name], string(m[1]))
		}
	}
	checked := 0
	for name, content := range files {
		if path.Ext(name) != ".html" {
			continue
		}
		for _, m := range attributes.FindAllSubmatch(content, -1) {
			to := string(m[1])
			if strings.HasPrefix(to, "https://") || strings.HasPrefix(to, "http://") || strings.HasPrefix(to, "data:image/svg+xml,") {
				continue
			}
			file, anchor, _ := strings.Cut(to, "#")
			if file == "" {
				file = name
			}
			if files[file] == nil || anchor != "" && !slices.Contains(ids[file], anchor) {
				t.Errorf("%s: the link %s leads nowhere", name, to)
			}
			checked++
		}
	}
	if checked < 500 {
		t.Errorf("only %d links were checked", checked)
	}
}

// A page loads nothing from elsewhere, and runs nothing but our scripts.
func TestPagesLoadNothing(t *testing.T) {
	loaded := regexp.MustCompile(`<(?:img|source|script|iframe|object|embed|video|audio|link|style)\b[^>]*>`)
	for name, content := range generated(t) {
		if path.Ext(name) != ".html" {
			continue
		}
		if !bytes.Contains(content, []byte(`<meta http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;; `)) {
			t.Errorf("%s has no policy", name)
		}
		if bytes.Contains(content, []byte("unsafe-")) && name != searchPage {
			t.Errorf("%s has a policy that permits too much", name)
		}
		for _, element := range loaded.FindAllString(strings.ReplaceAll(string(content), searchScript, ""), -1) {
			if strings.Contains(element, "//") && !strings.Contains(element, `href="data:image/svg+xml,`) {
				t.Errorf("%s loads %s", name, element)
			}
		}
		for _, bad := range regexp.MustCompile(`<[a-z]+[^>]*\s(?:on[a-z]+|style)=`).FindAll(content, -1) {
			t.Errorf("%s has %s", name, bad)
		}
	}
}

func TestExplainHasEveryCode(t *testing.T) {
	files := generated(t)
	page := string(files["explain.html"])
	for _, e := range fleet.Catalogue() {
		if !strings.Contains(page, `<h3 id="`+string(e.Code)+`">`+string(e.Code)) {
			t.Errorf("%s has no heading", e.Code)
		}
	}
	linked := regexp.MustCompile(`<a href="explain.html#outcome-unknown">(?:<code>)?(?:\[gauze: )?outcome-unknown`)
	found := slices.ContainsFunc(slices.Collect(maps.Values(files)), linked.Match)
	if !found {
		t.Error("no page links the code outcome-unknown to its explanation")
	}
}

func TestServersAreThoseOfTheLaboratory(t *testing.T) {
	page := string(generated(t)["servers.html"])
	for _, part := range slices.Concat(realparts.Servers(), realparts.Clients()) {
		if part.Version == "" {
			t.Errorf("%s has no version", part.Name)
		}
		if !strings.Contains(page, "<td><code>"+part.Name+"</code></td>\n<td>"+part.Version+"</td>") {
			t.Errorf("%s %s is not listed", part.Name, part.Version)
		}
	}
	if n := strings.Count(page, "<td>each check</td>\n<td>each check</td>"); n != 5 {
		t.Errorf("%d servers are compared and killed in each check: want the 5 of everyServer", n)
	}
	for _, text := range []string{"kill, stop, noise", "github.com/mark3labs/mcp-go", "Accepted differences"} {
		if !strings.Contains(page, text) {
			t.Errorf("the page lacks %q", text)
		}
	}
}

// A dead link, anchor or picture is an error that names the page.
func TestDeadLinksFail(t *testing.T) {
	for text, want := range map[string]string{
		"[a](docs/none.md)":                     `README.md: the link "docs/none.md" leads nowhere`,
		"[a](docs/a.md#none)":                   "README.md: a link leads to a.html#none, but that page has no such heading",
		"[a](#none)":                            "README.md: a link leads to index.html#none",
		"![a](docs/none.png)":                   `README.md: the picture "docs/none.png" is not in the tree`,
		"![a](https://example.com/a.png)":       `README.md: the picture "https://example.com/a.png" is not in the tree`,
		`<img src="none.svg" alt="a">`:          `README.md: the picture "none.svg" is not in the tree`,
		"[a](docs/a.md#one) [b](docs) <b>x</b>": "",
	} {
		small := fstest.MapFS{"README.md": {Data: []byte("# Gauze\n\n" + text + "\n")}, "docs/a.md": {Data: []byte("# A\n\n## One\n")}}
		for _, name := range []string{"lab/go.mod", "lab/realtest/server_test.go", "lab/realtest/doc.go", "lab/differential/doc.go"} {
			content, err := os.ReadFile("../../" + name)
			if err != nil {
				t.Fatal(err)
			}
			small[name] = &fstest.MapFile{Data: content}
		}
		_, err := generate(small)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestAnchorsAreThoseOfGitHub(t *testing.T) {
	for words, want := range map[string]string{
		"What the client sees": "what-the-client-sees",
		"`gauze run`: stdio":   "gauze-run-stdio",
		"env_not_set":          "env_not_set",
		"A & B":                "a--b",
	} {
		if got := anchor(words); got != want {
			t.Errorf("%q: %q, want %q", words, got, want)
		}
	}
}
