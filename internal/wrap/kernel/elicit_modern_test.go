package kernel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"github.com/gauze-mcp/gauze/internal/wrap/stages/login"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze/event"
	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/testonly/logintest"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// openerMeta is that of a client that can open addresses.
var openerMeta = strings.Replace(modernMeta, `Capabilities":{}`, `Capabilities":{"elicitation":{"url":{}}}`, 1)

// modernLogin is a server of the Go SDK behind a login.
type modernLogin struct {
	*loginStory

	mu     sync.Mutex
	bodies [][]byte      // of the calls that the server ran
	held   chan struct{} // receives for each call that is held up
	pass   chan struct{} // nil: calls are not held up
}

// modernAuthServer starts the server. Its tool confirm asks the user.
func modernAuthServer(t *testing.T) *modernLogin {
	server := mcp.NewServer(&mcp.Implementation{Name: "t", Version: "1"}, nil)
	say := func(text string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
	}
	schema := json.RawMessage(`{"type":"object"}`)
	server.AddTool(&mcp.Tool{Name: "write", InputSchema: schema}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return say(string(r.Params.Arguments)), nil
	})
	server.AddTool(&mcp.Tool{Name: "confirm", InputSchema: schema}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if said, ok := r.Params.InputResponses["sure"].(*mcp.ElicitResult); ok {
			return say(said.Action + " " + r.Params.RequestState), nil
		}
		return &mcp.CallToolResult{RequestState: "server's", InputRequests: mcp.InputRequestMap{"sure": &mcp.ElicitParams{Mode: "url", Message: "Sure?", URL: "https://example.com/sure"}}}, nil
	})
	server.AddPrompt(&mcp.Prompt{Name: "p"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Description: "a prompt"}, nil
	})
	server.AddResource(&mcp.Resource{URI: "mem://1", Name: "r"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "mem://1", Text: "a resource"}}}, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})

	as := authServer(t, logintest.Config{})
	m := &modernLogin{loginStory: &loginStory{as: as}, held: make(chan struct{}, 10)}
	inner := as.Server.Config.Handler
	as.Server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/mcp" {
			inner.ServeHTTP(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		again := func() *http.Request {
			r.Body = io.NopCloser(bytes.NewReader(body))
			return r
		}
		call := bytes.Contains(body, []byte(`"tools/call"`))
		m.hold()
		admitted := httptest.NewRecorder()
		inner.ServeHTTP(admitted, again())
		if admitted.Code == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", admitted.Header().Get("WWW-Authenticate"))
			w.WriteHeader(admitted.Code)
			return
		}
		if call {
			m.mu.Lock()
			m.bodies = append(m.bodies, body)
			m.mu.Unlock()
		}
		handler.ServeHTTP(w, again())
	})
	logIn(t, as)
	return m
}

func (m *modernLogin) hold() {
	m.mu.Lock()
	pass := m.pass
	m.mu.Unlock()
	if pass != nil {
		m.held <- struct{}{}
		<-pass
	}
}

// beginModern starts a session with a server whose login has ended.
func beginModern(t *testing.T) *modernLogin {
	m := modernAuthServer(t)
	m.loginStory = beginLogin(t, m.as, unprobed())
	m.discover()
	m.as.Revoke()
	return m
}

// last returns the last call that the server ran, without its id.
func (m *modernLogin) last() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.bodies) == 0 {
		m.t.Fatal("no call ran")
	}
	message, _, err := wire.Scan(m.bodies[len(m.bodies)-1])
	if err != nil {
		m.t.Fatal(err)
	}
	return strings.TrimSuffix(string(message.AppendWithID(nil, []byte("0"))), "\n")
}

// number returns how many calls ran.
func (m *modernLogin) number() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.bodies)
}

// wrote returns the params of a call.
func wrote(n int, more string) string {
	return fmt.Sprintf(`{"name":"write", "arguments":{"n":%d}%s, %s}`, n, more, openerMeta)
}

// asked is a result that asks for a login.
type asked struct{ url, state string }

// reply returns the part of the next request that answers it.
func (a asked) reply(action string) string {
	return fmt.Sprintf(`, "inputResponses":{%q:{"action":%q}}, "requestState":%q`, login.Input, action, a.state)
}

// wantAsked checks that an answer asks for a login.
func (m *modernLogin) wantAsked(id string) asked {
	m.t.Helper()
	a, ok := m.asks(m.answer(id))
	if !ok {
		m.t.Fatalf("not asked: %s", m.answer(id).raw)
	}
	return a
}

