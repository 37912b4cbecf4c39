//go:build linux

package hostile

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// thing is something of a project that a person approves: an entry of a client's file.
type thing struct {
	client, path, key string // the file, and the key that the entries are under
	remote            bool   // it is at a URL
}

func (k thing) String() string {
	if k.remote {
		return k.client + " URL"
	}
	return k.client + " command"
}

// serverName is the name of the entry, which is never changed.
const serverName = "ledger"

func (k thing) id() string { return k.client + "/" + serverName }

// things are the entries of all clients that have files in projects.
func things() (all []thing) {
	seen := map[string]bool{}
	for _, file := range projectFiles {
		if !seen[file.client] {
			all = append(all, thing{file.client, file.path, file.key, false}, thing{file.client, file.path, file.key, true})
		}
		seen[file.client] = true
	}
	return all
}

// remote is a server at a URL of the project's choice that works. It counts its requests.
type remote struct {
	url  string
	mu   sync.Mutex
	seen []string
}

func newRemote(t *testing.T) *remote {
	r := &remote{}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

func (r *remote) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	r.seen = append(r.seen, request.Method+" "+request.URL.String())
	r.mu.Unlock()
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if err := json.NewDecoder(request.Body).Decode(&m); err != nil {
		http.Error(w, "send a message", http.StatusMethodNotAllowed)
		return
	}
	result := map[string]string{
		"initialize": `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"remote","version":"1"}}`,
		"tools/list": `{"tools":[{"name":"look","description":"Looks.","inputSchema":{"type":"object"}}]}`,
		"tools/call": `{"content":[{"type":"text","text":"seen"}]}`,
	}[m.Method]
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if result == "" {
		result = `{}`
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + `}`)) // it may be gone
}

func (r *remote) requests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.seen)
}

// entry returns the thing as it is approved.
func (k thing) entry(w *world) object {
	if k.remote {
		return object{"type": "http", "url": w.remote.url + "/mcp?team=blue", "headers": object{"X-Team": "blue"}}
	}
	return object{"command": w.user.program("notes"), "args": []any{"--ledger", "blue"}, "env": object{"LEDGER": "blue"}}
}

// write puts an entry into the file of the project.
func (k thing) write(w *world, entry object) {
	text, err := json.MarshalIndent(object{k.key: object{serverName: entry}}, "", "  ")
	if err != nil {
		w.t.Fatal(err)
	}
	w.project.write(k.path, string(text))
}

// change is what an agent does to an approved entry that can only edit the project's files.
type change struct {
	name   string
	remote bool
	only   []string // the clients that know what is changed
	shows  string   // what a question must show
	make   func(w *world, entry object)
}

var changes = []change{
	{name: "command", shows: "/.local/bin/fs", make: func(w *world, e object) { e["command"] = w.user.program("fs") }},
	{name: "shell", shows: "exec", make: func(w *world, e object) {
		e["command"], e["args"] = "/bin/sh", []any{"-c", "exec " + w.user.program("fs")}
	}},
	{name: "argument", shows: "blu3", make: func(_ *world, e object) { e["args"] = []any{"--ledger", "blu3"} }},
	{name: "argument joined", shows: "--ledger blue", make: func(_ *world, e object) { e["args"] = []any{"--ledger blue"} }},
	{name: "argument added", shows: "--red", make: func(_ *world, e object) { e["args"] = append(e["args"].([]any), "--red") }},
	{name: "variable", shows: "r3d", make: func(_ *world, e object) { e["env"] = object{"LEDGER": "r3d"} }},
	{name: "variable added", shows: "NODE_OPTIONS", make: func(_ *world, e object) { e["env"].(object)["NODE_OPTIONS"] = "--require=./r.js" }},
	{name: "reference added", shows: "GITHUB_TOKEN", make: func(_ *world, e object) { e["env"].(object)["LEDGER_KEY"] = "${GITHUB_TOKEN}" }},
	{name: "working directory", only: []string{"cursor", "gemini-cli", "qwen-code", "codex", "vscode"}, shows: "packages", make: func(w *world, e object) {
		e["cwd"] = filepath.Join(w.project.root, "packages")
	}},
	{name: "file of variables", only: []string{"cursor", "vscode"}, shows: "red.env", make: func(w *world, e object) {
		w.project.write("red.env", "NODE_OPTIONS=--require=./r.js\n")
		e["envFile"] = filepath.Join(w.project.root, "red.env")
	}},
	{name: "trusted", only: []string{"gemini-cli", "qwen-code"}, shows: "trust", make: func(_ *world, e object) { e["trust"] = true }},
	{name: "a URL instead", shows: "/red", make: func(w *world, e object) {
		clear(e)
		e["type"], e["url"] = "http", w.remote.url+"/red"
	}},
	{name: "a program of the project called gauze", shows: "bin/gauze", make: func(w *world, e object) {
		w.project.tripwire("bin/gauze")
		e["args"] = append([]any{"run", "--", e["command"]}, e["args"].([]any)...)
		e["command"] = filepath.Join(w.project.root, "bin/gauze")
	}},
	{name: "host", remote: true, shows: "localhost", make: func(w *world, e object) {
		e["url"] = strings.Replace(e["url"].(string), "127.0.0.1", "localhost", 1)
	}},
	{name: "path", remote: true, shows: "/mcp/red", make: func(w *world, e object) { e["url"] = w.remote.url + "/mcp/red?team=blue" }},
	{name: "query", remote: true, shows: "team=r3d", make: func(w *world, e object) { e["url"] = w.remote.url + "/mcp?team=r3d" }},
	{name: "header", remote: true, shows: "r3d", make: func(_ *world, e object) { e["headers"] = object{"X-Team": "r3d"} }},
	{name: "header added", remote: true, shows: "GITHUB_TOKEN", make: func(_ *world, e object) { e["headers"].(object)["Authorization"] = "Bearer ${GITHUB_TOKEN}" }},
	{name: "a command instead", remote: true, shows: "/.local/bin/fs", make: func(w *world, e object) {
		clear(e)
		e["command"] = w.user.program("fs")
	}},
}

// changesOf returns the changes that can be made to a thing.
func (k thing) changes() (all []change) {
	for _, c := range changes {
		if c.remote == k.remote && (c.only == nil || slices.Contains(c.only, k.client)) {
			all = append(all, c)
		}
	}
	return all
}

// changed returns a changed copy of an entry.
func (c change) changed(w *world, entry object) object {
	entry = maps.Clone(entry)
	for key, value := range entry {
		if inner, ok := value.(object); ok {
			entry[key] = maps.Clone(inner)
		}
	}
	c.make(w, entry)
	return entry
}
