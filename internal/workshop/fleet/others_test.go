package fleet

import (
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// A field that gauze does not use, but the client may: it is compared, and named.
func TestVerifyNamesEveryFieldThatChanged(t *testing.T) {
	const with = `"envFile": ".env", "trust": true, "new": {"a": [1, 2]}, `
	for _, test := range []struct{ old, new, want string }{
		{`"command": "srv"`, `"envFile": ".env", "command": "srv"`, "the field envFile was added"},
		{`"command": "srv"`, `"trust": true, "command": "srv"`, "the field trust was added"},
		{`"url": "https://b`, `"auth": {"CLIENT_ID": "x"}, "url": "https://b`, "the field auth was added"},
		{with, `"trust": true, "new": {"a": [1, 2]}, `, "the field envFile was removed"},
		{with, `"envFile": "other.env", "trust": true, "new": {"a": [1, 2]}, `, "the value of the field envFile changed"},
		{with, `"envFile": ".env", "trust": true, "new": {"a": [2, 1]}, `, "the value of the field new changed"},
		{with, `"new": {"a":[1,2]}, "trust": true, "description": "mine", "envFile": ".env", `, ""},
	} {
		h := onlyValued(t)
		if test.old == with {
			h.edit(".cursor/mcp.json", `"command": "srv"`, with+`"command": "srv"`)
		}
		lock := h.locked()
		h.edit(".cursor/mcp.json", test.old, test.new)
		drifts := h.fleet.Verify(lock, h.seen("d"))
		switch {
		case test.want == "" && len(drifts) == 0:
		case len(drifts) != 1 || drifts[0].Kind != "config" || drifts[0].What != test.want:
			t.Errorf("%s becomes %s: %+v", test.old, test.new, drifts)
		}
	}
}

// Someone else's lock, or one of a lost key, still shows which fields there are.
func TestFieldsAreComparedByNameWithoutTheKey(t *testing.T) {
	h := onlyValued(t)
	lock := h.lock(h.seen("d"))
	for i := range lock.Servers {
		lock.Servers[i].Key = "someone else's"
	}
	h.edit(".cursor/mcp.json", `"command": "srv"`, `"envFile": ".env", "command": "srv"`)
	if drifts := h.fleet.Verify(lock, h.seen("d")); len(drifts) != 1 || drifts[0].What != "the field envFile was added" {
		t.Errorf("%+v", drifts)
	}
	for i := range lock.Servers {
		lock.Servers[i].Fields = nil
	}
	if why := h.fleet.Uncompared(lock); !strings.Contains(why, "another user") || !strings.Contains(why, "older version") {
		t.Errorf("an older lock of someone else: %q", why)
	}
}

// What an older gauze did not record is not called different, and verify says so.
func TestALockWithoutFieldsSaysThatTheyAreNotCompared(t *testing.T) {
	h := onlyValued(t)
	old := h.locked()
	for i := range old.Servers {
		old.Servers[i].Fields = nil // as read from a file that has none
		for what := range old.Servers[i].Values {
			if strings.HasPrefix(what, "field ") {
				delete(old.Servers[i].Values, what)
			}
		}
	}
	h.edit(".cursor/mcp.json", `"command": "srv"`, `"envFile": ".env", "command": "srv"`)
	if drifts := h.fleet.Verify(old, h.seen("d")); len(drifts) > 0 {
		t.Errorf("%+v", drifts)
	}
	if why := h.fleet.Uncompared(old); !strings.Contains(why, "3 servers") || !strings.Contains(why, "run: gauze lock") {
		t.Errorf("%q", why)
	}
	if why := h.fleet.Uncompared(h.lock(h.seen("d"))); why != "" {
		t.Errorf("the new lock: %q", why)
	}
}

// A wrapped server has the fields that it had before.
func TestWrappingChangesNoField(t *testing.T) {
	h := onlyValued(t)
	h.edit(".cursor/mcp.json", `"command": "srv"`, `"envFile": ".env", "command": "srv"`)
	h.edit(".cursor/mcp.json", `"url": "https://b`, `"type": "http", "new": 1, "url": "https://b`)
	lock := h.lock(h.seen("d"))
	v := h.fleet.Look()
	plan := v.Wrap(v.Servers, true)
	if len(plan.Changes) != 1 || len(plan.Skipped) > 0 {
		t.Fatalf("%+v", plan)
	}
	h.write(".cursor/mcp.json", string(plan.Changes[0].New))
	for _, d := range h.fleet.Verify(lock, h.seen("d")) {
		if strings.Contains(d.What, "field") {
			t.Errorf("%+v", d)
		}
	}
}

// The user who decides about an entry sees all of it.
func TestWhatGauzeDoesNotUseIsShown(t *testing.T) {
	h := onlyValued(t)
	h.edit(".cursor/mcp.json", `"command": "srv"`, `"envFile": "~/.ssh/config", "oauth": {"clientSecret": "abcdefgh12345678", "b": "c"}, "command": "srv"`)
	s := must(h.fleet.Look().Choose(Choice{Names: []string{"cursor/a"}}))[0]
	whole, err := s.Whole()
	if err != nil {
		t.Fatal(err)
	}
	const field, oauth = `with the field envFile: "~/.ssh/config"`, `with the field oauth: {"b":"c","clientSecret":`
	if !strings.Contains(whole, field) || !strings.Contains(whole, oauth+`"abcdefgh12345678"}`) {
		t.Errorf("%s", whole)
	}
	for what, text := range map[string]string{"Outline": Outline(s.Written()), "Describe": Describe(s.Written())} {
		if !strings.Contains(text, field) || !strings.Contains(text, oauth) || strings.Contains(text, "abcdefgh12345678") {
			t.Errorf("%s: %s", what, text)
		}
	}
	before := s.Written().Fingerprint()
	h.edit(".cursor/mcp.json", "~/.ssh/config", "~/.ssh/other")
	if must(h.fleet.Look().Choose(Choice{Names: []string{"cursor/a"}}))[0].Written().Fingerprint() == before {
		t.Error("an entry with a different envFile has the same fingerprint")
	}
}

func TestRestoreSaysWhichFieldsItLeaves(t *testing.T) {
	h := onlyValued(t)
	h.write(".cursor/mcp.json", `{"mcpServers": {"a": {"command": "srv"}}}`)
	lock := h.lock(h.seen("d"))
	h.edit(".cursor/mcp.json", `"command": "srv"`, `"envFile": ".env", "command": "srv"`)
	plan, err := h.fleet.Look().Restore(lock)
	if err != nil || !plan.Pending() || len(plan.Skipped) != 1 || !strings.Contains(plan.Skipped[0].Why, "envFile") {
		t.Errorf("%+v, %v", plan, err)
	}
}

// A question shows every word that a fix changes: masked for an agent where that hides none of them.
func TestAnOfferShowsWhatItChanges(t *testing.T) {
	own := func(env, arg string) launch.Spec {
		return launch.Spec{Command: "srv", Args: []string{"--db", arg}, Env: []string{env}}
	}
	for _, test := range []struct {
		name     string
		was, now launch.Spec
		hides    bool
	}{
		{"a port of a database", own("A=b", "postgres://u:hunter2pw@localhost:1/x"), own("A=b", "postgres://u:hunter2pw@localhost:2/x"), false},
		{"also in its query", own("A=b", "postgres://u:hunter2pw@localhost:1/x?host=localhost:1"), own("A=b", "postgres://u:hunter2pw@localhost:2/x?host=localhost:2"), true},
		{"a variable called like a key", own("API_TOKEN=localhost:1", "hunter2pw"), own("API_TOKEN=localhost:2", "hunter2pw"), true},
		{"more words than before", own("A=b", "postgres://u:hunter2pw@localhost:1/x"), own("A=b", "postgres://u:hunter2pw@localhost:2/x --also"), true},
		{"more words than before, none of them masked", own("A=b", "localhost:1"), own("A=b", "localhost:2 --also"), false},
	} {
		q, err := Offer{About: "x", was: test.was, Spec: test.now}.Question(nil)
		if err != nil || q.Hides != test.hides {
			t.Errorf("%s: %+v, %v", test.name, q, err)
		}
		if whole, _ := Whole(test.now); test.hides && q.Whole != whole || !test.hides && strings.Contains(q.Whole, "hunter2pw") {
			t.Errorf("%s: the user sees %s", test.name, q.Whole)
		}
		if strings.Contains(q.Shown, "hunter2pw@") {
			t.Errorf("%s: the agent sees %s", test.name, q.Shown)
		}
	}
}

// A lock file can come with a project. What it would make the clients run is shown, with no part that
// a diff masks, and the user reads that someone else chose it.
func TestALockOfSomeoneElseIsCalledThat(t *testing.T) {
	h := onlyValued(t)
	h.write(".cursor/mcp.json", `{"mcpServers": {"a": {"command": "srv"}, "b": {"url": "https://b.example/mcp", "headers": {"Authorization": "Bearer s3cr3t-w0rd"}}}}`)
	own := h.lock(h.seen("d"))
	if !h.fleet.Recorded(own) {
		t.Error("the user's own lock counts as someone else's")
	}
	h.edit(".cursor/mcp.json", `"srv"`, `"other"`)
	if plan, err := h.fleet.Look().Restore(own); err != nil || len(plan.Changes) != 1 || len(plan.Notes()) > 0 {
		t.Errorf("the user's own lock: %+v, %q, %v", plan.Skipped, plan.Notes(), err)
	}
	for name, forge := range map[string]func(*Locked){
		"a command":                func(l *Locked) { l.Command = []string{"sh", "-c", "x"} },
		"a URL":                    func(l *Locked) { l.URL, l.Command = "https://evil.example/mcp", nil },
		"another server":           func(l *Locked) { l.Name = "new" },
		"a command that is hidden": func(l *Locked) { l.Command = []string{"srv", "--token", "$(x)"} },
	} {
		forged := h.lock(h.seen("d"))
		forge(&forged.Servers[0])
		if h.fleet.Recorded(forged) {
			t.Errorf("%s: the lock counts as the user's own", name)
		}
		plan, err := h.fleet.Look().Restore(forged)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range plan.Changes {
			if !strings.Contains(c.Note, "You did not record cursor/") {
				t.Errorf("%s: %q\n%s", name, c.Note, c.Diff())
			}
		}
		if (len(plan.Changes) == 0) != (name == "a command that is hidden") {
			t.Errorf("%s: %d changes, %+v", name, len(plan.Changes), plan.Skipped)
		}
	}
}
