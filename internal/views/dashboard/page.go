package dashboard

import (
	"bytes"
	"errors"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/gauze-mcp/gauze/internal/views/markup"
)

// page is one page. A GET has no effect.
type page struct {
	path     string // a pattern of http.ServeMux without the method, such as /servers/{id}
	nav      string // the entry of the navigation that is current
	template string // the name of its file without .html
	still    bool   // the page is not loaded again when something changes

	// load returns what the template shows. An error that is a *problem is shown as a page.
	load func(d *Dashboard, r *http.Request) (title string, data any, err error)
}

// action is something that a page's form does. It takes ids, words from a fixed set and hashes of
// what was shown: never a command, arguments, an environment or a URL.
type action struct {
	path string
	do   func(d *Dashboard, r *http.Request) (next string, err error) // next is the page that is shown afterwards.
}

// allPages lists the pages. Each file of pages has a list of its own.
func allPages() (all []page) {
	for _, list := range [][]page{
		overviewPages,
		serverPages,
		logPages,
		timelinePages,
		taskPages,
		configPages,
	} {
		all = append(all, list...)
	}
	return all
}

// allActions lists the actions, as allPages does the pages.
func allActions() (all []action) {
	for _, list := range [][]action{
		serverActions,
		taskActions,
		configActions,
	} {
		all = append(all, list...)
	}
	return all
}

// problem is an error that a page explains.
type problem struct {
	Status int
	What   string // What happened, as a sentence.
	Next   string // what to do
}

func (p *problem) Error() string { return p.What }

// frame is what the layout shows around a page.
type frame struct {
	Title, Nav, Prefix, Version string
	Live                        bool // the page is loaded again when something changes
	Locked                      bool // the browser has not logged in
	Data                        any
}

// templates are the parsed templates, by name.
type templates struct{ byName map[string]*markup.Template }

func parseTemplates() (*templates, error) {
	names, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		return nil, err
	}
	t := &templates{byName: map[string]*markup.Template{}}
	for _, name := range names {
		one, err := language.Parse(files, "templates/layout.html", "templates/pieces.html", name)
		if err != nil {
			return nil, err
		}
		t.byName[strings.TrimSuffix(path.Base(name), ".html")] = one
	}
	return t, nil
}

// show returns the handler of a page.
func (d *Dashboard) show(p page) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		title, data, err := p.load(d, r)
		if err != nil {
			d.explain(w, err)
			return
		}
		d.write(w, http.StatusOK, p.template, frame{Title: title, Nav: p.nav, Prefix: d.Prefix, Version: d.Version, Live: !p.still, Data: data})
	}
}

// act returns the handler of an action.
func (d *Dashboard) act(a action) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		next, err := a.do(d, r)
		if err != nil {
			d.explain(w, err)
			return
		}
		http.Redirect(w, r, d.Prefix+next, http.StatusSeeOther)
	}
}

// explain shows an error as a page.
func (d *Dashboard) explain(w http.ResponseWriter, err error) {
	p := &problem{Status: http.StatusInternalServerError, What: err.Error()}
	errors.As(err, &p)
	d.write(w, p.Status, "problem", frame{Title: "Problem", Prefix: d.Prefix, Version: d.Version, Data: p})
}

// write renders a whole page before the first byte is sent.
func (d *Dashboard) write(w http.ResponseWriter, status int, name string, f frame) {
	var b bytes.Buffer
	if err := d.pages.byName[name].Execute(&b, "layout.html", f); err != nil {
		http.Error(w, "the page cannot be rendered: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	w.Write(b.Bytes())
}
