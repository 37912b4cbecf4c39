package dashboard

import (
	"html"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver/faultyhttp"
)

// link returns the link of the entry with this name on the page Configs.
func (s *site) link(name string) string {
	s.t.Helper()
	page := s.get("/configs", 200)
	found := regexp.MustCompile(`href="(/configs/[0-9a-f]+)">` + regexp.QuoteMeta(html.EscapeString(name)) + `<`).FindStringSubmatch(page)
	if found == nil {
		s.t.Fatalf("%s is not listed:\n%s", name, page)
	}
	return found[1]
}

// checked waits until the entry has been checked, and returns its page.
func (s *site) checked(link string) (page string) {
	s.t.Helper()
	s.until(func() bool {
		page = s.get(link, 200)
		return !strings.Contains(page, "</span> checking")
	})
	return page
}

func TestConfigsShowEntriesWithoutSecrets(t *testing.T) {
	s := newSite(t)
	has(t, s.get("/configs", 200), "No MCP servers are configured", "gauze add")
	const hostile = `<img src=x onerror=alert(1)>`
	s.write(".cursor/mcp.json", `{"mcpServers": {
		"notes": {"command": "npx", "args": ["-y", "notes-mcp@1.2.0"], "env": {"NOTES_TOKEN": "`+secret+`"}},
		"web": {"url": "https://mcp.example.com/mcp?key=`+secret+`", "headers": {"Authorization": "Bearer `+secret+`"}},
		"`+hostile+`": {"command": "echo"},
		"../..": {"command": "echo", "args": ["up"]},
		"a/b?c#d": {"command": "echo", "args": ["odd"]},
		"..": {"command": "echo", "args": ["dots"]}
	}}`)
	s.write("project/.mcp.json", `{"mcpServers": {"shared": {"command": "sh", "args": ["-c", "touch never"]}}}`)
	s.write(".codex/config.toml", "[mcp_servers.time\n")
	page := s.get("/configs", 200)
	has(t, page, "Cursor", "notes-mcp@1.2.0", "comes with the project", "not checked", "Files with problems", "config.toml")
	lacks(t, page, secret, "<img")
	for _, name := range []string{"notes", "web", hostile, "../..", "a/b?c#d", "..", "shared"} {
		page := s.get(s.link(name), 200)
		has(t, page, html.EscapeString(name))
		lacks(t, page, secret, "<img")
	}
}

// A server that exits is diagnosed in the background.
func TestCheckShowsTheDiagnosis(t *testing.T) {
	s := newSite(t)
	s.write(".cursor/mcp.json", s.configured("notes", "served"))
	s.write(".claude.json", `{"mcpServers": {"gone": {"type": "stdio", "command": "`+filepath.ToSlash(s.path("no/such/program"))+`", "args": ["--token", "`+secret+`"]}}}`)
	s.write("project/.mcp.json", s.configured("shared", "started"))
	if to := s.post("/configs/check", 303); to != "/configs" {
		t.Errorf("redirected to %s", to)
	}
	s.post("/configs/check", 303) // pressed twice
	has(t, s.checked(s.link("notes")), "works", "tools")
	page := s.checked(s.link("gone"))
	has(t, page, "broken", "Diagnosis")
	lacks(t, page, secret)
	s.checked(s.link("shared"))
	if s.exists("started") {
		t.Error("a project's server was started without consent")
	}
}

// keptBox is the element whose tick stays while the page is loaded again. Its id has the token of what
// was shown: after a change it is a different element, without the tick.
func keptBox(seen string) string { return `<p id="read-` + seen + `" data-keep>` }

func TestServerOfAProjectIsCheckedOnlyAsShown(t *testing.T) {
	s := newSite(t)
	const file = "project/.mcp.json"
	s.write(file, s.configured("shared", "first"))
	link := s.link("shared")
	page := s.get(link, 200)
	has(t, strings.ReplaceAll(page, "\n    ↳ ", ""), "This server comes from a project", html.EscapeString("-state "+s.path("first")))
	seen := hidden(t, page, "seen")
	has(t, page, keptBox(seen))
	s.post(link+"/check", 409)
	s.post(link+"/check", 409, "read", "yes")
	has(t, s.post(link+"/check", 409, "seen", seen), "check the box")
	s.write(file, s.configured("shared", "second"))
	has(t, s.post(link+"/check", 409, "seen", seen, "read", "yes"), "The entry changed after it was shown")
	if s.exists("first") || s.exists("second") {
		t.Fatal("the server was started without consent")
	}
	page = s.get(link, 200)
	lacks(t, page, keptBox(seen)) // a tick for the first entry is not one for the second
	s.post(link+"/check", 303, "seen", hidden(t, page, "seen"), "read", "yes")
	s.checked(link)
	if s.exists("first") || !s.exists("second") {
		t.Error("not what was confirmed was started")
	}
}

