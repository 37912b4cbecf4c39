package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/faultyserver/faultyhttp"
	"github.com/gauze-mcp/gauze/internal/testonly/modeltest"
)

// dies is a call that kills the server once, and has its effect when it is repeated.
const dies = "tool: die_read, arguments: {times: 1, key: k30}"

// A forty-step task whose server stops working at step thirty stops with its state and says which
// server, since when, why, what was done and what remains. When the server is back, it continues,
// and every effect happens once.
func TestTaskWhoseServerDiesAtStepThirty(t *testing.T) {
	t.Parallel()
	// Which limit is reached first, that of the server or that of the call, depends on how fast it dies.
	const parts = `The server "s" (is not available: .+|did not answer the call of \w+ in 5 attempts\.)` + "\n" +
		`It has been unavailable since \d\d:\d\d:\d\d \([1-9][\dm]*s\)\.` + "\n" +
		`Reported: .*%s.*\n(.+\n)?` +
		`Done: 29 of 40 steps, \d+ calls\.` + "\n" +
		`Remaining: s30, s31, s32, s33, s34, s35, s36, s37 and 3 more\.` + "\n" + `Once the server works, .+\ngauze task resume `
	for name, test := range map[string]struct {
		flags, head, step, reported string
		args                        []string
		before                      bool // the task stops before step thirty, and is resumed
	}{
		"it exits":             {flags: "-exit-at-start=skip=1,code=3", step: dies, args: []string{"--patience", "3s"}, reported: `exit status 3`},
		"it crashes in a loop": {flags: "-exit-after-initialize=skip=1,code=3", step: dies, args: []string{"--patience", "3s"}, reported: `exit status 3`},
		// Its short limits apply to step thirty only: a busy machine may take longer for the others.
		"it hangs": {before: true, flags: "-hang=calls=0 -ignore-initialize=skip=1", head: "budget: {steps: 29}\n",
			step: "tool: echo, arguments: {text: hello}", args: []string{"--timeout", "300ms", "--start-timeout", "300ms", "--patience", "3s"}, reported: `did not`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newTasks(t)
			file, keys := forty(test.head+theServer, test.step)
			k.write("forty.yaml", file)
			command := append(append([]string{"run", "--yes"}, test.args...), "forty.yaml")
			if test.before {
				id := k.gauze("run", "--yes", "forty.yaml").want(1, "budget of 29 calls").id()
				command = append(append([]string{"resume"}, test.args...), id)
			}
			k.breaks(strings.Fields(test.flags)...)
			stopped := k.gauze(command...)
			stopped.want(3, fmt.Sprintf(parts, test.reported))
			k.wantEffects(keys[:29]...)
			id := stopped.id()
			if shown := k.gauze("show", id); !strings.Contains(shown.stdout, "stopped: server-dead") || shown.status != 0 {
				t.Errorf("exit status %d\n%s", shown.status, shown.stdout)
			}
			k.breaks()
			k.gauze("resume", id).want(0, `The task "forty steps" is done: 40 of 40 steps`)
			k.wantEffects(keys...)
			k.gauze("resume", id).want(0, "is done")
			k.wantEffects(keys...)
		})
	}
}

// The tools changed while the server was down. A call that may have run is not repeated with a tool
// that is a different one.
func TestTaskWhoseServerComesBackWithOtherTools(t *testing.T) {
	t.Parallel()
	k := newTasks(t, "-exit-at-start=skip=1,code=3")
	file, keys := forty(theServer, dies)
	k.write("forty.yaml", file)
	id := k.gauze("run", "--yes", "--patience", "3s", "forty.yaml").want(3).id()
	k.breaks("-tools-change=schema,skip=0")
	k.gauze("resume", id).want(4, "unknown whether the call to die_read .* took effect, and the tool has changed since", "gauze task decide "+id+" repeat\n")
	k.wantEffects(keys[:29]...)
	k.breaks()
	k.gauze("decide", id, "repeat").want(0, "40 of 40 steps")
	k.wantEffects(keys...)
}

