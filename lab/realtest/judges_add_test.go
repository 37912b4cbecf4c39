//go:build linux

package realtest

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/workshop/backup"
	"github.com/gauze-mcp/gauze/internal/workshop/clientconfig"
	"github.com/gauze-mcp/gauze/internal/workshop/doctor"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/lab/programs"
)

// fleet is what gauze sees of the house.
func (h *house) fleet() *fleet.Fleet {
	return &fleet.Fleet{
		Home:  clientconfig.Home{OS: "linux", Home: h.dir, Project: h.project, Environ: h.environ},
		Store: backup.Store{Dir: h.path("state")}, Machine: doctor.ThisMachine(), Gauze: gauzeBinary(),
	}
}

var consentOf = regexp.MustCompile(`--consent ([0-9a-f]+)`)

// gauze changes files as somebody does who looks at the diff first, and agrees to exactly that.
func (h *house) gauze(args ...string) {
	h.t.Helper()
	run := func(more ...string) (string, error) {
		before, after, dashes := args, []string(nil), slices.Index(args, "--")
		if dashes >= 0 {
			before, after = args[:dashes], args[dashes:]
		}
		cmd := exec.CommandContext(h.t.Context(), gauzeBinary(), slices.Concat(before, more, after)...)
		cmd.Dir, cmd.Env = h.project, append(slices.Clip(h.environ), "GAUZE_BIN="+gauzeBinary())
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	shown, _ := run("--dry-run") // the doctor's status is that of the servers
	consent := consentOf.FindStringSubmatch(shown)
	if consent == nil || !strings.Contains(shown, "@@") {
		h.t.Fatalf("gauze %q shows no diff:\n%s", args, shown)
	}
	if said, err := run("--consent", consent[1]); err != nil && args[0] != "doctor" {
		h.t.Fatalf("gauze %q: %v\n%s", args, err, said)
	}
}

func (h *house) add(name string, args ...string) {
	h.t.Helper()
	h.gauze(append([]string{"add", name, "--client", string(h.client), "--no-wrap"}, args...)...)
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
	seed := ownSeed(t)
	for i, j := range asked() {
		for n, s := range startings {
			if !programs.Everything() && (seed+uint64(i)+uint64(n))%2 > 0 {
				continue // the other client begins with this one
			}
			t.Run(string(j.client)+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				h := newHouse(t, j)
				want := s.build(h)
				h.add("plain", "--env", "GREETING=hello 'world'", "--env", "LEVEL=2", "--", h.witness("plain"), "one", "two words", `"quoted" \ ü`)
				want["plain"] = seen{args: []string{"one", "two words", `"quoted" \ ü`}, env: map[string]string{"GREETING": "hello 'world'", "LEVEL": "2"}}
				dollar := "GREETING=pa$$word and $HOME"
				if !h.known(t).Alters(launch.Spec{Env: []string{dollar}}) { // else it is refused
					h.add("dollar", "--env", dollar, "--", h.witness("dollar"))
					want["dollar"] = seen{env: map[string]string{"GREETING": "pa$$word and $HOME"}}
				}
				h.add("secret", "--env", tokenName, "--", h.witness("secret"), "one")
				want["secret"] = seen{args: []string{"one"}, env: map[string]string{tokenName: secretToken}}
				h.add("remote", h.web.at("remote"), "--header", "X-Team: blue", "--header", "X-Token: ${"+tokenName+"}")
				want["remote"] = seen{headers: map[string]string{"X-Team": "blue", "X-Token": secretToken}}
				if text := h.read(); strings.Contains(text, secretToken) {
					t.Errorf("the secret stands in the file:\n%s", text)
				}
				h.wantWorking("added", want)

				before := h.read()
				h.gauze("wrap", "--all", "--remote", "--client", string(h.client))
				h.wantAllWrapped()
				h.wantWorking("wrapped", want)
				h.gauze("unwrap", "--all", "--client", string(h.client))
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
