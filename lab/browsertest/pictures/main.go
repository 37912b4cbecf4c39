// Command pictures writes the pictures of the dashboard from a real run that fills an hour (see
// browsertest.Hour for what is real in it): the pages that the documentation shows, light and dark.
//
//	go -C lab run ./browsertest/pictures [-all] [DIR]
//
// DIR is docs/pictures unless it is given. With -all, it writes every page, for a phone and a desk, to be
// looked at.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gauze-mcp/gauze/lab/browsertest"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

// maxBytes is how large all pictures together may be.
const maxBytes = 3 << 20

// maxHeight is how much of a page is shown, in pixels.
const maxHeight = 1100

func main() {
	all := flag.Bool("all", false, "every page in every look")
	flag.Parse()
	dir := filepath.Join("..", "docs", "pictures")
	if flag.NArg() > 0 {
		dir = flag.Arg(0)
	}
	if err := write(context.Background(), dir, *all); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

// write plays an hour and writes pictures of its pages.
func write(ctx context.Context, dir string, all bool) error {
	chromium, axe, err := realparts.Browser(ctx, os.Stderr)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	run, err := browsertest.NewRun(ctx)
	if err != nil {
		return err
	}
	defer run.Close()
	hour, err := browsertest.PlayHour(ctx, run)
	if err != nil {
		return err
	}
	defer hour.Shown.Close()
	address, err := hour.Shown.Dashboard(ctx)
	if err != nil {
		return err
	}
	browser, err := browsertest.Open(ctx, chromium, axe)
	if err != nil {
		return err
	}
	defer browser.Close()
	pages, err := pagesOf(ctx, hour)
	if err != nil {
		return err
	}
	home, err := browser.LogIn(address)
	if err != nil {
		return err
	}
	if err := checkAll(browser, home); err != nil {
		return err
	}
	return take(browser, home, dir, pages, all)
}

// take writes the pictures.
func take(browser *browsertest.Browser, home, dir string, pages []shown, all bool) error {
	total, num := 0, 0
	for _, look := range browsertest.Looks {
		p, err := browser.NewPage(home+"/", look)
		if err != nil {
			return err
		}
		for _, shown := range pages {
			if !all && !shown.isKept(look) {
				continue
			}
			num++
			n, err := shown.write(p, home, filepath.Join(dir, fmt.Sprintf("%s-%v.png", shown.name, look)))
			if err != nil {
				return fmt.Errorf("%s: %w", shown.name, err)
			}
			total += n
		}
		p.Close()
	}
	fmt.Printf("%d pictures in %s, %d KB\n", num, dir, total>>10)
	if total > maxBytes {
		return fmt.Errorf("the pictures have %d bytes: must be at most %d", total, maxBytes)
	}
	return nil
}

// checkAll checks all configured servers, as the button does.
func checkAll(b *browsertest.Browser, home string) error {
	p, err := b.NewPage(home+"/configs", browsertest.Looks[0])
	if err != nil {
		return err
	}
	defer p.Close()
	if err := p.Click("form[action$='/configs/check'] button"); err != nil {
		return err
	}
	return p.Wait(`!document.querySelector("progress") && document.querySelectorAll("td[data-label=State] time").length >= 8`)
}

// shown is a page that is in the pictures.
type shown struct {
	name, path string
	links      []string // links are JavaScript expressions of the links that lead to it from path.
	text       string   // text is what it shows when it is complete.
}

// isKept reports whether the documentation shows the page in this look.
func (s shown) isKept(l browsertest.Look) bool {
	switch s.name {
	case "overview":
		return true
	case "timeline", "server-down", "configs", "call":
		return l.Width > 600
	}
	return false
}

func pagesOf(ctx context.Context, h *browsertest.Hour) ([]shown, error) {
	notes, err := h.Server(ctx, "notes")
	if err != nil {
		return nil, err
	}
	search, err := h.Server(ctx, "search")
	if err != nil {
		return nil, err
	}
	return []shown{
		{"overview", "/", nil, "This week"},
		{"server", "/servers/" + notes.ID, nil, "Recent calls"},
		{"server-down", "/servers/" + search.ID, nil, "port 3000"},
		{"timeline", "/timeline", nil, "safe to repeat"},
		{"call", "/timeline", []string{browsertest.RepairedItem}, "What gauze changed"},
		{"log", "/log?server=notes", nil, "session restored"},
		{"configs", "/configs", nil, "hidden"},
		{"config", "/configs", []string{browsertest.EntryLink("far")}, "Proposed change"},
		{"fix", "/configs", []string{browsertest.EntryLink("far"), `document.querySelector("a.button[href$='/fix']")`}, "Make exactly this change"},
	}, nil
}

// write opens the page and writes its picture. It returns the size of the file.
func (s shown) write(p *browsertest.Page, home, file string) (int, error) {
	if err := p.Go(home + s.path); err != nil {
		return 0, err
	}
	for _, link := range s.links {
		if err := p.Wait(link); err != nil {
			return 0, err
		}
		var path string
		if err := p.Eval(link+`.getAttribute("href")`, &path); err != nil {
			return 0, err
		}
		if err := p.Go(path); err != nil {
			return 0, err
		}
	}
	if err := p.WaitText(s.text); err != nil {
		return 0, err
	}
	for _, problem := range p.Problems() {
		return 0, errors.New(problem)
	}
	picture, err := p.Picture(maxHeight)
	if err != nil {
		return 0, err
	}
	if picture, err = reduce(picture); err != nil {
		return 0, err
	}
	return len(picture), os.WriteFile(file, picture, 0o644)
}