func (m *modernLogin) asks(answer message) (a asked, ok bool) {
	m.t.Helper()
	var result struct {
		ResultType    string
		RequestState  string
		InputRequests map[string]struct {
			Method string
			Params map[string]string
		}
	}
	if answer.Error != nil || json.Unmarshal(answer.Result, &result) != nil || result.ResultType != "input_required" {
		return a, false
	}
	q := result.InputRequests[login.Input]
	if q.Method != "elicitation/create" || q.Params["mode"] != "url" || q.Params["message"] == "" || len(q.Params) != 3 || len(result.InputRequests) != 1 {
		m.t.Fatalf("%s", answer.raw)
	}
	return asked{q.Params["url"], result.RequestState}, true
}

func TestModernLoginAccepted(t *testing.T) {
	for method, params := range map[string]string{
		"tools/call": `{"name":"write"%s, "arguments":{"n":1}, ` + openerMeta + `}`,
		// The server learns nothing about the question, wherever the client put the answer.
		"prompts/get":    `{"name":"p", ` + openerMeta + `%s}`,
		"resources/read": `{"uri":"mem://1"%s, ` + openerMeta + `}`,
	} {
		t.Run(method, func(t *testing.T) {
			m := beginModern(t)
			a := m.wantAsked(m.request(method, fmt.Sprintf(params, "")))
			id := m.request(method, fmt.Sprintf(params, a.reply("accept")))
			browse(a.url)
			if answer := m.answer(id); answer.Error != nil || !strings.Contains(answer.raw, `"resultType":"complete"`) {
				t.Errorf("%s", answer.raw)
			}
			if m.as.Logins() != 2 {
				t.Errorf("%d logins", m.as.Logins())
			}
			if method == "tools/call" {
				want := `{"jsonrpc":"2.0","id":0,"method":"tools/call","params":` + fmt.Sprintf(params, "") + `}`
				if got := m.last(); m.number() != 1 || got != want {
					t.Errorf("%d calls ran\n got %s\nwant %s", m.number(), got, want)
				}
				m.wantOutcome(`"n":2`, m.request(method, wrote(2, a.reply("accept")))) // its answer was lost
			}
			m.wantOneSession()
		})
	}
}

// wantOutcome checks that a call ran.
func (m *modernLogin) wantOutcome(text, id string) {
	m.t.Helper()
	if got := m.text(m.answer(id)); !strings.Contains(got, text) {
		m.t.Errorf("answer %q", got)
	}
}

func TestModernLoginDeclined(t *testing.T) {
	for _, action := range []string{"decline", "cancel"} {
		t.Run(action, func(t *testing.T) {
			m := beginModern(t)
			a := m.wantAsked(m.request("tools/call", wrote(1, "")))
			m.wantAdvice(m.wantFault(m.request("tools/call", wrote(1, a.reply(action))), fault.AuthRequired), "gauze login "+m.as.MCP())
			m.wantFault(m.request("tools/call", wrote(1, a.reply(action))), fault.AuthRequired)
			m.wantFault(m.request("tools/call", wrote(1, "")), fault.AuthRequired) // without being asked again
			logIn(t, m.as)
			m.wantOutcome(`"n":1`, m.request("tools/call", wrote(1, "")))
			if m.number() != 1 {
				t.Errorf("%d calls ran", m.number())
			}
		})
	}
}

// Only a client that can open addresses is asked, and only by a result that can require input.
func TestModernLoginCannotBeAskedFor(t *testing.T) {
	m := beginModern(t)
	m.wantFault(m.startModern("write", ""), fault.AuthRequired)
	m.wantFault(m.request("tools/list", "{"+openerMeta+"}"), fault.AuthRequired)
	form := strings.Replace(openerMeta, `"url"`, `"form"`, 1)
	m.wantFault(m.request("tools/call", `{"name":"write",`+form+`}`), fault.AuthRequired)
	if n := len(m.as.Ledger("authorize")); n != 1 {
		t.Errorf("%d attempts", n)
	}
}

func TestModernLoginConcurrentCalls(t *testing.T) {
	m := beginModern(t)
	pass := make(chan struct{})
	m.mu.Lock()
	m.pass = pass
	m.mu.Unlock()
	var ids []string
	for i := range 5 {
		ids = append(ids, m.request("tools/call", wrote(i, "")))
	}
	<-m.held // one asks for all whether the login is accepted
	m.until("all calls have come", func() bool { return m.session.Observe(false).Open == len(ids) })
	m.mu.Lock()
	m.pass = nil
	m.mu.Unlock()
	close(pass)
	var first int
	m.until("a call is answered", func() bool {
		for first = range ids {
			if m.answers(ids[first]) > 0 {
				return true
			}
		}
		return false
	})
	a := m.wantAsked(ids[first])
	b := m.wantAsked(m.request("tools/call", wrote(5, ""))) // the client may have dropped the question
	if a.url != b.url || a.state == b.state {
		t.Errorf("%v, then %v", a, b)
	}
	again := m.request("tools/call", wrote(first, a.reply("accept")))
	late := m.request("tools/call", wrote(6, "")) // which is not asked any more
	browse(a.url)
	ids[first] = again
	ids = append(ids, m.request("tools/call", wrote(5, b.reply("accept"))), late)
	for i, id := range ids {
		m.wantOutcome(fmt.Sprintf(`"n":%d`, i), id)
	}
	if m.as.Logins() != 2 || m.number() != 7 {
		t.Errorf("%d logins, %d calls ran", m.as.Logins(), m.number())
	}
	m.wantOneSession()
}

