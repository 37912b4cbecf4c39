//go:build unix

package browsertest_test

import (
	"hash/crc32"
	"net/url"
	"sync"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/sample"
	"github.com/gauze-mcp/gauze/lab/browsertest"
	"github.com/gauze-mcp/gauze/lab/programs"
)

// Every page shows what really happened, in every look, readable and without a serious violation.
func (o *opened) showPages(t *testing.T) {
	notes, err := o.Notes.Server(t.Context())
	must(t, err)
	search, err := o.Search.Server(t.Context())
	must(t, err)
	for _, c := range []struct {
		name, path string
		click      string   // the element that leads to the page from path
		texts      []string // what the page shows
	}{
		{"overview", "/", "", []string{"notes", "weather", "search", "Cursor", "Claude Code", "This week: ", "Healed per minute"}},
		{"server", "/servers/" + notes.ID, "", []string{"healthy", "die_read", "unknown", "signal: killed", "notes: cache is cold", "read-only"}},
		{"server-down", "/servers/" + search.ID, "", []string{"dead", "EADDRINUSE", "port 3000"}},
		{"server-ended", "/servers?name=publisher", "", []string{"This server is not running"}},
		{"timeline", "/timeline", "", []string{"replayed because it is safe to repeat", "corrected by scripted-1", "answered with outcome-unknown", "repaired days"}},
		{"call", "/timeline", browsertest.RepairedItem, []string{"What gauze changed", "['wind', 'rain']", `["wind","rain"]`, "Claude Code"}},
		{"tasks", "/tasks", "", []string{"Publish the notes", "server-dead", "2 of 4"}},
		{"task", "/tasks/" + url.PathEscape(o.Tasks[0]), "", []string{"Resume", "third", "die_read", "is not available: "}},
		{"configs", "/configs", "", []string{"Claude Code", "far", "hidden", "not checked"}},
		{"config", "/configs", browsertest.EntryLink("far"), []string{"url", "Proposed change", "Review and apply"}},
		{"fix", "/configs", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := o.page(t, c.path)
			if c.click != "" {
				must(t, p.Click(linkOf(t, p, c.click)))
			}
			if c.name == "fix" {
				openFix(t, p, "far")
			}
			for _, text := range c.texts {
				must(t, p.WaitText(text))
			}
			for _, look := range browsertest.Looks {
				check(t, p, look)
			}
		})
	}
}

// chosen has the seed of all looks. It is made once, because it takes a hash of gauze, which is large.
var chosen struct {
	sync.Once
	seed uint64
}

// check looks at a page: nothing is wider than the window, and axe-core finds nothing serious. axe-core
// is slow: by default it sees each page in one of two looks, which have both widths and both colors; which one
// depends on the name of the page and on gauze. In a run of everything it sees every look.
func check(t *testing.T, p *browsertest.Page, look browsertest.Look) {
	t.Helper()
	chosen.Do(func() {
		gauze, err := programs.Gauze.Path(t.Context())
		must(t, err)
		chosen.seed = sample.Seed(t, gauze)
	})
	t.Logf("%s=%#x", sample.EnvSeed, chosen.seed)
	n := chosen.seed + uint64(crc32.ChecksumIEEE([]byte(t.Name())))
	judged := programs.Everything() || look == browsertest.Looks[n%2*3]
	if look.Dark && !judged {
		return // a color changes no width
	}
	must(t, p.Look(look))
	if wide, err := p.Overflow(); err != nil || len(wide) > 0 {
		t.Errorf("%v: the page is wider than the window: %q %v", look, wide, err)
	}
	if !judged {
		return
	}
	violations, err := p.Violations()
	must(t, err)
	for _, v := range violations {
		t.Errorf("%v: %s", look, v)
	}
}

// openFix goes from the list of entries to the proposed change of one.
func openFix(t *testing.T, p *browsertest.Page, entry string) {
	t.Helper()
	must(t, p.Click(linkOf(t, p, browsertest.EntryLink(entry))))
	must(t, p.Wait(`document.querySelector("a.button[href$='/fix']")`))
	must(t, p.Click("a.button[href$='/fix']"))
	must(t, p.WaitText("Make exactly this change"))
}
