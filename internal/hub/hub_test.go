package hub

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/hub/upfile"
	"github.com/gauze-mcp/gauze/internal/testonly/census"
	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver"
	"github.com/gauze-mcp/gauze/internal/testonly/patience"
	"github.com/gauze-mcp/gauze/internal/wrap/gateway"
)

func TestMain(m *testing.M) {
	faultyserver.RunIfAsked()
	os.Exit(census.Run(m))
}

// faulty is an entry of a file whose server is a faultyserver; more lines may follow.
func faulty(t testing.TB, key string, more ...string) string {
	t.Helper()
	dir := t.TempDir()
	path, args, env := faultyserver.Command("-ledger", filepath.Join(dir, "ledger"), "-state", filepath.Join(dir, "state"))
	command, _ := json.Marshal(append([]string{path}, args...)) // cannot fail: strings
	text := fmt.Sprintf("  %s:\n    command: %s\n", key, command)
	for _, line := range more {
		if !strings.HasPrefix(line, "  ") {
			text += "    " + line + "\n"
		}
	}
	text += "    env:\n"
	for _, pair := range append(env, "GAUZE_TEST_KEY="+key, census.Mark(t)) {
		name, value, _ := strings.Cut(pair, "=")
		text += fmt.Sprintf("      %s: %q\n", name, value)
	}
	for _, line := range more {
		if strings.HasPrefix(line, "  ") { // of env
			text += "    " + line + "\n"
		}
	}
	return text
}