// The attempt may end before the client returns.
func TestModernLoginEndsBeforeTheAnswer(t *testing.T) {
	t.Run("logged in elsewhere", func(t *testing.T) {
		m := beginModern(t)
		a := m.wantAsked(m.request("tools/call", wrote(1, "")))
		browse(a.url)
		m.wantOutcome(`"n":1`, m.request("tools/call", wrote(1, a.reply("accept"))))
	})
	t.Run("failed", func(t *testing.T) {
		m := beginModern(t)
		a := m.wantAsked(m.request("tools/call", wrote(1, "")))
		m.as.Set(func(c *logintest.Config) { c.Deny = true })
		browse(a.url)
		m.wantFault(m.request("tools/call", wrote(1, a.reply("accept"))), fault.AuthRequired)
	})
	t.Run("not answered", func(t *testing.T) {
		m := beginModern(t)
		a := m.wantAsked(m.request("tools/call", wrote(1, "")))
		b := m.wantAsked(m.request("tools/call", wrote(1, fmt.Sprintf(`,"requestState":%q`, a.state))))
		if a.url != b.url || a.state == b.state {
			t.Errorf("%v, then %v", a, b)
		}
	})
}

// Dialogues of the client with the server are left alone, and continue after a login.
func TestModernLoginAndDialogueWithTheServer(t *testing.T) {
	m := beginModern(t)
	const state, responses = `"server's"`, `{"sure" : {"action":"accept"}}`
	confirm := func(dialogue string) string {
		return m.request("tools/call", `{"name":"confirm"`+dialogue+`,"arguments":{},`+openerMeta+`}`)
	}
	own := `,"inputResponses":` + responses + `,"requestState":` + state
	a := m.wantAsked(confirm(own))
	a = m.wantAsked(confirm(fmt.Sprintf(`,"requestState":%q`, a.state))) // a client that did not ask its user
	id := confirm(a.reply("accept"))
	browse(a.url)
	m.wantOutcome("accept server's", id)
	if got := m.last(); !strings.Contains(got, `"inputResponses":`+responses) || !strings.Contains(got, `"requestState":`+state) || strings.Contains(got, a.state) {
		t.Errorf("sent %s", got)
	}
	m.wantOutcome("accept foreign", confirm(`,"inputResponses":`+responses+`,"requestState":"foreign"`))
	if got := m.last(); !strings.Contains(got, `,"inputResponses":`+responses+`,"requestState":"foreign","arguments"`) {
		t.Errorf("sent %s", got)
	}
	if answer := m.answer(confirm("")); !strings.Contains(answer.raw, `"sure"`) || strings.Contains(answer.raw, login.Input) {
		t.Errorf("%s", answer.raw)
	}
}

// The client of the Go SDK opens the address and repeats the call, in a dialogue with the server as well.
func TestModernLoginWithTheGoSDK(t *testing.T) {
	m := modernAuthServer(t)
	o := unprobed()
	o.Spec.URL = m.as.MCP()
	o.Confirm.After = -1
	o.Events = event.New()
	session := New(o)
	toGauze, in := io.Pipe()
	out, fromGauze := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- session.Serve(t.Context(), toGauze, fromGauze) }()
	var opened addresses
	client := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}},
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			if r.Params.URL == "https://example.com/sure" {
				m.as.Revoke()
				return &mcp.ElicitResult{Action: "accept"}, nil
			}
			opened.add(r.Params.URL)
			go browse(r.Params.URL)
			return &mcp.ElicitResult{Action: "accept"}, nil
		},
	})
	connected, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: out, Writer: in}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if version := connected.InitializeResult().ProtocolVersion; version != "2026-07-28" {
		t.Fatalf("protocol %s", version)
	}
	result, err := connected.CallTool(t.Context(), &mcp.CallToolParams{Name: "confirm", Arguments: map[string]any{}})
	if err != nil || result.IsError || result.Content[0].(*mcp.TextContent).Text != "accept server's" {
		t.Errorf("%v, %+v", err, result)
	}
	if opened.number() != 1 || m.as.Logins() != 2 {
		t.Errorf("%d pages, %d logins", opened.number(), m.as.Logins())
	}
	connected.Close()
	in.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