// The tools changed while the task was stopped, before the next call.
func TestTaskWhoseServerChangedItsTools(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ change, next, says string }{
		"the next call no longer fits": {"schema", "tool: die_read, arguments: {when: never}", `The tool die_read on the server "s" changed and no longer accepts the next step.s arguments`},
		"the next tool is gone":        {"remove", "tool: get, arguments: {key: k1}, on-error: continue", `The server "s" no longer has the tool get`},
		"the next call still fits":     {"schema", "tool: echo, arguments: {text: hello}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newTasks(t)
			file, keys := forty(theServer+"budget: {steps: 29}\n", test.next)
			k.write("forty.yaml", file)
			id := k.gauze("run", "--yes", "forty.yaml").want(1, "budget of 29 calls").id()
			k.breaks("-tools-change=" + test.change + ",skip=0")
			if test.says != "" {
				k.gauze("resume", id).want(1, test.says, "Done: 29 of 40 steps", "Remaining: s30, ").id()
				k.wantEffects(keys[:29]...)
				k.breaks()
			}
			k.gauze("resume", id).want(0, "40 of 40 steps")
			if got := k.effects(); len(got) < 39 || strings.Join(got[:29], " ") != strings.Join(keys[:29], " ") {
				t.Errorf("effects: %v", got)
			}
		})
	}
}

// A token that expires on the way needs a person. Once it is renewed, the task continues.
func TestTaskWhoseTokenExpires(t *testing.T) {
	t.Parallel()
	k := newTasks(t)
	server := faultyhttp.New(faultyhttp.Config{Answers: faultyhttp.JSON, Era: faultyhttp.Legacy})
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	behind, err := url.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	behind.Path = ""
	var renewed atomic.Bool
	forward := httputil.NewSingleHostReverseProxy(behind)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(server.Effects()) >= 29 && !renewed.Load() {
			w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token", error_description="the token expired"`)
			http.Error(w, `{"error":"invalid_token"}`, http.StatusUnauthorized)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	file, _ := forty("servers: {s: {url: "+front.URL+"/mcp}}\n", "tool: echo, arguments: {text: hello}")
	k.write("forty.yaml", file)
	stopped := k.gauze("run", "--yes", "forty.yaml").want(4, `The server "s" needs you to log in, or renew the server's credentials`, `Done: 29 of 40 steps`, `Remaining: s30, `)
	id := stopped.id()
	k.gauze("resume", id).want(4, "needs you to")
	if n := len(server.Effects()); n != 29 {
		t.Fatalf("%d effects", n)
	}
	renewed.Store(true)
	k.gauze("resume", id).want(0, "40 of 40 steps")
	for key, times := range server.Effects() {
		if times != 1 {
			t.Errorf("the effect %s happened %d times", key, times)
		}
	}
	if n := len(server.Effects()); n != 39 {
		t.Errorf("%d effects, want 39", n)
	}
}

// A model that stops answering stops an agent's task. The choices so far are kept.
func TestTaskWhoseModelDies(t *testing.T) {
	t.Parallel()
	k := newTasks(t)
	choose := func(key string) modeltest.Reply {
		return modeltest.Says(fmt.Sprintf(`{"action":"call","server":"s","tool":"append","arguments":"{\"key\":\"%s\"}","reason":"next"}`, key))
	}
	const finish = `{"action":"done","server":"","tool":"","arguments":"","reason":"both keys are stored"}`
	first := modeltest.OpenAI(t, choose("one"), choose("two"), modeltest.Status(401))
	k.env = append(k.env, "GAUZE_MODEL=openai:scripted", "GAUZE_MODEL_KEY=none", "GAUZE_MODEL_URL="+first.URL)
	k.write("goal.yaml", "name: store\ngoal: store three keys\n"+theServer)
	stopped := k.gauze("run", "--yes", "goal.yaml").want(1, `The model did not choose a next step\.`, `Done: 2 calls\.`)
	k.wantEffects("one", "two")
	second := modeltest.OpenAI(t, choose("three"), modeltest.Says(finish))
	k.env = append(k.env, "GAUZE_MODEL_URL="+second.URL)
	k.gauze("resume", stopped.id()).want(0, "is done", "both keys are stored")
	k.wantEffects("one", "two", "three")
	if asked := second.Requests()[0].Text; !strings.Contains(asked, `"key":"two"`) {
		t.Errorf("the second model was not told what was done:\n%s", asked)
	}
}