func TestFixIsAppliedOnlyAsShown(t *testing.T) {
	s := newSite(t)
	const file = ".cursor/mcp.json"
	written := `{"mcpServers": {"notes": {"command": "echo", "args": "hello", "env": {"NOTES_TOKEN": "` + secret + `"}}}}`
	s.write(file, written)
	link := s.link("notes")
	page := s.get(link, 200)
	has(t, page, "Proposed change", "<ins>", "<del>", link+"/fix", "gauze doctor --fix cursor/notes")
	lacks(t, page, secret)
	page = s.get(link+"/fix", 200)
	has(t, page, "I have read this change", "<ins>&#43;", "<del>-", filepath.FromSlash("~/.cursor/mcp.json"))
	lacks(t, page, secret)
	consent := hidden(t, page, "consent")
	has(t, s.post(link+"/fix", 409, "consent", consent), "check the box")
	s.post(link+"/fix", 409, "read", "yes")
	s.post(link+"/fix", 409, "consent", strings.Repeat("0", 32), "read", "yes")
	s.write(file, written+"\n")
	has(t, s.post(link+"/fix", 409, "consent", consent, "read", "yes"), "No file was changed", "Review the new diff")
	if s.read(file) != written+"\n" {
		t.Fatalf("the file was changed:\n%s", s.read(file))
	}
	consent = hidden(t, s.get(link+"/fix", 200), "consent")
	if to := s.post(link+"/fix", 303, "consent", consent, "read", "yes"); to != link {
		t.Errorf("redirected to %s", to)
	}
	if got := s.read(file); got == written+"\n" || !strings.Contains(got, secret) {
		t.Errorf("the file is now\n%s", got)
	}
	page = s.checked(link)
	has(t, page, "The file was changed", "gauze undo ")
	lacks(t, page, secret)
	s.post(link+"/fix", 409, "consent", consent, "read", "yes") // pressed twice
	s.get(link+"/fix", 404)
}

// A fix that made the server work is proposed, and applied as any other.
func TestFixThatHelpedIsKept(t *testing.T) {
	s := newSite(t)
	server := faultyhttp.New(faultyhttp.Config{Answers: faultyhttp.JSON, Era: faultyhttp.Legacy})
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	right := server.URL()
	at, err := url.Parse(right)
	if err != nil {
		t.Fatal(err)
	}
	at.Path = "/wrong"
	s.write(".cursor/mcp.json", `{"mcpServers": {"web": {"url": "`+at.String()+`"}}}`)
	link := s.link("web")
	s.post(link+"/check", 303)
	page := s.checked(link)
	has(t, page, "broken", `value="heal"`)
	lacks(t, page, "Proposed change")
	s.get(link+"/fix", 404)
	s.post(link+"/check", 303, "mode", "heal")
	has(t, s.checked(link), "Fixes that were tried", "Proposed change", right)
	s.post(link+"/fix", 303, "consent", hidden(t, s.get(link+"/fix", 200), "consent"), "read", "yes")
	has(t, s.read(".cursor/mcp.json"), right)
	has(t, s.checked(link), "works", "gauze undo ")
}

func TestUnknownEntries(t *testing.T) {
	s := newSite(t)
	s.write(".cursor/mcp.json", s.configured("notes", "served"))
	for _, id := range []string{"0123456789abcdef", "%2e%2e%2f", "cursor", "%3Cscript%3E"} {
		lacks(t, s.get("/configs/"+id, 404), "<script>")
		s.get("/configs/"+id+"/fix", 404)
		s.post("/configs/"+id+"/check", 404)
		s.post("/configs/"+id+"/fix", 404)
	}
	s.post(s.link("notes")+"/check", 400, "mode", "rm -rf")
}
