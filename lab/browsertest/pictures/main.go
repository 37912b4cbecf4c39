// Command pictures writes the pictures of the dashboard from a real run: every page, for a phone and a
// desk, light and dark.
//
//	go -C lab run ./browsertest/pictures [DIR]
//
// DIR is docs/pictures unless it is given.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
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
	dir := filepath.Join("docs", "pictures")
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	if err := write(context.Background(), dir); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

// write plays a run and writes a picture of every page in every look.
func write(ctx context.Context, dir string) error {
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
	played, err := browsertest.Play(ctx, run)
	if err != nil {
		return err
	}
	address, err := run.Dashboard(ctx)
	if err != nil {
		return err
	}
	browser, err := browsertest.Open(ctx, chromium, axe)
	if err != nil {
		return err
	}
	defer browser.Close()
	pages, err := pagesOf(ctx, played)
	if err != nil {
		return err
	}
	home, err := browser.LogIn(address)
	if err != nil {
		return err
	}
	total := 0
	for _, look := range browsertest.Looks {
		p, err := browser.NewPage(home+"/", look)
		if err != nil {
			return err
		}
		for _, shown := range pages {
			n, err := shown.write(p, home, filepath.Join(dir, fmt.Sprintf("%s-%v.png", shown.name, look)))
			if err != nil {
				return fmt.Errorf("%s: %w", shown.name, err)
			}
			total += n
		}
		p.Close()
	}
	fmt.Printf("%d pictures in %s, %d KB\n", len(pages)*len(browsertest.Looks), dir, total>>10)
	if total > maxBytes {
		return fmt.Errorf("the pictures have %d bytes: must be at most %d", total, maxBytes)
	}
	return nil
}

// shown is a page that is in the pictures.
type shown struct {
	name, path string
	links      []string // links are JavaScript expressions of the links that lead to it from path.
	text       string   // text is what it shows when it is complete.
}

func pagesOf(ctx context.Context, p *browsertest.Played) ([]shown, error) {
	notes, err := p.Notes.Server(ctx)
	if err != nil {
		return nil, err
	}
	search, err := p.Search.Server(ctx)
	if err != nil {
		return nil, err
	}
	return []shown{
		{"overview", "/", nil, "This week"},
		{"server", "/servers/" + notes.ID, nil, "Recent calls"},
		{"server-down", "/servers/" + search.ID, nil, "port 3000"},
		{"timeline", "/timeline", nil, "safe to repeat"},
		{"call", "/timeline", []string{browsertest.RepairedItem}, "What gauze changed"},
		{"tasks", "/tasks", nil, "Publish the notes"},
		{"task", "/tasks/" + url.PathEscape(p.Tasks[0]), nil, "Resume"},
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
