//go:build linux

package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/lab/browsertest"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

func TestMain(m *testing.M) {
	clientIfAsked()
	os.Exit(m.Run())
}

// committed is where the pictures are.
const committed = "../../../docs/pictures"

// What differs between two runs.
var numbers = regexp.MustCompile(`\d+(\.\d+)?m?s\b|kill -9 \d+`)

// rowsOf returns the rows of a picture, without its tabs and caption. The spaces at the beginning of a row
// are part of its first text, or of its place.
func rowsOf(t *testing.T, picture []byte) (rows []string) {
	t.Helper()
	decoder := xml.NewDecoder(bytes.NewReader(picture))
	var row *strings.Builder
	depth := 0 // of groups
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return rows
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			allowed(t, e)
			if e.Name.Local == "g" {
				if depth++; depth == 1 {
					row = &strings.Builder{}
				}
			}
		case xml.EndElement:
			if e.Name.Local == "g" {
				if depth--; depth == 0 {
					rows, row = append(rows, normal(row.String())), nil
				}
			}
		case xml.CharData:
			if row != nil {
				row.Write(e)
			}
		case xml.ProcInst, xml.Directive:
			t.Errorf("the picture has a %T", e)
		}
	}
}

// allowed checks an element: nothing that runs, and nothing from elsewhere.
func allowed(t *testing.T, e xml.StartElement) {
	t.Helper()
	if !slices.Contains([]string{"svg", "title", "desc", "style", "g", "rect", "path", "text"}, e.Name.Local) {
		t.Errorf("the picture has an element %q", e.Name.Local)
	}
	for _, a := range e.Attr {
		if strings.HasPrefix(a.Name.Local, "on") || strings.Contains(a.Name.Local, "href") || a.Name.Local == "src" {
			t.Errorf("%s has the attribute %s=%q", e.Name.Local, a.Name.Local, a.Value)
		}
	}
}

// normal returns a row without its spaces and without what differs between runs.
func normal(row string) string {
	row = numbers.ReplaceAllStringFunc(row, func(found string) string {
		if strings.HasPrefix(found, "kill") {
			return "kill -9 N"
		}
		return "TIME"
	})
	return strings.Join(strings.Fields(row), "")
}

// attempts is how often the story is played: on a busy machine, the server may be one step further when it is killed.
const attempts = 3

// The committed pictures show what gauze prints today: the story is played again.
func TestPictures(t *testing.T) {
	if _, err := realparts.Programs(t.Context(), os.Stderr); err != nil {
		realparts.Missing(t, "npm", err)
	}
	shown := map[string][]string{}
	for _, look := range looks {
		picture, err := os.ReadFile(filepath.Join(committed, look.file))
		if err != nil {
			t.Fatal(err)
		}
		if len(picture) > maxBytes {
			t.Errorf("%s has %d bytes: must be at most %d", look.file, len(picture), maxBytes)
		}
		for _, bad := range []string{"<script", "@import", "url(", "<!"} {
			if bytes.Contains(picture, []byte(bad)) {
				t.Errorf("%s has %q", look.file, bad)
			}
		}
		shown[look.file] = rowsOf(t, picture)
	}
	if light, dark := shown[looks[0].file], shown[looks[1].file]; !slices.Equal(light, dark) {
		t.Fatalf("the pictures differ: %s", firstDifference(light, dark))
	}
	var difference string
	for range attempts {
		if difference = firstDifference(shown[looks[0].file], printed(t)); difference == "" {
			return
		}
		t.Log(difference)
	}
	t.Error("the picture does not show what gauze prints; run `make pictures`\n" + difference)
}

// printed plays the story and returns its rows.
func printed(t *testing.T) (rows []string) {
	t.Helper()
	scenes, err := play(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scenes {
		for _, l := range s.lines {
			row := l.text()
			if l.typed {
				row = "$" + row
			}
			rows = append(rows, normal(row))
		}
	}
	return rows
}

func firstDifference(got, want []string) string {
	for i := range max(len(got), len(want)) {
		g, w := "(none)", "(none)"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			return fmt.Sprintf("row %d of the picture: %s\n       of the run:     %s", i+1, g, w)
		}
	}
	return ""
}

// The story is what must be told: the call was answered although its server was killed, the argument was
// repaired, and the cause was found.
func TestStory(t *testing.T) {
	picture, err := os.ReadFile(filepath.Join(committed, looks[0].file))
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Join(rowsOf(t, picture), "\n")
	for _, part := range []string{"$kill-9N", "step2of4\n", "step3of4\n", "Longrunningoperationcompleted", "head:stringtonumber", "ShipitonFriday.", "SLACK_BOT_TOKEN", "1broken"} {
		if !strings.Contains(rows, part) {
			t.Errorf("the story lacks %q:\n%s", part, rows)
		}
	}
}

// visible is a JavaScript expression: the rows that a browser shows.
const visible = `[...document.querySelectorAll("svg > g")].filter(g => getComputedStyle(g).opacity === "1").map(g => g.textContent)`

// A browser shows the first scene at rest if the user does not want motion, and otherwise each scene at its time.
func TestPicturesInABrowser(t *testing.T) {
	chromium, axe := realparts.NeedBrowser(t)
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		picture, err := os.ReadFile(filepath.Join(committed, filepath.Base(r.URL.Path)))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!doctype html><title>picture</title><meta name=viewport content=width=device-width><link rel=icon href=data:,><body style=margin:0>%s", picture)
	}))
	defer served.Close()
	browser, err := browsertest.Open(t.Context(), chromium, axe)
	if err != nil {
		t.Fatal(err)
	}
	defer browser.Close()
	for i, width := range []int{800, 390} {
		look := browsertest.Look{Width: width, Dark: i == 1}
		p, err := browser.NewPage(served.URL+"/"+looks[i].file, look)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		still := seen(t, p, 0)
		if !strings.Contains(still, "kill -9") || !strings.Contains(still, "completed") || strings.Contains(still, "gauze doctor") {
			t.Errorf("%v: at rest it shows %s", look, still)
		}
		keep(t, p, fmt.Sprintf("still-%d", width))
		look.Motion = true
		if err := p.Look(look); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			part        float64
			want, lacks string
		}{{0.1, "grep demo", "kill -9"}, {0.4, "completed", "plan.md"}, {0.65, "Friday", "kill -9"}, {0.98, "1 broken", "Friday"}} {
			shows := seen(t, p, c.part)
			if !strings.Contains(shows, c.want) || strings.Contains(shows, c.lacks) {
				t.Errorf("%v: at %v it shows %s", look, c.part, shows)
			}
			keep(t, p, fmt.Sprintf("%d-%v", width, c.part))
		}
		for _, problem := range p.Problems() {
			t.Error(problem)
		}
	}
}

// seen returns the rows that are shown at a part of the whole time.
func seen(t *testing.T, p *browsertest.Page, part float64) string {
	t.Helper()
	var rows []string
	script := fmt.Sprintf(`(() => {
		for (const a of document.getAnimations()) { a.pause(); a.currentTime = %v * a.effect.getComputedTiming().duration; }
		return %s;
	})()`, part, visible)
	if err := p.Eval(script, &rows); err != nil {
		t.Fatal(err)
	}
	return strings.Join(rows, "\n")
}

// keep writes a screenshot into the directory GAUZE_KEEP_SCREENSHOTS, if it is set, for a person to look at.
func keep(t *testing.T, p *browsertest.Page, name string) {
	t.Helper()
	dir := os.Getenv("GAUZE_KEEP_SCREENSHOTS")
	if dir == "" {
		return
	}
	picture, err := p.Picture(2000)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