// file reads a file with these entries.
func file(t testing.TB, entries ...string) *upfile.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "up.yaml")
	if err := os.WriteFile(path, []byte("servers:\n"+strings.Join(entries, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := upfile.Read(path, upfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f.Path = "up.yaml"
	return f
}

// start runs a hub with these servers.
func start(t testing.TB, o Options, file *upfile.File) *Hub {
	t.Helper()
	o.ListWait = patience.Limit() // a busy machine is slow
	h, err := New(file, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.Hurry()
		h.End()
	})
	return h
}

const opening = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

// talk has a whole conversation over stdio and returns the responses by their ids.
func talk(t *testing.T, h *Hub, from Client, server, profile string, requests ...string) (map[string]string, error) {
	t.Helper()
	in := opening
	for i, r := range requests {
		in += fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`+"\n", i+1, r)
	}
	var out bytes.Buffer
	err := h.Serve(t.Context(), from, server, profile, strings.NewReader(in), &out)
	answers := map[string]string{}
	for line := range strings.Lines(out.String()) {
		var m struct{ ID json.RawMessage }
		if json.Unmarshal([]byte(line), &m) == nil && m.ID != nil {
			answers[string(m.ID)] = line
		}
	}
	return answers, err
}

func callOf(tool string) string {
	return fmt.Sprintf(`"method":"tools/call","params":{"name":%q,"arguments":{}}`, tool)
}

func TestOneServerKeepsItsNames(t *testing.T) {
	t.Parallel()
	h := start(t, Options{}, file(t, faulty(t, "one"), faulty(t, "two")))
	got, err := talk(t, h, Client{}, "two", "", callOf("env"))
	if err != nil || !strings.Contains(got["1"], "GAUZE_TEST_KEY=two") {
		t.Errorf("got %v, %v", got, err)
	}
	some := start(t, Options{}, file(t, faulty(t, "some", "tools: {deny: [pid]}")))
	if _, err := talk(t, some, Client{}, "some", ""); err == nil || !strings.Contains(err.Error(), "use a profile instead") {
		t.Errorf("a server of which only some tools are allowed: %v", err)
	}
	if _, err := talk(t, h, Client{}, "tow", ""); err == nil || err.Error() != `up.yaml has no server "tow"; did you mean "two"?` {
		t.Errorf("a misspelled server: %v", err)
	}
	broken := file(t, "  one: {command: [x]}\ninclude: [./none.json]\n")
	missing := start(t, Options{}, broken)
	if _, err := talk(t, missing, Client{}, "notes", ""); err == nil || !strings.Contains(err.Error(), `has no server "notes"; `) ||
		!strings.HasSuffix(err.Error(), "cannot include ./none.json: the file does not exist") {
		t.Errorf("a server of a file that is missing: %v", err)
	}
}

func TestAClientThatHasClosedItsSideGetsAllResponses(t *testing.T) {
	t.Parallel()
	var o Options
	o.Session.Timing.FinishGrace = time.Nanosecond
	h := start(t, o, file(t, faulty(t, "one")))
	for server, tool := range map[string]string{"one": "env", "": "one__env"} {
		if got, err := talk(t, h, Client{}, server, "", callOf(tool)); err != nil || !strings.Contains(got["1"], "GAUZE_TEST_KEY=one") {
			t.Errorf("server %q: got %v, %v", server, got, err)
		}
	}
}

func TestAProfileHasItsServersAndTools(t *testing.T) {
	t.Parallel()
	h := start(t, Options{}, file(t, faulty(t, "one"), faulty(t, "two"),
		"profiles:\n  look: {servers: [two], tools: {deny: [append, two__pid]}}\n"))
	got, err := talk(t, h, Client{}, "", "look", `"method":"tools/list"`, callOf("two__append"), callOf("one__env"), callOf("two__env"), callOf("two__Pid"), callOf("two__pid"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(got["1"], "one__") || strings.Contains(got["1"], `"two__append"`) || !strings.Contains(got["1"], `"two__env"`) {
		t.Errorf("listed %s", got["1"])
	}
	if !strings.Contains(got["2"], "not part of this view") || !strings.Contains(got["3"], "no server has a tool") || !strings.Contains(got["4"], "GAUZE_TEST_KEY=two") {
		t.Errorf("called: %s%s%s", got["2"], got["3"], got["4"])
	}
	for _, denied := range []string{got["5"], got["6"]} {
		if !strings.Contains(denied, "not part of this view") {
			t.Errorf("a tool that the profile denies by its whole name, or another spelling of it: %s", denied)
		}
	}
	if _, err := talk(t, h, Client{}, "", "lok"); err == nil || !strings.Contains(err.Error(), `did you mean "look"?`) {
		t.Errorf("a misspelled profile: %v", err)
	}
}

func TestAProcessHasTheDirectoryAndEnvironmentOfItsClient(t *testing.T) {
	t.Parallel()
	h := start(t, Options{}, file(t, faulty(t, "one", "  GAUZE_TEST_SET: ${WHO} set")))
	for _, who := range []string{"first", "second"} {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		from := Client{Dir: dir, Env: append(os.Environ(), "WHO="+who)}
		got, err := talk(t, h, from, "", "", callOf("one__env"))
		if err != nil || !strings.Contains(got["1"], "GAUZE_TEST_SET="+who+" set") || !strings.Contains(got["1"], filepath.Base(dir)) {
			t.Errorf("%s: %v, %v", who, got["1"], err)
		}
	}
}

func TestAPendingServerIsNotStarted(t *testing.T) {
	t.Parallel()
	f := file(t, faulty(t, "foreign"), faulty(t, "own"))
	f.Server("foreign").Pending = "nobody has confirmed it"
	h := start(t, Options{}, f)
	got, err := talk(t, h, Client{}, "", "", callOf("foreign__env"), callOf("own__env"))
	if err != nil || !strings.Contains(got["1"], "nobody has confirmed it") || !strings.Contains(got["2"], "GAUZE_TEST_KEY=own") {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := talk(t, h, Client{}, "foreign", ""); err == nil || !strings.Contains(err.Error(), "nobody has confirmed it") {
		t.Errorf("the server alone: %v", err)
	}
}

// web is a client over HTTP.
type web struct {
	t              *testing.T
	url, token, id string
}

// serveHTTP runs a hub at an address of its own, and returns that.
func serveHTTP(t *testing.T, o Options, file *upfile.File) (*Hub, string) {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	o.Addr = server.Listener.Addr()
	h := start(t, o, file)
	server.Config.Handler = h
	server.Start()
	t.Cleanup(server.Close)
	return h, server.URL
}

func (c *web) send(body string) *http.Response {
	c.t.Helper()
	r, _ := http.NewRequest(http.MethodPost, c.url, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.id != "" {
		r.Header.Set("Mcp-Session-Id", c.id)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	if id := response.Header.Get("Mcp-Session-Id"); id != "" {
		c.id = id
	}
	return response
}

func (c *web) post(body string) (int, string) {
	c.t.Helper()
	response := c.send(body)
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(text)
}

func (c *web) open() int {
	status, _ := c.post(strings.Split(opening, "\n")[0])
	return status
}

func (c *web) call(tool string) string {
	c.t.Helper()
	_, text := c.post(`{"jsonrpc":"2.0","id":1,` + callOf(tool) + `}`)
	return text
}

func TestAddressesAndTokens(t *testing.T) {
	t.Parallel()
	const all, pinned = "token-of-everything-1234567890", "token-of-a-profile-1234567890"
	tokens := map[string]string{pinned: "look"}
	f := file(t, faulty(t, "one"), faulty(t, "two"), faulty(t, "some", "tools: {allow: [env]}"), "profiles:\n  look: {servers: [two]}\n  other: {servers: [one]}\n")
	h, base := serveHTTP(t, Options{Pinned: func(*upfile.File) (map[string]string, error) { return tokens, nil },
		Front: gateway.Options{Tokens: []string{all}, Drain: -1}}, f)
	for _, c := range []struct {
		path, token, tool, want string
		status                  int
	}{
		{"/mcp", all, "one__env", "GAUZE_TEST_KEY=one", 200},
		{"/mcp/one", all, "env", "GAUZE_TEST_KEY=one", 200},
		{"/mcp/p/look", all, "two__env", "GAUZE_TEST_KEY=two", 200},
		{"/mcp/p/look", pinned, "two__env", "GAUZE_TEST_KEY=two", 200},
		{"/mcp", pinned, "two__env", "GAUZE_TEST_KEY=two", 200},
		{"/mcp", pinned, "one__env", "no server has a tool", 200},
		{"/mcp/one", pinned, "", "", 401},
		{"/mcp", "", "", "", 401},
		{"/mcp", "wrong", "", "", 401},
		{"/mcp/p/other", pinned, "", "", 401},
		{"/mcp/none", all, "", "", 404},
		{"/mcp/none", "", "", "", 401},
		{"/mcp/p/none", all, "", "", 404},
		{"/mcp/some", all, "", "", 404}, // it would have all its tools there
		{"/mcp", all, "some__pid", "not part of this view", 200},
	} {
		client := &web{t: t, url: base + c.path, token: c.token}
		if status := client.open(); status != c.status {
			t.Errorf("%s with %q: status %d, want %d", c.path, c.token, status, c.status)
		} else if status == 200 {
			if got := client.call(c.tool); !strings.Contains(got, c.want) {
				t.Errorf("%s with %q: %s of got %s", c.path, c.token, c.tool, got)
			}
		}
	}
	const next, other = "token-of-the-next-file-1234567890", "token-of-every-server-1234567890"
	tokens = map[string]string{next: "look", other: ""}
	if err := h.Change(f); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path, token string
		status      int
	}{
		{"/mcp/p/look", next, 200}, {"/mcp", next, 200}, {"/mcp/one", next, 401}, {"/mcp/p/other", next, 401},
		{"/mcp", other, 200}, {"/mcp/one", other, 200}, {"/mcp/p/other", other, 200},
		{"/mcp", pinned, 401}, {"/mcp/p/look", pinned, 401}, {"/mcp", all, 200},
	} {
		if status := (&web{t: t, url: base + c.path, token: c.token}).open(); status != c.status {
			t.Errorf("%s with %q after a change: status %d, want %d", c.path, c.token, status, c.status)
		}
	}
	tokens = nil
	if err := h.Change(f); err != nil {
		t.Fatal(err)
	}
	if status := (&web{t: t, url: base + "/mcp/p/look", token: pinned}).open(); status != 401 {
		t.Errorf("a token that was removed got %d", status)
	}
}

func TestAChangedFileEndsNoSession(t *testing.T) {
	t.Parallel()
	stays := faulty(t, "stays")
	h, base := serveHTTP(t, Options{Front: gateway.Options{Drain: -1}}, file(t, stays, faulty(t, "changes")))
	client := &web{t: t, url: base + "/mcp"}
	client.open()
	pid := client.call("stays__pid")
	client.call("changes__pid")
	if err := h.Change(file(t, faulty(t, "changes", "  GAUZE_TEST_NEW: yes"), stays)); err != nil {
		t.Fatal(err)
	}
	if again := client.call("stays__pid"); again != pid {
		t.Errorf("the server that stayed was restarted: %s, then %s", pid, again)
	}
	if got := client.call("changes__env"); !strings.Contains(got, "GAUZE_TEST_NEW=yes") {
		t.Errorf("the changed server is the old one: %s", got)
	}
}

// One server that cannot be reached, such as one whose URL lacks the value of a variable, is the trouble of that one.
func TestABrokenURLStopsNoOtherServer(t *testing.T) {
	t.Parallel()
	config := t.TempDir()
	entry := filepath.Join(config, "servers.json")
	if err := os.WriteFile(entry, []byte(`{"mcpServers": {"broken": {"url": "https://${GAUZE_TEST_NO_HOST}/mcp"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	before := file(t, faulty(t, "one"))
	h := start(t, Options{}, before)
	after := file(t, faulty(t, "one"), faulty(t, "two"), fmt.Sprintf("include: [%q]\n", entry))
	if err := h.Change(after); err != nil {
		t.Fatal(err)
	}
	if got, err := talk(t, h, Client{}, "two", "", callOf("pid")); err != nil || !strings.Contains(got["1"], `"result"`) {
		t.Errorf("another server: %v, %v", got, err)
	}
	if got, err := talk(t, h, Client{}, "", "", callOf("broken__x")); err != nil || !strings.Contains(got["1"], "URL") {
		t.Errorf("the broken one: %v, %v", got, err)
	}
}

// Clients with one server go on with its next version, without beginning again: over HTTP in both eras, and over stdio.
func TestSessionsWithOneServerFollowTheFile(t *testing.T) {
	t.Parallel()
	before, other := faulty(t, "one"), faulty(t, "other")
	h, base := serveHTTP(t, Options{Front: gateway.Options{Drain: -1}}, file(t, before, other))
	client := &web{t: t, url: base + "/mcp/one"}
	client.open()
	first := client.call("pid")
	in, hold := io.Pipe()
	read, out := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- h.Serve(t.Context(), Client{}, "one", "", in, out) }()
	lines := bufio.NewScanner(read)
	ask := func(tool string) string {
		t.Helper()
		io.WriteString(hold, `{"jsonrpc":"2.0","id":7,`+callOf(tool)+"}\n")
		for lines.Scan() {
			if strings.Contains(lines.Text(), `"id":7`) {
				return lines.Text()
			}
		}
		t.Fatal("the session over stdio has ended")
		return ""
	}
	io.WriteString(hold, opening)
	ask("pid")
	modern := func() string {
		t.Helper()
		r, _ := http.NewRequest(http.MethodPost, base+"/mcp/one", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"env","arguments":{},"_meta":{`+
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`))
		for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "env"} {
			r.Header.Set(name, value)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		return string(text)
	}
	if got := modern(); !strings.Contains(got, "GAUZE_TEST_KEY=one") {
		t.Fatalf("a client of the modern era: %s", got)
	}
	for i := range 3 {
		set := fmt.Sprintf("GAUZE_TEST_NEW=%d", i)
		if err := h.Change(file(t, faulty(t, "one", fmt.Sprintf("  GAUZE_TEST_NEW: %q", fmt.Sprint(i))), other)); err != nil {
			t.Fatal(err)
		}
		if got := client.call("env"); !strings.Contains(got, set) {
			t.Errorf("over HTTP: the server after change %d is another one: %s", i, got)
		}
		if got := modern(); !strings.Contains(got, set) {
			t.Errorf("of the modern era: the server after change %d is another one: %s", i, got)
		}
		if got := ask("env"); !strings.Contains(got, set) {
			t.Errorf("over stdio: the server after change %d is another one: %s", i, got)
		}
	}
	if again := client.call("pid"); again == first {
		t.Errorf("the process is the one of before: %s", again)
	}
	hold.Close()
	go io.Copy(io.Discard, read)
	if err := <-served; err != nil {
		t.Error(err)
	}
	if err := h.Change(file(t, other)); err != nil {
		t.Fatal(err)
	}
	status, text := client.post(`{"jsonrpc":"2.0","id":1,` + callOf("pid") + `}`)
	if status != 404 || !strings.Contains(text, `the server \"one\" was removed from the file of gauze up`) && !strings.Contains(text, `the server "one" was removed from the file of gauze up`) {
		t.Errorf("a server that was removed: %d %s", status, text)
	}
	if status, text := (&web{t: t, url: base + "/mcp/othr"}).post("{}"); status != 404 || !strings.Contains(text, `did you mean "other"?`) {
		t.Errorf("a server that never was: %d %s", status, text)
	}
}

// A call that is in flight when its server changes gets its answer from the server that has it.
func TestACallInFlightKeepsItsServer(t *testing.T) {
	t.Parallel()
	h, base := serveHTTP(t, Options{Front: gateway.Options{Drain: -1}}, file(t, faulty(t, "one")))
	client := &web{t: t, url: base + "/mcp/one"}
	client.open()
	response := client.send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"progress","arguments":{"n":3,"interval_ms":50},"_meta":{"progressToken":1}}}`)
	defer response.Body.Close()
	lines, answered, changed := bufio.NewScanner(response.Body), false, false
	for lines.Scan() {
		if strings.Contains(lines.Text(), "notifications/progress") && !changed {
			changed = true
			if err := h.Change(file(t, faulty(t, "one", "  GAUZE_TEST_NEW: yes"))); err != nil {
				t.Error(err)
			}
		}
		answered = answered || strings.Contains(lines.Text(), `"id":7`) && !strings.Contains(lines.Text(), "isError") && !strings.Contains(lines.Text(), `"error"`)
	}
	if !changed || !answered {
		t.Errorf("the file was changed: %v, the call was answered: %v", changed, answered)
	}
	if got := client.call("env"); !strings.Contains(got, "GAUZE_TEST_NEW=yes") {
		t.Errorf("the next call got the server of before: %s", got)
	}
}

func TestAHubThatEndsLeavesNothing(t *testing.T) {
	t.Parallel()
	h := start(t, Options{}, file(t, faulty(t, "one")))
	in, hold := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- h.Serve(ctx, Client{}, "", "", in, io.Discard) }()
	io.WriteString(hold, opening+`{"jsonrpc":"2.0","id":1,`+callOf("one__hang")+"}\n")
	stop()
	<-served
	hold.Close()
	h.End()
	if err := h.Change(h.File()); err == nil {
		t.Error("a hub that has ended was changed")
	}
}

func TestACallInFlightMayFinish(t *testing.T) {
	t.Parallel()
	h, base := serveHTTP(t, Options{Front: gateway.Options{Drain: patience.Limit()}}, file(t, faulty(t, "one")))
	client := &web{t: t, url: base + "/mcp"}
	client.open()
	body := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"one__progress","arguments":{"n":3,"interval_ms":50},"_meta":{"progressToken":1}}}`
	response := client.send(body)
	defer response.Body.Close()
	var ended sync.WaitGroup
	lines := bufio.NewScanner(response.Body)
	answered := false
	for begun := false; lines.Scan(); {
		if strings.Contains(lines.Text(), "notifications/progress") && !begun {
			begun = true
			ended.Go(h.End)
		}
		answered = answered || strings.Contains(lines.Text(), `"id":7`) && !strings.Contains(lines.Text(), "isError")
	}
	if !answered {
		t.Error("the call did not finish")
	}
	ended.Wait()
}

func TestEachClientSendsItsOwnHeaders(t *testing.T) {
	t.Setenv("TEST_KEY", "of gauze up")
	var mu sync.Mutex
	seen := map[string]bool{}
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen[r.Header.Get("X-Key")] = true
		http.Error(w, "no", http.StatusInternalServerError)
	}))
	defer remote.Close()
	h := start(t, Options{}, file(t, fmt.Sprintf("  one: {url: %q, headers: {X-Key: \"${TEST_KEY}\"}}\n", remote.URL+"/mcp")))
	talk(t, h, Client{Dir: t.TempDir(), Env: []string{"TEST_KEY=of the client"}}, "", "", callOf("one__x"))
	mu.Lock()
	defer mu.Unlock()
	if seen["of gauze up"] || !seen["of the client"] {
		t.Errorf("the server got %v", seen)
	}
}

// shelf keeps which servers it is asked about.
type shelf struct {
	mu    sync.Mutex
	whose map[string]bool
}

func (s *shelf) Get(whose string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.whose[whose] = s.whose[whose] || !strings.HasPrefix(whose, "eras ") // which is the same for all
	return nil
}

func (s *shelf) Put(string, []byte) {}

func TestWhatIsRememberedIsForOnePrincipal(t *testing.T) {
	t.Parallel()
	kept := &shelf{whose: map[string]bool{}}
	o := Options{Front: gateway.Options{Tokens: []string{"token-of-someone-1234567890", "token-of-another-1234567890"}, Drain: -1}}
	o.Session.Known.Shelf = kept
	_, base := serveHTTP(t, o, file(t, faulty(t, "one")))
	for _, token := range o.Front.Tokens {
		client := &web{t: t, url: base + "/mcp", token: token}
		client.open()
		client.call("one__pid")
	}
	kept.mu.Lock()
	defer kept.mu.Unlock()
	maps.DeleteFunc(kept.whose, func(_ string, own bool) bool { return !own })
	if len(kept.whose) < 2 {
		t.Error("two principals share what is remembered")
	}
}
