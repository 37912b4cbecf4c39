//go:build linux && !race

package realtest

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/backup"
	"github.com/gauze-mcp/gauze/internal/clientconfig"
	"github.com/gauze-mcp/gauze/internal/doctor"
	"github.com/gauze-mcp/gauze/internal/fleet"
	"github.com/gauze-mcp/gauze/internal/upstream"
)

// fleet is what gauze sees of the house.
func (h *house) fleet() *fleet.Fleet {
	return &fleet.Fleet{
		Home:  clientconfig.Home{OS: "linux", Home: h.dir, Project: h.project, Environ: h.environ},
		Store: backup.Store{Dir: h.path("state")}, Machine: doctor.ThisMachine(), Gauze: gauzeBinary,
	}
}

// do makes a change as somebody does who has seen its diff.
func (h *house) do(what string, plan func(*fleet.View) (fleet.Plan, error)) {
	h.t.Helper()
	f := h.fleet()
	p, err := plan(f.Look(h.known(h.t)))
	if err != nil {
		h.t.Fatalf("%s, %s: %v", h.client, what, err)
	}
	if p.Empty() || p.Diff() == "" {
		h.t.Fatalf("%s, %s: nothing to do; skipped %v", h.client, what, p.Skipped)
	}
	h.t.Logf("%s, %s:\n%s", h.client, what, strings.ReplaceAll(p.Diff(), h.dir, "~"))
	if _, err := f.Apply(p, p.Consent()); err != nil {
		h.t.Fatalf("%s, %s: %v", h.client, what, err)
	}
}

func (h *house) add(s fleet.NewServer) {
	h.t.Helper()
	h.do("add", func(v *fleet.View) (fleet.Plan, error) { return v.Add(s, []*clientconfig.Client{h.known(h.t)}) })
}

func (h *house) wrap() {
	h.t.Helper()
	h.do("wrap", func(v *fleet.View) (fleet.Plan, error) { return v.Wrap(v.Servers, true), nil })
}

func (h *house) unwrap() {
	h.t.Helper()
	h.do("unwrap", func(v *fleet.View) (fleet.Plan, error) { return v.Unwrap(v.Servers), nil })
}

// startings are homes as people have them.
var startings = []struct {
	name  string
	build func(h *house) map[string]seen // and what is in it already
}{
	{"an empty home", func(*house) map[string]seen { return map[string]seen{} }},
	{"a file the client wrote", (*house).byItself},
	{"a file somebody wrote by hand", (*house).byHand},
}

// byItself lets the client add a server of its own.
func (h *house) byItself() map[string]seen {
	fill := strings.NewReplacer("NAME", "theirs", "WITNESS", h.witness("theirs"))
	var args []string
	for _, word := range h.own {
		args = append(args, fill.Replace(word))
	}
	if out, errs, err := h.run(args...); err != nil {
		h.t.Fatalf("%s %q: %v\n%s%s", h.client, args, err, out, errs)
	}
	if _, err := os.Stat(h.path(h.file + "c")); err == nil { // opencode has two names for its file
		h.file += "c"
	}
	return map[string]seen{"theirs": {args: []string{"one"}, env: map[string]string{"LEVEL": "1"}}}
}

