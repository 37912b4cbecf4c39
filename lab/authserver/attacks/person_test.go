package attacks

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// person is a user of a machine, with a home, logins and a browser of their own.
type person struct {
	world *world
	name  string
	home  string
	file  string   // file has what gauze told the person since they began what they do now.
	more  []string // more variables of their programs
	types string   // types is what the person types at a terminal when gauze asks, with the Enter key; empty: gauze has no terminal.

	mu     sync.Mutex
	target string // target is the server that the person uses now.
	asked  bool   // asked means that gauze asked about it.
	numAsk int    // numAsk counts the questions of gauze.
	heard  strings.Builder
	giveUp context.CancelFunc
}

func (w *world) newPerson(name string) *person {
	home := w.TempDir()
	return &person{world: w, name: name, home: home, file: filepath.Join(home, "told")}
}

// env returns the environment of the person's programs.
func (p *person) env() []string {
	return append(append(os.Environ(), p.more...),
		"HOME="+p.home, "GAUZE_STATE_DIR="+p.state(), "GAUZE_KEYRING=off",
		"HTTPS_PROXY="+p.world.proxy, "HTTP_PROXY="+p.world.proxy, "NO_PROXY=", "SSL_CERT_FILE="+p.world.roots, "SSL_CERT_DIR="+p.home,
		"BROWSER="+p.world.self, envPerson+"="+p.name, envTold+"="+p.file)
}

func (p *person) state() string { return filepath.Join(p.home, "state") }

// limit returns how long a test waits for one event: more on a machine that the check found slow.
func limit() time.Duration {
	pace, _ := strconv.Atoi(os.Getenv("GAUZE_TEST_PACE"))
	return time.Duration(max(pace, 1)) * 2 * time.Minute
}

// begin is called when the person begins to use a server. The context ends when they give up.
func (p *person) begin(target string) (context.Context, context.CancelFunc) {
	if err := os.WriteFile(p.file, nil, 0o600); err != nil {
		p.world.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(p.world.Context(), limit())
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target, p.asked, p.giveUp = target, false, cancel
	return ctx, cancel
}

// end is called when they are done.
func (p *person) end() string {
	text, err := os.ReadFile(p.file)
	if err != nil {
		p.world.Fatal(err)
	}
	p.hear(string(text))
	return string(text)
}

// hear keeps a text, which must not contain a secret.
func (p *person) hear(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard.WriteString(text + "\n")
}

// decides returns the server that the person agrees to use with a provider, if they know what they do:
// gauze named both, and the person was asked, by gauze or by the provider's page. A page is also enough
// if they use the provider with the same origin, or have never heard of it.
func (p *person) decides(with *provider, page bool) (target string) {
	if p == nil {
		return ""
	}
	text, _ := os.ReadFile(p.file)
	p.mu.Lock()
	defer p.mu.Unlock()
	if page && (with.usual == "" || originOf(p.target) == originOf(with.usual)) {
		return p.target
	}
	var server, provider bool
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, "redirect_uri=") { // which is for the browser
			server = server || strings.Contains(line, hostOf(p.target))
			provider = provider || strings.Contains(line, hostOf(with.origin))
		}
	}
	if server && provider && (page || p.asked) {
		return p.target
	}
	return ""
}

