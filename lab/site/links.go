package main

import (
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// repository is where the files are that are not pages.
const repository = "https://github.com/gauze-mcp/gauze"

// resolve returns where a link of a page leads on the site.
func (s *site) resolve(p *page, destination string) string {
	u, err := url.Parse(destination)
	switch {
	case err != nil:
		s.fail(p, "the link %q is not valid: %v", destination, err)
		return destination
	case u.Scheme != "" || u.Host != "":
		return destination
	case u.Path == "":
		p.links = append(p.links, link{p.name, u.Fragment})
		return destination
	}
	if p.source == "" { // a generated page names pages of the site
		p.links = append(p.links, link{u.Path, u.Fragment})
		return destination
	}
	file := path.Join(path.Dir(p.source), u.Path)
	if target := s.byFile[file]; target != nil {
		p.links = append(p.links, link{target.name, u.Fragment})
		u.Path = target.name
		return u.String()
	}
	info, err := fs.Stat(s.tree, file)
	if err != nil {
		s.fail(p, "the link %q leads nowhere: the tree has no %s", destination, file)
		return destination
	}
	kind := "blob"
	if info.IsDir() {
		kind = "tree"
	}
	to := repository + "/" + kind + "/main/" + file
	if u.Fragment != "" {
		to += "#" + u.Fragment
	}
	return to
}

// image returns where the site has a picture of a page.
func (s *site) image(p *page, source string) string {
	file := path.Join(path.Dir(p.source), source)
	if _, err := fs.Stat(s.tree, file); err != nil || strings.Contains(source, ":") {
		s.fail(p, "the picture %q is not in the tree: pages must not load anything from elsewhere", source)
		return source
	}
	s.images[file] = true
	return imageName(file)
}

// imageName returns the name of a picture on the site.
func imageName(file string) string { return "pictures/" + path.Base(file) }

// references are the attributes of HTML in Markdown that lead somewhere.
var references = regexp.MustCompile(`\b(src|srcset|href)="([^"]*)"`)

// inHTML rewrites the links of HTML in a page.
func (s *site) inHTML(p *page, text string) string {
	return references.ReplaceAllStringFunc(text, func(found string) string {
		m := references.FindStringSubmatch(found)
		if m[1] == "href" {
			return fmt.Sprintf("%s=%q", m[1], s.resolve(p, m[2]))
		}
		return fmt.Sprintf("%s=%q", m[1], s.image(p, m[2]))
	})
}

// checkLinks reports the links to pages and headings that do not exist.
func (s *site) checkLinks() {
	for _, p := range s.pages {
		for _, l := range p.links {
			target := s.page(l.page)
			switch {
			case target == nil:
				s.fail(p, "a link leads to %s, which does not exist", l.page)
			case l.anchor != "" && !slices.ContainsFunc(target.headings, func(h heading) bool { return h.ID == l.anchor }):
				s.fail(p, "a link leads to %s#%s, but that page has no such heading", l.page, l.anchor)
			}
		}
	}
}

func (s *site) fail(p *page, format string, args ...any) {
	name := p.source
	if name == "" {
		name = p.name
	}
	s.errs = append(s.errs, fmt.Errorf("%s: %s", name, fmt.Sprintf(format, args...)))
}
