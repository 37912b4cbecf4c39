//go:build unix

package agenttools

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver/faultyhttp"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

func TestStatesAreNamedByWhatWasSeen(t *testing.T) {
	t.Parallel()
	web := faultyhttp.New(faultyhttp.Config{Era: faultyhttp.Legacy, Stateful: true})
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	a := newAgent(t, settings{files: map[string]string{"bin/well": script(t), "bin/deaf": "#!/bin/sh\nexec sleep 600\n"}})
	in := func(name string) string { return filepath.Join(a.dir, name) }
	a.write(".claude.json", fmt.Sprintf(`{"mcpServers": {
		"well": {"command": %q},
		"deaf": {"command": %q},
		"ends": {"command": "false"},
		"gone": {"command": "/nowhere/at/all"},
		"untyped": {"url": %q},
		"wrong": {"type": "http", "url": %q}}}`, in("bin/well"), in("bin/deaf"), web.URL(), strings.TrimSuffix(web.URL(), "/mcp")+"/wrong"))
	a.write("project/.mcp.json", `{"mcpServers": {"theirs": {"command": "true"}}}`)
	r := a.want(done, "check_health", object{"client": "claude-code", "timeout_seconds": 3})
	want := map[string]string{"well": "healthy", "deaf": "unresponsive", "ends": "dead", "gone": "dead", "untyped": "degraded", "wrong": "unresponsive", "theirs": "not_tried"}
	for _, s := range r.data["servers"].([]any) {
		s := s.(object)
		name := strings.TrimPrefix(s["id"].(string), "claude-code/")
		if s["state"] != want[name] {
			t.Errorf("%s: want %s, have %v", name, want[name], s)
		}
		delete(want, name)
		if next, _ := s["next"].(string); s["state"] != "healthy" && s["state"] != "not_tried" && next == "" {
			t.Errorf("%s: nothing to do next", name)
		}
	}
	if len(want) > 0 {
		t.Errorf("missing %v", want)
	}
	// Healing in memory finds the right address, shows what would be written, and writes nothing.
	before := a.read(".claude.json")
	r = a.want(done, "check_health", object{"server": "wrong", "auto_heal": true})
	s := r.data["servers"].([]any)[0].(object)
	if s["state"] != "degraded" || !strings.Contains(s["diff"].(string), web.URL()) || !strings.Contains(s["next"].(string), "heal_server") || a.read(".claude.json") != before {
		t.Errorf("%v", s)
	}
}

func TestDriftFromALockIsTold(t *testing.T) {
	t.Parallel()
	a := newAgent(t, settings{files: map[string]string{"bin/well": script(t)}})
	a.write(".cursor/mcp.json", fmt.Sprintf(`{"mcpServers": {"well": {"command": %q}}}`, filepath.Join(a.dir, "bin/well")))
	view := a.fleet.Look()
	lock, out, err := a.fleet.Lock(a.fleet.Check(t.Context(), view.Servers, fleet.CheckOptions{}), time.Now())
	if err != nil || len(out) > 0 {
		t.Fatalf("%v %+v", err, out)
	}
	if r := a.call("verify", object{}); !r.failed || !strings.Contains(r.text, "project/"+fleet.LockFile) {
		t.Errorf("%+v", r)
	}
	a.write("project/"+fleet.LockFile, string(lock.Bytes()))
	if r := a.call("verify", object{}); r.data["same"] != true {
		t.Errorf("%+v", r)
	}
	a.write(".cursor/mcp.json", strings.Replace(a.read(".cursor/mcp.json"), `"command"`, `"args": ["-era", "legacy"], "command"`, 1))
	if r := a.call("verify", object{"file": filepath.Join(a.dir, "project", fleet.LockFile)}); r.data["same"] != false || !strings.Contains(r.text, "cursor/well: config") {
		t.Errorf("%+v", r)
	}
	for _, other := range []string{".cursor/mcp.json", "bin/well", "project"} {
		if r := a.call("verify", object{"file": filepath.Join(a.dir, other)}); !r.failed || !strings.Contains(r.text, "gauze lock") || strings.Contains(r.text, "command") {
			t.Errorf("%s: %+v", other, r)
		}
	}
}

// What was agreed to is run, whatever the file says by then.
func TestTheCommandThatWasShownIsTheOneThatRuns(t *testing.T) {
	t.Parallel()
	a := newAgent(t, settings{allow: true})
	shown, other := filepath.Join(a.dir, "shown"), filepath.Join(a.dir, "other")
	config := `{"mcpServers": {"x": {"command": "touch", "args": ["` + shown + `"]}}}`
	a.write("project/.mcp.json", config)
	ask := object{"include_project": true, "servers": []string{"claude-code/x"}}
	token := a.want(needsConsent, "check_health", ask).get("consent")
	a.write("project/.mcp.json", strings.Replace(config, shown, other, 1))
	a.want(done, "check_health", plus(ask, "consent", token))
	if !a.exists("shown") || a.exists("other") {
		t.Errorf("shown was run: %v, other was run: %v", a.exists("shown"), a.exists("other"))
	}
	a.want(needsConsent, "check_health", ask) // the other one is another question
	if a.exists("other") {
		t.Error("it was run")
	}
}

// What a server wrote last is in the text that an agent reads if nothing else says why it failed.
func TestTheLastOutputOfAnUnexplainedFailureIsInTheText(t *testing.T) {
	t.Parallel()
	for _, stream := range []string{"", " >&2"} {
		a := newAgent(t, settings{files: map[string]string{
			"bin/odd": "#!/bin/sh\necho \"flux capacitor misaligned by 7 ($NOTES_TOKEN)\"" + stream + "\nexit 1\n"}})
		a.write(".claude.json", fmt.Sprintf(`{"mcpServers": {"odd": {"command": %q, "env": {"NOTES_TOKEN": %q}}}}`, filepath.Join(a.dir, "bin/odd"), secret))
		for tool, arguments := range map[string]object{"check_health": nil, "test_connection": {"server": "odd"}, "heal_server": {"server": "odd"}} {
			r := a.call(tool, arguments)
			if n := strings.Count(r.text, "flux capacitor misaligned by 7"); n != 1 || strings.Contains(r.text, "neither") {
				t.Errorf("%s: %d times in %q", tool, n, r.text)
			}
		}
		if strings.Contains(a.heard.String(), secret) {
			t.Errorf("the secret is in %q", a.heard.String())
		}
	}
}

// A failure with a known cause is not followed by output: the evidence for the cause is in the report.
func TestAnExplainedFailureHasNoOutputInItsText(t *testing.T) {
	t.Parallel()
	a := newAgent(t, settings{files: map[string]string{"bin/plain": "#!/bin/sh\necho starting up >&2\necho 'Error: ORBIT_TOKEN environment variable is required' >&2\nexit 1\n"}})
	a.write(".claude.json", fmt.Sprintf(`{"mcpServers": {"plain": {"command": %q}}}`, filepath.Join(a.dir, "bin/plain")))
	if r := a.want(done, "check_health", nil); strings.Contains(r.text, "starting up") || !strings.Contains(r.text, "ORBIT_TOKEN") {
		t.Errorf("%s", r.text)
	}
}