// gauze runs a command of gauze about a server, and returns what it told.
func (p *person) gauze(target string, args ...string) (text string, err error) {
	ctx, cancel := p.begin(target)
	defer cancel()
	out, err := os.OpenFile(p.file, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.world.Fatal(err)
	}
	defer out.Close()
	cmd := exec.CommandContext(ctx, gauze(p.world.T), args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = p.env(), p.home, out, out
	if p.types != "" {
		err = p.atTerminal(cmd, out)
	} else {
		err = cmd.Run()
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		p.world.Errorf("%s: gauze %s does not end\n%s", p.name, strings.Join(args, " "), p.end())
	}
	return p.end(), err
}

// login runs gauze login.
func (p *person) login(target string, args ...string) error {
	text, err := p.gauze(target, append([]string{"login", target}, args...)...)
	if err != nil {
		err = errors.New(err.Error() + "\n" + text)
	}
	return err
}

// mustLogin is login that must succeed.
func (p *person) mustLogin(target string, args ...string) {
	p.world.Helper()
	if err := p.login(target, args...); err != nil {
		p.world.Fatalf("%s: gauze login: %v", p.name, err)
	}
}

// run starts gauze run for a server, calls its tool through it once, and ends it.
func (p *person) run(target string, args ...string) error {
	p.world.Helper()
	return p.during(target, func(s *session) error { return s.call() }, args...)
}

// session is a client that is connected to gauze.
type session struct {
	*mcp.ClientSession
	person *person
	ctx    context.Context
}

// during starts gauze run for a server and does something with it.
func (p *person) during(target string, do func(*session) error, args ...string) error {
	p.world.Helper()
	return p.start(target, do, append([]string{"run", "--confirm-after=-1ns", "--url", target}, args...)...)
}

// agent lets an agent call a tool of gauze mcp.
func (p *person) agent(tool string, arguments map[string]any) {
	p.world.Helper()
	err := p.start("", func(s *session) error {
		res, err := s.CallTool(s.ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
		if err == nil {
			p.hear(textOf(res))
		}
		return err
	}, "mcp")
	if err != nil {
		p.world.Errorf("gauze mcp: %s: %v", tool, err)
	}
}

// start starts a command of gauze that serves MCP, connects a client to it and does something with it.
func (p *person) start(target string, do func(*session) error, args ...string) error {
	ctx, cancel := p.begin(target)
	defer cancel()
	cmd := exec.CommandContext(ctx, gauze(p.world.T), args...)
	cmd.Env, cmd.Dir = p.env(), p.home
	var stderr strings.Builder
	cmd.Stderr = &stderr
	err := p.connect(ctx, &mcp.CommandTransport{Command: cmd}, do)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		p.world.Errorf("%s: gauze %s does not end\n%s", p.name, strings.Join(args, " "), stderr.String())
	}
	p.hear(stderr.String())
	p.end()
	return err
}

// connect connects a client, which opens addresses for its user, and does something with it.
func (p *person) connect(ctx context.Context, t mcp.Transport, do func(*session) error) error {
	c := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{
			URL: &mcp.URLElicitationCapabilities{}, Form: &mcp.FormElicitationCapabilities{},
		}},
		ElicitationHandler: p.answer,
	})
	connected, err := c.Connect(ctx, t, nil)
	if err != nil {
		p.hear(err.Error())
		return err
	}
	defer connected.Close()
	return do(&session{connected, p, ctx})
}

// answer answers a question of gauze as people always do.
func (p *person) answer(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	if err := tell(p.file, r.Params.Message); err != nil {
		return nil, err
	}
	p.noteAsked()
	if r.Params.URL != "" {
		go newBrowser(p.name, p.world.proxy, p.file, authorityPEM()).open(r.Params.URL)
	}
	return &mcp.ElicitResult{Action: "accept"}, nil
}

// noteAsked counts a question of gauze that the person answered.
func (p *person) noteAsked() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = true
	p.numAsk++
}

// call lists the tools, as all clients do, and calls the only one.
func (s *session) call() error {
	if _, err := s.ListTools(s.ctx, nil); err != nil {
		s.person.hear(err.Error())
		return err
	}
	res, err := s.CallTool(s.ctx, &mcp.CallToolParams{Name: toolName, Arguments: map[string]any{"from": s.person.name}})
	if err != nil {
		s.person.hear(err.Error())
		return err
	}
	text := textOf(res)
	s.person.hear(text)
	if res.IsError || text != "you are "+s.person.name {
		return errors.New(text)
	}
	return nil
}

// textOf returns the text of a result.
func textOf(res *mcp.CallToolResult) string {
	var text strings.Builder
	for _, c := range res.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			text.WriteString(c.Text)
		}
	}
	return text.String()
}

// leave is called when the browser of a person shows nothing that leads on.
func (w *world) leave(_ http.ResponseWriter, r *http.Request) {
	p := w.people[r.Header.Get(personHeader)]
	p.mu.Lock()
	defer p.mu.Unlock()
	p.giveUp()
}
