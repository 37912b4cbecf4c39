package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// page is one page of the site.
type page struct {
	name     string // name is its file, as run.html.
	source   string // source is its file in the tree; empty if the page is generated.
	text     []byte // text is its Markdown.
	title    string
	html     string
	headings []heading
	sections []section
	links    []link // links are those to pages of the site.
}

// heading is an entry of the table of contents.
type heading struct {
	Level    int
	ID, Text string
}

// section is what the search finds: a heading and the text below it.
type section struct {
	Page    string `json:"p"`
	ID      string `json:"a,omitempty"`
	Title   string `json:"t"`
	Heading string `json:"h,omitempty"`
	Text    string `json:"x"`
}

// link leads to a page of the site.
type link struct{ page, anchor string }

// site is what is made.
type site struct {
	tree   fs.FS
	pages  []*page
	byFile map[string]*page // byFile are the pages by their file in the tree.
	images map[string]bool  // images are the pictures that pages show, by their file in the tree.
	codes  map[string]bool  // codes are those of gauze explain.
	errs   []error
}

// generate returns the files of the site, by name.
func generate(tree fs.FS) (map[string][]byte, error) {
	s := &site{tree: tree, byFile: map[string]*page{}, images: map[string]bool{}, codes: map[string]bool{}}
	if err := s.collect(); err != nil {
		return nil, err
	}
	for _, p := range s.pages {
		s.render(p)
	}
	s.checkLinks()
	if err := errors.Join(s.errs...); err != nil {
		return nil, err
	}
	return s.files()
}

// collect finds the pages: the README is the index, then docs, then what else is at the root.
func (s *site) collect() error {
	docs, err := fs.Glob(s.tree, "docs/*.md")
	if err != nil {
		return err
	}
	root, err := fs.Glob(s.tree, "*.md")
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for _, source := range slices.Concat(docs, root) {
		name := strings.ToLower(strings.TrimSuffix(path.Base(source), ".md")) + ".html"
		if source == "README.md" {
			name = "index.html"
		}
		if names[name] {
			continue // SECURITY.md, if there is docs/security.md
		}
		names[name] = true
		text, err := fs.ReadFile(s.tree, source)
		if err != nil {
			return err
		}
		s.add(&page{name: name, source: source, text: text})
	}
	s.add(&page{name: "explain.html", text: s.explain()})
	servers, err := s.servers()
	if err != nil {
		return err
	}
	s.add(&page{name: "servers.html", text: servers})
	s.add(&page{name: searchPage, text: []byte("# Search\n")})
	if s.byFile["README.md"] == nil {
		return errors.New("the tree has no README.md")
	}
	return nil
}

func (s *site) add(p *page) {
	s.pages = append(s.pages, p)
	if p.source != "" {
		s.byFile[p.source] = p
	}
}

// page returns a page by its name, or nil.
func (s *site) page(name string) *page {
	i := slices.IndexFunc(s.pages, func(p *page) bool { return p.name == name })
	if i < 0 {
		return nil
	}
	return s.pages[i]
}

// files returns the pages with all that is around their text, and the pictures.
func (s *site) files() (map[string][]byte, error) {
	all := map[string][]byte{}
	for _, p := range s.pages {
		content, err := s.layout(p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		all[p.name] = content
	}
	for image := range s.images {
		content, err := fs.ReadFile(s.tree, image)
		if err != nil {
			return nil, err
		}
		all[imageName(image)] = content
	}
	return all, nil
}
