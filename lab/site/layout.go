package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"slices"
	"strings"
)

// searchPage is the page with the index of all others.
const searchPage = "search.html"

// These are part of every page, so that it works as a file without a server. The policy names them by
// their hashes.
var (
	//go:embed files/page.html
	pageTemplate string
	//go:embed files/style.css
	style string
	//go:embed files/theme.js
	themeScript string
	//go:embed files/search.js
	searchScript string
)

var layout = template.Must(template.New("page").Parse(pageTemplate))

// group is a part of the navigation.
type group struct {
	Title string
	Pages []entry
}

// entry is a page in the navigation.
type entry struct {
	Name, Title string
	Current     bool
}

// groups are the pages in the order in which people need them. A page that is not named is in the last
// group but one.
var groups = []struct {
	title string
	names []string
}{
	{"Start", []string{"index", "install", "run", "doctor", "see"}},
	{"Use", []string{"repair", "model", "clients", "agents", "tasks", "http", "up", "login", "go"}},
	{"Look up", []string{"explain", "broken", "servers", "security", "benchmarks"}},
	{"Contribute", []string{"contributing", "architecture", "causes", "releasing", "api", "changelog"}},
}

// content is what the template shows.
type content struct {
	Policy, Title string
	Style         template.CSS
	Theme, Search template.JS
	Index         template.JS // Index is JSON, which is also JavaScript.
	Groups        []group
	Contents      []heading
	Body          template.HTML
	Source        string
	Repository    string
	IsSearch      bool
}

// layout returns the whole page.
func (s *site) layout(p *page) ([]byte, error) {
	c := content{
		Title: p.title + " – Gauze", Style: template.CSS(style), Theme: template.JS(themeScript), Groups: s.navigation(p),
		Contents: contents(p), Body: template.HTML(p.html), Repository: repository, IsSearch: p.name == searchPage,
	}
	if p.name == "index.html" {
		c.Title = "Gauze keeps MCP servers working"
	}
	if p.source != "" {
		c.Source = repository + "/blob/main/" + p.source
	}
	scripts := []string{themeScript}
	if c.IsSearch {
		index, err := json.Marshal(s.allSections()) // escapes < and >, so it cannot end its element
		if err != nil {
			return nil, err
		}
		c.Index, c.Search = template.JS(index), template.JS(searchScript)
		scripts = append(scripts, searchScript)
	}
	c.Policy = policy(scripts)
	var out bytes.Buffer
	err := layout.Execute(&out, c)
	return out.Bytes(), err
}

// policy returns the content security policy of a page: nothing from elsewhere, and only our own scripts.
func policy(scripts []string) string {
	var b strings.Builder
	b.WriteString("default-src 'none'; base-uri 'none'; img-src 'self' data:; style-src " + hash(style) + "; script-src")
	for _, script := range scripts {
		b.WriteString(" " + hash(script))
	}
	return b.String()
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// navigation returns all pages in their groups.
func (s *site) navigation(current *page) (all []group) {
	named := map[string]bool{"search": true}
	add := func(g *group, p *page) {
		g.Pages = append(g.Pages, entry{p.name, navTitle(p), p == current})
	}
	for _, g := range groups {
		one := group{Title: g.title}
		for _, name := range g.names {
			named[name] = true
			if p := s.page(name + ".html"); p != nil {
				add(&one, p)
			}
		}
		all = append(all, one)
	}
	for _, p := range s.pages {
		if !named[strings.TrimSuffix(p.name, ".html")] {
			add(&all[len(all)-2], p)
		}
	}
	return slices.DeleteFunc(all, func(g group) bool { return len(g.Pages) == 0 })
}

func navTitle(p *page) string {
	if p.name == "index.html" {
		return "What Gauze does"
	}
	return p.title
}

// contents returns the headings below the title, to the second level; on the page of all codes to the
// third.
func contents(p *page) (list []heading) {
	deepest := 2
	if p.name == "explain.html" {
		deepest = 3
	}
	for _, h := range p.headings {
		if h.Level > 1 && h.Level <= deepest {
			list = append(list, h)
		}
	}
	if len(list) < 2 {
		return nil
	}
	return list
}

// allSections returns what the search finds, in the order of the pages' names.
func (s *site) allSections() (all []section) {
	pages := slices.SortedFunc(slices.Values(s.pages), func(a, b *page) int { return cmp.Compare(a.name, b.name) })
	for _, p := range pages {
		if p.name != searchPage {
			all = append(all, p.sections...)
		}
	}
	return all
}
