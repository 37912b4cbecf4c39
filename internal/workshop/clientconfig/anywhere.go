package clientconfig

import (
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/disk/files"
)

// ReadAnywhere reads a file as the clients read it that have it among their own files, whichever
// project it belongs to: the entries of each project, if one file has those of several. It finds
// none if the path is not one of a client's file. A variable that moved the file need not be set
// now.
func (h Home) ReadAnywhere(path string, of ...*Client) (all []*Config) {
	if len(of) == 0 {
		of = clients()
	}
	if all = h.readAt(path, of, Home.has); len(all) > 0 {
		return all
	}
	for dir := h.parent(path); dir != h.parent(dir); dir = h.parent(dir) {
		in := h
		in.Project = dir
		if all = in.readAt(path, of, Home.has); len(all) > 0 {
			return all
		}
	}
	return h.readAt(path, of, Home.couldHave)
}

// Unread returns why no servers could be read from a file that exists, or "".
func (c *Config) Unread() string {
	switch {
	case c.Err != nil:
		return "the file cannot be read: " + files.Reason(c.Err)
	case c.Doc == nil:
		return "the file cannot be parsed"
	}
	return ""
}

// readAt reads a file for every place that matches its path.
func (h Home) readAt(path string, of []*Client, matches func(Home, Place, string) bool) (all []*Config) {
	for _, c := range of {
		for _, p := range c.Places {
			if p.Borrowed || !matches(h, p, path) {
				continue
			}
			if f := h.look(path, c, p); f.Exists {
				all = append(all, h.readProjects(f)...)
			}
		}
	}
	return all
}

// has reports whether a path is one of a place.
func (h Home) has(p Place, path string) bool { return slices.Contains(h.paths(p), path) }

// couldHave reports whether a path would be one of a place if the variable with which its template
// begins had another value.
func (h Home) couldHave(p Place, path string) bool {
	template := p.on(h.OS)
	if !strings.HasPrefix(template, "${") {
		return false
	}
	end := template[closing(template, 1)+1:]
	return end != "" && strings.HasSuffix(strings.ReplaceAll(path, h.separator(), "/"), end)
}

// readProjects reads a file, once for each project whose servers it has if it has those of several.
func (h Home) readProjects(f File) (all []*Config) {
	whole := h.Read(f)
	at := slices.Index(f.Place.Keys[0], inProject)
	if at < 0 || whole.Doc == nil {
		return []*Config{whole}
	}
	above := make([]any, at)
	for i, step := range f.Place.Keys[0][:at] {
		above[i] = step
	}
	projects, ok := whole.Doc.At(above...)
	if !ok {
		return nil
	}
	for name := range projects.Members() {
		one := *whole
		one.Home.Project, one.servers, one.Entries = name, nil, nil
		one.findServers()
		all = append(all, &one)
	}
	return all
}
