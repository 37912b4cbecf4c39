//go:build unix

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/lab/browsertest"
	"github.com/gauze-mcp/gauze/lab/programs"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

// opened is the site in a directory, behind a server and in a browser.
type opened struct {
	*browsertest.Browser
	dir, url string
	pages    []string
}

// TestInABrowser looks at the site as people do.
func TestInABrowser(t *testing.T) {
	chromium, axe := realparts.NeedBrowser(t)
	o := &opened{dir: t.TempDir()}
	must(t, run(t.Context(), "../..", o.dir))
	var err error
	o.pages, err = filepath.Glob(filepath.Join(o.dir, "*.html"))
	must(t, err)
	served := httptest.NewServer(http.FileServer(http.Dir(o.dir)))
	defer served.Close()
	o.url = served.URL
	o.Browser, err = browsertest.Open(t.Context(), chromium, axe)
	must(t, err)
	defer o.Browser.Close()
	t.Run("pages", o.everyPage)
	t.Run("search", o.search)
	t.Run("keyboard", o.keyboard)
	t.Run("theme", o.theme)
	t.Run("file", o.withoutAServer)
}

// Every page is readable in every look: nothing is wider than the window, and nothing is wrong.
func (o *opened) everyPage(t *testing.T) {
	for _, file := range o.pages {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			p := o.open(t, "/"+name)
			for _, look := range browsertest.Looks {
				if look.Dark && !judged(name, look) && !programs.Everything() && os.Getenv("GAUZE_KEEP_SCREENSHOTS") == "" {
					continue // a color changes no width
				}
				must(t, p.Look(look))
				if wide, err := p.Overflow(); err != nil || len(wide) > 0 {
					t.Errorf("%v: the page is wider than the window: %q %v", look, wide, err)
				}
				keep(t, p, fmt.Sprintf("%s-%v", strings.TrimSuffix(name, ".html"), look))
				if judged(name, look) {
					violations, err := p.Violations()
					must(t, err)
					for _, v := range violations {
						t.Errorf("%v: %s", look, v)
					}
				}
			}
		})
	}
}

// judged reports whether axe-core looks at a page. It is slow: by default it sees the first page in both
// widths and both colors, and those that are made differently in one look; in a run of everything all but the page of all codes,
// for which it needs minutes.
func judged(name string, look browsertest.Look) bool {
	switch name {
	case "index.html":
		return programs.Everything() || look == browsertest.Looks[0] || look == browsertest.Looks[3]
	case "explain.html":
		return false
	case "servers.html", "search.html":
		return look == browsertest.Looks[3]
	}
	return programs.Everything() && look == browsertest.Looks[3]
}

// The search finds a code from any page, and leads to it.
func (o *opened) search(t *testing.T) {
	p := o.open(t, "/servers.html")
	must(t, p.Press("/"))
	must(t, p.Wait(`document.activeElement.id === "q"`))
	must(t, p.Eval(`document.getElementById("q").value = ""`, nil)) // the protocol types the key in spite of preventDefault
	must(t, p.Press("outcome-unknown\r"))
	must(t, p.Wait(`location.pathname === "/search.html" && document.querySelectorAll("#found a").length > 1`))
	keep(t, p, "found-1280-light")
	var first string
	must(t, p.Eval(`document.querySelector("#found a").getAttribute("href")`, &first))
	if first != "explain.html#outcome-unknown" {
		t.Errorf("the first place is %s", first)
	}
	must(t, p.Press("\r"))
	must(t, p.Wait(`location.pathname === "/explain.html" && location.hash === "#outcome-unknown"`))
	must(t, p.Wait(`(() => { const r = document.getElementById("outcome-unknown").getBoundingClientRect(); return r.top >= 0 && r.bottom < innerHeight; })()`))
	keep(t, p, "explained-1280-light")
	q := o.open(t, "/search.html?q=zzzzzz")
	must(t, q.WaitText("Nothing found."))
	must(t, q.Eval(`(() => { const i = document.getElementById("q"); i.value = "<img src=x> gauze"; i.dispatchEvent(new Event("input")); })()`, nil))
	must(t, q.Wait(`document.querySelector("#count").textContent !== ""`))
}

// Everything can be reached with the keyboard: the text, the pages, what was found.
func (o *opened) keyboard(t *testing.T) {
	p := o.open(t, "/index.html")
	must(t, p.TabTo(".skip"))
	must(t, p.Press("\r"))
	must(t, p.Wait(`document.activeElement.id === "main"`))
	p = o.open(t, "/index.html")
	must(t, p.TabTo(`.side a[href="explain.html"]`))
	must(t, p.Press("\r"))
	must(t, p.Wait(`location.pathname === "/explain.html" && document.readyState === "complete"`))
	p = o.open(t, "/search.html?q=doctor")
	must(t, p.Wait(`document.querySelectorAll("#found a").length > 2`))
	must(t, p.TabTo("#found li:nth-child(2) a"))
	must(t, p.Press("\r"))
	must(t, p.Wait(`location.pathname !== "/search.html"`))
}

// The button changes between light and dark, and the next page remembers it.
func (o *opened) theme(t *testing.T) {
	p := o.open(t, "/index.html")
	paper := func() (color string) {
		must(t, p.Eval("getComputedStyle(document.body).backgroundColor", &color))
		return color
	}
	light := paper()
	must(t, p.Click("#theme"))
	dark := paper()
	if light == dark {
		t.Errorf("the button does not change the color %s", light)
	}
	must(t, p.Go("/explain.html"))
	if paper() != dark {
		t.Error("the next page forgets the choice")
	}
	must(t, p.Click("#theme"))
	if paper() != light {
		t.Error("the button does not change back")
	}
}

// The site works as files.
func (o *opened) withoutAServer(t *testing.T) {
	p, err := o.NewPage("file://"+filepath.Join(o.dir, "search.html")+"?q=outcome-unknown", browsertest.Looks[0])
	must(t, err)
	defer p.Close()
	must(t, p.Wait(`document.querySelectorAll("#found a").length > 1`))
	must(t, p.Press("\r"))
	must(t, p.Wait(`location.pathname.endsWith("/explain.html") && location.hash === "#outcome-unknown"`))
	must(t, p.Go("file://"+filepath.Join(o.dir, "index.html")))
	must(t, p.Wait(`[...document.images].every(i => i.complete && i.naturalWidth > 0) && getComputedStyle(document.querySelector("header")).display === "flex"`))
	for _, problem := range p.Problems() {
		if !strings.HasPrefix(problem, "a request to file://"+o.dir) {
			t.Error(problem)
		}
	}
}

// open opens a page of the site. At the end of the test nothing may have been wrong with it.
func (o *opened) open(t *testing.T, path string) *browsertest.Page {
	t.Helper()
	p, err := o.NewPage(o.url+path, browsertest.Looks[0])
	must(t, err)
	t.Cleanup(func() {
		for _, problem := range p.Problems() {
			t.Errorf("%s: %s", path, problem)
		}
		p.Close()
	})
	return p
}

// keep writes a screenshot into the directory GAUZE_KEEP_SCREENSHOTS, if it is set, for a person to look at.
func keep(t *testing.T, p *browsertest.Page, name string) {
	t.Helper()
	dir := os.Getenv("GAUZE_KEEP_SCREENSHOTS")
	if dir == "" {
		return
	}
	picture, err := p.Picture(1600)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
