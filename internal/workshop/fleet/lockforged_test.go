package fleet

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const forgeable = `{"mcpServers": {
  "a": {"command": "srv", "args": ["-v"], "env": {"API_KEY": "s3cr3t-w0rd-1"}},
  "b": {"url": "https://b.example/mcp", "headers": {"Authorization": "Bearer s3cr3t-w0rd-2"}}
}}`

// forgeableHome has two servers, one with a variable and one with a header.
func forgeableHome(t *testing.T) *home {
	h := onlyValued(t)
	h.write(".cursor/mcp.json", forgeable)
	return h
}

// restored reads a lock as its file has it and plans to restore it.
func (h *home) restored(l Lock) Plan {
	h.t.Helper()
	read, err := ReadLock(l.Bytes())
	if err != nil {
		h.t.Fatal(err)
	}
	plan, err := h.fleet.Look().Restore(read)
	if err != nil {
		h.t.Fatal(err)
	}
	return plan
}

// A name becomes a part of an entry: it must not bring a value of its own.
func TestALockWithAnInvalidNameIsRejected(t *testing.T) {
	h := forgeableHome(t)
	for _, test := range []struct {
		want  string
		forge func(*Locked)
	}{
		{"an invalid variable name: LD_PRELOAD=/proj/evil.so", func(l *Locked) { l.Env = append(l.Env, "LD_PRELOAD=/proj/evil.so") }},
		{"an invalid variable name: A:-/proj/evil.so", func(l *Locked) { l.Env = []string{"A:-/proj/evil.so"} }},
		{"an invalid variable name: A B", func(l *Locked) { l.Env = []string{"A B"} }},
		{"an invalid variable name: A}${B", func(l *Locked) { l.Env = []string{"A}${B"} }},
		{"an invalid variable name", func(l *Locked) { l.Env = []string{""} }},
		{"an invalid variable name", func(l *Locked) { l.Env = []string{"A\u200b"} }},
		{"an invalid header name: X-A: evil", func(l *Locked) { l.Headers = []string{"X-A: evil"} }},
		{"an invalid header name", func(l *Locked) { l.Headers = []string{"X\r\nY"} }},
		{"an invalid field name", func(l *Locked) { l.Fields = []string{"env\x1b[2K"} }},
		{"an invalid client: ../cursor", func(l *Locked) { l.Client = "../cursor" }},
		{"an invalid scope: user x", func(l *Locked) { l.Scope = "user x" }},
	} {
		lock := h.lock(h.seen("d"))
		test.forge(&lock.Servers[0])
		_, err := ReadLock(lock.Bytes())
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "server 1 (") || !strings.Contains(err.Error(), "run: gauze lock") {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
	for _, name := range []string{"API_KEY", "api_key", "_", "ProgramFiles(x86)", "spring.datasource.url", "X-Y"} {
		lock := h.lock(h.seen("d"))
		lock.Servers[0].Env = []string{name}
		if _, err := ReadLock(lock.Bytes()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What gauze lock writes, gauze verify reads.
func TestALockWithAnInvalidNameIsNotWritten(t *testing.T) {
	h := forgeableHome(t)
	h.edit(".cursor/mcp.json", `"API_KEY"`, `"API KEY"`)
	err := h.lock(h.seen("d")).Check(h.fleet.Look().Secrets())
	if err == nil || !strings.Contains(err.Error(), "cursor/a") || !strings.Contains(err.Error(), "API KEY") || !strings.Contains(err.Error(), "not written") {
		t.Errorf("%v", err)
	}
}

// The lock is in a project, where an agent can change every word of it, but has no key.
func TestRestoreAddsNoNameThatTheUserDidNotRecord(t *testing.T) {
	forgeries := map[string]func(a, b *Locked){
		"a variable":                    func(a, _ *Locked) { a.Env = append(a.Env, "LD_PRELOAD") },
		"a variable instead of another": func(a, _ *Locked) { a.Env = []string{"LD_PRELOAD"} },
		"a variable with a hash that someone made up": func(a, _ *Locked) {
			a.Env = append(a.Env, "LD_PRELOAD")
			a.Values["variable LD_PRELOAD"] = a.Values["variable API_KEY"]
		},
		"a header":               func(_, b *Locked) { b.Headers = append(b.Headers, "AWS_SECRET_ACCESS_KEY") },
		"the variables of a URL": func(_, b *Locked) { b.Env = []string{"LD_PRELOAD"} },
		"a command, and what it gets": func(_, b *Locked) {
			b.URL, b.Command, b.Headers, b.Env = "", []string{"srv"}, nil, []string{"LD_PRELOAD"}
		},
	}
	for name, forge := range forgeries {
		for state, change := range map[string]func(h *home){
			"unchanged": func(h *home) {},
			"changed": func(h *home) {
				h.edit(".cursor/mcp.json", `"-v"`, `"-w"`)
				h.edit(".cursor/mcp.json", "b.example", "c.example")
			},
			"removed": func(h *home) { h.write(".cursor/mcp.json", `{"mcpServers": {}}`) },
		} {
			h := forgeableHome(t)
			lock := h.lock(h.seen("d"))
			change(h)
			forge(&lock.Servers[0], &lock.Servers[1])
			if h.fleet.Recorded(lock) {
				t.Errorf("%s, %s: the lock counts as the user's own", name, state)
			}
			plan := h.restored(lock)
			if diff := plan.Diff(); strings.Contains(diff, "LD_PRELOAD") || strings.Contains(diff, "AWS_SECRET") {
				t.Errorf("%s, %s:\n%s", name, state, diff)
			}
			if !slices.ContainsFunc(plan.Skipped, func(s Skip) bool {
				return strings.Contains(s.Why, "LD_PRELOAD") || strings.Contains(s.Why, "AWS_SECRET")
			}) || !plan.Pending() {
				t.Errorf("%s, %s: not told: %+v", name, state, plan.Skipped)
			}
		}
	}
}

// The proof covers every part of an entry: with one of them changed, it is no longer the user's.
func TestOnlyAnUnchangedEntryCountsAsRecorded(t *testing.T) {
	h := forgeableHome(t)
	read, err := ReadLock(h.lock(h.seen("d")).Bytes())
	if err != nil || !h.fleet.Recorded(read) {
		t.Fatalf("the user's own lock, as read: %v", err)
	}
	for name, forge := range map[string]func(a *Locked){
		"client":                 func(a *Locked) { a.Client = "codex" },
		"name":                   func(a *Locked) { a.Name = "c" },
		"scope":                  func(a *Locked) { a.Scope = "project" },
		"an argument":            func(a *Locked) { a.Command[1] = "-w" },
		"words put together":     func(a *Locked) { a.Command = []string{strings.Join(a.Command, "\x00")} },
		"a URL":                  func(a *Locked) { a.URL = "https://evil.example" },
		"a variable less":        func(a *Locked) { a.Env = nil },
		"a variable as a header": func(a *Locked) { a.Env, a.Headers = nil, a.Env },
		"a field":                func(a *Locked) { a.Fields = append(a.Fields, "envFile") },
		"a version":              func(a *Locked) { a.Version = "6.6.6" },
		"a tool":                 func(a *Locked) { a.Tools["t"] = "other" },
		"a hash":                 func(a *Locked) { delete(a.Values, "variable API_KEY") },
	} {
		forged := h.lock(h.seen("d"))
		forge(&forged.Servers[0])
		if h.fleet.Recorded(forged) {
			t.Errorf("%s: the lock counts as the user's own", name)
		}
	}
}

// A gauze that proved only the command line made this lock.
func TestALockWithoutAProofIsNotTheUsersOwn(t *testing.T) {
	h := forgeableHome(t)
	var raw map[string]any
	if err := json.Unmarshal(h.lock(h.seen("d")).Bytes(), &raw); err != nil {
		t.Fatal(err)
	}
	for _, s := range raw["servers"].([]any) {
		delete(s.(map[string]any), "seal")
	}
	text, err := json.Marshal(raw)
	if err != nil {
		t.Fatal(err)
	}
	old, err := ReadLock(text)
	if err != nil || h.fleet.Recorded(old) {
		t.Errorf("the lock counts as the user's own: %v", err)
	}
	if drifts := h.fleet.Verify(old, h.seen("d")); len(drifts) > 0 {
		t.Errorf("%+v", drifts)
	}
	h.edit(".cursor/mcp.json", `"-v"`, `"-w"`)
	plan := h.restored(old)
	if len(plan.Changes) != 1 || !strings.Contains(plan.Changes[0].Note, "You did not record cursor/a ") {
		t.Errorf("%+v %+v", plan.Changes, plan.Skipped)
	}
}

// Whoever has the lock but not the key compares names, and restores what adds none.
func TestAColleagueCanUseALock(t *testing.T) {
	h := forgeableHome(t)
	lock := h.lock(h.seen("d"))
	if err := os.Remove(filepath.Join(h.dir, "lock.key")); err != nil {
		t.Fatal(err)
	}
	if drifts := h.fleet.Verify(lock, h.seen("d")); len(drifts) > 0 || !strings.Contains(h.fleet.Uncompared(lock), "2 servers") {
		t.Errorf("%+v", drifts)
	}
	h.edit(".cursor/mcp.json", `"-v"`, `"-w"`)
	plan := h.restored(lock)
	if len(plan.Changes) != 1 || !strings.Contains(plan.Diff(), `"-v"`) || len(plan.Notes()) != 1 {
		t.Errorf("%s %+v", plan.Diff(), plan.Skipped)
	}
	h.edit(".cursor/mcp.json", `"API_KEY"`, `"OTHER_KEY"`)
	var told []string
	for _, d := range h.fleet.Verify(lock, h.seen("d")) {
		told = append(told, d.What)
	}
	if !slices.Contains(told, "the variables changed from API_KEY to OTHER_KEY") {
		t.Errorf("%q", told)
	}
	if plan := h.restored(lock); !plan.Empty() {
		t.Errorf("%s", plan.Diff())
	}
}

// The user reads every word of the lock that is written, or it is not written.
func TestTheDiffOfARestoreShowsEveryWordOfTheLock(t *testing.T) {
	const key = "s3cr3t-w0rd-1"
	for name, forge := range map[string]func(a, b *Locked){
		"a name that looks like a key":      func(a, _ *Locked) { a.Name, a.Env = secret, nil },
		"a name that sets a key":            func(a, _ *Locked) { a.Name, a.Env = "API_KEY=/proj/evil.so", nil },
		"a word that is the user's own key": func(a, _ *Locked) { a.Command = []string{"srv", key} },
		"a name that is the user's own key": func(a, _ *Locked) { a.Name, a.Env = key, nil },
		"a part of an address":              func(_, b *Locked) { b.URL = "https://" + key + ".example/mcp" },
		"nothing":                           func(a, _ *Locked) { a.Command = []string{"srv", "/proj/evil.js"} },
	} {
		h := forgeableHome(t)
		lock := h.lock(h.seen("d"))
		forge(&lock.Servers[0], &lock.Servers[1])
		plan := h.restored(lock)
		for _, c := range plan.Changes {
			for _, l := range lock.Servers {
				for _, word := range append(slices.Clone(l.Command), l.Name, l.URL) {
					if strings.Contains(string(c.New), word) && !strings.Contains(string(c.Old), quoted(word)) && !strings.Contains(c.Diff(), word) {
						t.Errorf("%s: %q is hidden:\n%s", name, word, c.Diff())
					}
				}
			}
		}
		if plan.Empty() == (name == "nothing") {
			t.Errorf("%s: %+v\n%s", name, plan.Skipped, plan.Diff())
		}
		if plan.Empty() && !plan.Pending() {
			t.Errorf("%s: not told", name)
		}
	}
}

// What the user recorded comes back whole, also with names that are only referred to.
func TestTheUsersOwnLockBringsNamesBack(t *testing.T) {
	h := forgeableHome(t)
	h.edit(".cursor/mcp.json", `"API_KEY"`, `"api_key": "s3cr3t-w0rd-3", "API_KEY"`)
	lock := h.lock(h.seen("d"))
	h.write(".cursor/mcp.json", `{"mcpServers": {"other": {"command": "srv", "env": {"TOKEN": "s3cr3t-w0rd-4"}}}}`)
	plan := h.restored(lock)
	if len(plan.Skipped) > 0 || len(plan.Notes()) > 0 {
		t.Errorf("%+v %q", plan.Skipped, plan.Notes())
	}
	h.apply(plan)
	for _, name := range []string{"api_key", "API_KEY", "Authorization"} {
		if got := h.read(".cursor/mcp.json"); !strings.Contains(got, `"`+name+`": "${env:`) {
			t.Errorf("no %s in %s", name, got)
		}
	}
}