// handmade are files in odd styles: tabs, no indentation, comments where they are allowed, keys in another order.
var handmade = map[string]string{
	"claude-code": "{\n\t\"numStartups\": 3,\n\t\"mcpServers\": { \"mine\": {\"args\":[\"one\"],\n\t\t\"env\"  : {\"LEVEL\":\"1\"}, \"command\":\"WITNESS\"}\n\t}, \"theme\": \"dark\"\n}",
	"codex": "model = \"none\" # mine\n\n  [mcp_servers.\"mine\"] # a comment\n  command='WITNESS'\n  args = [ # why\n    \"one\",\n  ]\n  env = {LEVEL='1'}\n\n[tui]\n" +
		"notifications = false\n",
	"gemini-cli":  "// my settings\n{\n  \"ui\": {\"theme\": \"Default\"},\n  \"mcpServers\": {\n      // mine\n      \"mine\": {\"command\": \"WITNESS\", \"args\": [\n\"one\"], \"env\": {\"LEVEL\": \"1\"}} /* last */\n  }\n}\n",
	"opencode":    "{\n\t\"$schema\": \"https://opencode.ai/config.json\",\n\t// mine\n\t\"mcp\": {\n\t\t\"mine\": {\n\t\t\t\"type\": \"local\", \"command\": [\"WITNESS\", \"one\",],\n\t\t\t\"environment\": {\"LEVEL\": \"1\"},\n\t\t},\n\t},\n}\n",
	"copilot-cli": "{ // mine\r\n  \"mcpServers\": {\r\n    \"mine\": { \"tools\": [\"*\"], \"type\": \"local\", \"args\": [\"one\"], \"command\": \"WITNESS\", \"env\": { \"LEVEL\": \"1\" } },\r\n  },\r\n}\r\n",
}

func (h *house) byHand() map[string]seen {
	h.write(h.file, strings.ReplaceAll(handmade[string(h.client)], "WITNESS", h.witness("mine")))
	return map[string]seen{"mine": {args: []string{"one"}, env: map[string]string{"LEVEL": "1"}}}
}

// What gauze adds is taken by the real client as it was meant, what is wrapped works through gauze, and what is
// unwrapped is byte for byte what it was.
func TestJudgesTakeWhatIsAddedAndWrapped(t *testing.T) {
	for _, j := range judges {
		for _, s := range startings {
			t.Run(string(j.client)+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				h := newHouse(t, j)
				want := s.build(h)
				h.add(fleet.NewServer{Name: "plain", Spec: upstream.Spec{Command: h.witness("plain"), Args: []string{"one", "two words", `"quoted" \ ü`}, Env: []string{"GREETING=hello 'world'", "LEVEL=2"}}})
				want["plain"] = seen{args: []string{"one", "two words", `"quoted" \ ü`}, env: map[string]string{"GREETING": "hello 'world'", "LEVEL": "2"}}
				dollar := upstream.Spec{Command: h.witness("dollar"), Env: []string{"GREETING=pa$$word and $HOME"}}
				if !h.known(t).Alters(dollar) { // else it is refused
					h.add(fleet.NewServer{Name: "dollar", Spec: dollar})
					want["dollar"] = seen{env: map[string]string{"GREETING": "pa$$word and $HOME"}}
				}
				h.add(fleet.NewServer{Name: "secret", Spec: upstream.Spec{Command: h.witness("secret"), Args: []string{"one"}, Env: []string{tokenName + "=${" + tokenName + "}"}}})
				want["secret"] = seen{args: []string{"one"}, env: map[string]string{tokenName: secretToken}}
				h.add(fleet.NewServer{Name: "remote", Spec: upstream.Spec{URL: h.web.at("remote"),
					Header: []upstream.Header{{Name: "X-Team", Value: "blue"}, {Name: "X-Token", Value: "${" + tokenName + "}"}}}})
				want["remote"] = seen{headers: map[string]string{"X-Team": "blue", "X-Token": secretToken}}
				if text := h.read(); strings.Contains(text, secretToken) {
					t.Errorf("the secret stands in the file:\n%s", text)
				}
				h.wantWorking("added", want)

				before := h.read()
				h.wrap()
				h.wantAllWrapped()
				h.wantWorking("wrapped", want)
				h.unwrap()
				if after := h.read(); after != before {
					t.Errorf("%s: not the same bytes:\n%s\n---\n%s", h.client, before, after)
				}
			})
		}
	}
}

// wantAllWrapped: no server is left out but those that gauze says it cannot wrap.
func (h *house) wantAllWrapped() {
	h.t.Helper()
	for _, s := range h.fleet().Look(h.known(h.t)).Servers {
		if !s.Wrapped && !slices.Contains([]string{"remote"}, s.Name) {
			h.t.Errorf("%s is not wrapped", s.ID())
		}
	}
}
