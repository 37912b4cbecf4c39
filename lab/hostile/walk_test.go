//go:build linux

package hostile

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gauze-mcp/gauze/internal/testonly/sample"
)

// deed is what a command or a tool does with something that a project brings.
type deed string

const (
	asks    deed = "asks a person before it is started, reached or written"
	refuses deed = "uses only what a person agreed to elsewhere"
	shows   deed = "starts, reaches and writes nothing"
	given   deed = "does what was typed, and nothing that a project brings"
)

// row says what one command or tool does, and how it is tried in a hostile project.
type row struct {
	deed
	kind   string // of the thing that the project brings; command if empty
	before func(*world, thing)
	words  []string // of the command; none if it is not tried
	call   object   // the arguments of the tool
}

// walked are all commands.
var walked = map[string]row{
	"gauze":             {deed: shows, words: []string{}},
	"gauze-add":         {deed: given},
	"gauze-connect":     {deed: given},
	"gauze-dashboard":   {deed: given}, // package dashboard has the table of its actions
	"gauze-demo":        {deed: given},
	"gauze-diagnose":    {deed: shows, words: []string{"diagnose", ".mcp.json"}},
	"gauze-doctor":      {deed: asks, words: []string{"doctor", "ID"}},
	"gauze-explain":     {deed: shows, words: []string{"explain", "server_dead"}},
	"gauze-history":     {deed: shows, words: []string{"history"}},
	"gauze-list":        {deed: shows, words: []string{"list"}},
	"gauze-lock":        {deed: asks, words: []string{"lock", "ID"}},
	"gauze-login":       {deed: refuses, kind: "URL", words: []string{"login", "ID"}},
	"gauze-logout":      {deed: shows, kind: "URL", words: []string{"logout", "ID"}},
	"gauze-logs":        {deed: shows, words: []string{"logs", serverName}},
	"gauze-mcp":         {deed: given}, // its tools have a table of their own
	"gauze-model":       {deed: shows, words: []string{"model"}},
	"gauze-model-check": {deed: shows, words: []string{"model", "check"}},
	"gauze-remove":      {deed: asks, words: []string{"remove", "ID"}},
	"gauze-repair":      {deed: shows, words: []string{"repair", "--schema", ".mcp.json", "{}"}},
	"gauze-restart":     {deed: shows, words: []string{"restart", serverName}},
	"gauze-restore":     {deed: asks, before: hostileLock, words: []string{"restore", "--gauze", "GAUZE"}},
	"gauze-run":         {deed: given},
	"gauze-search":      {deed: shows, words: []string{"search", serverName}},
	"gauze-serve":       {deed: given},
	"gauze-status":      {deed: shows, words: []string{"status"}},
	"gauze-task":        {deed: shows, words: []string{"task"}},
	"gauze-task-decide": {deed: asks, before: undecidedTask, words: []string{"task", "decide", "TASK", "skip"}},
	"gauze-task-list":   {deed: shows, before: stoppedTask, words: []string{"task", "list"}},
	"gauze-task-resume": {deed: asks, before: stoppedTask, words: []string{"task", "resume", "TASK"}},
	"gauze-task-rm":     {deed: shows, before: stoppedTask, words: []string{"task", "rm", "TASK"}},
	"gauze-task-run":    {deed: asks, kind: "task", words: []string{"task", "run", "task.json"}},
	"gauze-task-show":   {deed: shows, before: stoppedTask, words: []string{"task", "show", "TASK"}},
	"gauze-task-stop":   {deed: shows, before: stoppedTask, words: []string{"task", "stop", "TASK"}},
	"gauze-task-watch":  {deed: shows, before: stoppedTask, words: []string{"task", "watch", "TASK"}},
	"gauze-test":        {deed: asks, words: []string{"test", "ID"}},
	"gauze-tokens":      {deed: asks, words: []string{"tokens", "ID"}},
	"gauze-top":         {deed: given}, // it shows what runs until a key is pressed
	"gauze-undo":        {deed: asks, before: wrapped, words: []string{"undo"}},
	"gauze-uninstall":   {deed: asks, before: wrapped, words: []string{"uninstall"}},
	"gauze-unwrap":      {deed: asks, before: wrapped, words: []string{"unwrap", "ID"}},
	"gauze-up":          {deed: refuses, before: hostileUp, words: []string{"up", "--check", "up.json"}}, // connect is one of the ways
	"gauze-upgrade":     {deed: shows, words: []string{"upgrade"}},
	"gauze-verify":      {deed: asks, before: hostileLock, words: []string{"verify", "ID"}},
	"gauze-version":     {deed: shows, words: []string{"version"}},
	"gauze-worker":      {deed: given},
	"gauze-wrap":        {deed: asks, words: []string{"wrap", "--gauze", "GAUZE", "ID"}},
}

// called are all tools of gauze mcp.
var called = map[string]row{
	"check_health":     {deed: asks, call: object{"include_project": true}},
	"configure_server": {deed: asks, call: object{"name": "red", "command": "/bin/sh", "args": []any{"-c", "exec fs"}, "clients": []any{"cursor"}}},
	"diagnose":         {deed: shows, call: object{"log": "Error: connect ECONNREFUSED 127.0.0.1:1", "command": "sh -c fs"}},
	"evaluate_health":  {deed: refuses, call: object{"server": "ID"}},
	"get_task":         {deed: shows, before: stoppedTask, call: object{"id": "TASK"}},
	"heal_server":      {deed: asks, call: object{"server": "ID"}},
	"list_servers":     {deed: shows, call: object{}},
	"remove_server":    {deed: asks, call: object{"name": "ID"}},
	"repair_arguments": {deed: shows, call: object{"schema": object{"type": "object"}, "arguments": object{}}},
	"resume_task":      {deed: asks, before: undecidedTask, call: object{"id": "TASK", "decision": "skip", "wait_seconds": 30}},
	"run_task": {deed: asks, call: object{"wait_seconds": 30, "plan": object{
		"servers": object{"one": "ID"}, "steps": []any{object{"id": "look", "server": "one", "tool": "look"}},
	}}},
	"search_servers":  {deed: shows, call: object{"query": serverName}},
	"test_connection": {deed: asks, call: object{"name": "ID"}},
	"undo":            {deed: asks, before: wrapped, call: object{}},
	"unwrap_servers":  {deed: asks, before: wrapped, call: object{"servers": []any{"ID"}}},
	"verify":          {deed: refuses, before: hostileLock, call: object{}},
	"wrap_servers":    {deed: asks, call: object{"servers": []any{"ID"}}},
}

// hostileLock puts a lock file into the repository that gives the entry a different command.
func hostileLock(w *world, k thing) {
	w.project.put("gauze.lock.json", object{"gauzeLock": 1, "servers": []any{
		object{"client": k.client, "name": serverName, "scope": "project", "command": []any{w.user.program("fs")}, "tools": object{}},
	}})
}

// hostileUp puts a file of gauze up into the repository that includes the entry.
func hostileUp(w *world, k thing) { w.project.put("up.json", object{"include": []any{k.id}}) }

// stoppedTask runs a task with the entry, and then changes the entry.
func stoppedTask(w *world, k thing) {
	runsTask()(w, k, agreeing)
	k.write(w, with(k.made(w), "--red"))
}

// undecidedTask is a stoppedTask with a call whose outcome is unknown.
func undecidedTask(w *world, k thing) {
	k.write(w, with(k.made(w), "--dies"))
	stoppedTask(w, k)
}

// with returns an entry with an argument of its own.
func with(entry object, argument string) object {
	entry["args"] = []any{argument}
	return entry
}

// wrapped wraps the entry in gauze.
func wrapped(w *world, k thing) { w.at(agreeing, "wrap", "--gauze", gauze(), k.id) }

// filled replaces what a row says about the server and the task.
func (w *world) filled(words any, k thing) any {
	text, err := json.Marshal(words)
	if err != nil {
		w.t.Fatal(err)
	}
	var filled any
	if err := json.Unmarshal([]byte(strings.NewReplacer(`"GAUZE"`, `"`+gauze()+`"`, `"ID"`, `"`+k.id+`"`, `"TASK"`, `"`+w.task()+`"`).Replace(string(text))), &filled); err != nil {
		w.t.Fatal(err)
	}
	return filled
}

// files returns all files of the user, with the project.
func (w *world) files() string {
	var b strings.Builder
	err := filepath.WalkDir(w.user.home, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Dir(path) == filepath.Join(w.user.home, ".local/bin") {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %q\n", path, text)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return b.String()
}

// try does what a row says in a project of its own, and reports what was asked and what happened.
func (r row) try(t *testing.T, tool string, who person) (said transcript, happened bool) {
	w := quietWorld(t)
	kind := r.kind
	if kind == "" {
		kind = "command"
	}
	all := things()
	k := all[slices.IndexFunc(all, func(k thing) bool { return k.kind == kind })] // the first is Claude Code's
	k.write(w, k.made(w))
	approvals[1].record(w)
	if r.before != nil {
		r.before(w, k)
	}
	deeds, files := w.deeds(), w.files()
	if tool != "" {
		said = w.agent(who, call{tool, w.filled(r.call, k).(object)})
	} else {
		var words []string
		for _, word := range w.filled(r.words, k).([]any) {
			words = append(words, word.(string))
		}
		said = w.at(who, words...)
	}
	if said.err != nil {
		t.Error(said.err)
	}
	return said, w.deeds() != deeds || w.files() != files
}

// check tries a row with every person.
func (r row) check(t *testing.T, name, tool string) {
	for _, who := range []person{nobody, declining, agreeing} {
		said, happened := r.try(t, tool, who)
		wrong := ""
		switch {
		case who != agreeing && happened:
			wrong = "something was started, reached or written"
		case r.deed == asks && who == agreeing && !happened:
			wrong = "nothing happened"
		case r.deed == asks && who != nobody && said.questions == 0:
			wrong = "nothing was asked"
		case r.deed != asks && (happened || said.questions > 0):
			wrong = "something was asked or done"
		}
		if wrong != "" {
			t.Errorf("%s %s; %v: %s\n  command: %s\n  asked: %q\n  output: %.1500s", name, r.deed, who, wrong, said.line, said.asked, said.output)
		}
	}
}

// TestEveryCommandConsultsThePerson walks all commands. One that starts, reaches or writes something of
// a project does nothing unless a person agrees.
func TestEveryCommandConsultsThePerson(t *testing.T) {
	w := quietWorld(t)
	pages := filepath.Join(w.user.root, "pages")
	if said := w.gauze(nil, "man", pages); said.output != "" {
		t.Fatal(said.output)
	}
	all, err := filepath.Glob(filepath.Join(pages, "*.1"))
	if err != nil || len(all) < 30 {
		t.Fatal(all, err)
	}
	var tried []string
	for _, page := range all {
		name := strings.TrimSuffix(filepath.Base(page), ".1")
		r, ok := walked[name]
		if !ok {
			t.Errorf("%s is missing from the table: what does it do with what a project brings?", name)
		}
		if r.words != nil {
			tried = append(tried, name)
		}
	}
	for _, name := range sample.Some(sample.Seed(t, gauze(), witness()), tried, 4) {
		t.Run(name, func(t *testing.T) { t.Parallel(); walked[name].check(t, name, "") })
	}
}

// TestEveryToolConsultsThePerson walks all tools. One that starts, reaches or writes something of a
// project does nothing unless a person agrees, and does not say that it only reads.
func TestEveryToolConsultsThePerson(t *testing.T) {
	var listed struct {
		Tools []struct {
			Name        string
			Annotations struct{ ReadOnlyHint bool }
		}
	}
	quietWorld(t).converse(nil, []string{"mcp", "--tools", "all"}, func(a *agent) (said transcript) {
		if said.err = a.initialize(false); said.err != nil {
			t.Fatal(said.err)
		}
		result, err := a.request("tools/list", object{})
		if err == nil {
			err = json.Unmarshal(result, &listed)
		}
		if err != nil || len(listed.Tools) < 15 {
			t.Fatal(listed, err)
		}
		return said
	})
	var tried []string
	for _, tool := range listed.Tools {
		r, ok := called[tool.Name]
		if !ok {
			t.Errorf("%s is missing from the table: what does it do with what a project brings?", tool.Name)
			continue
		}
		tried = append(tried, tool.Name)
		if only := r.deed == shows; tool.Annotations.ReadOnlyHint != only {
			t.Errorf("%s %s, and its readOnlyHint is %v", tool.Name, r.deed, tool.Annotations.ReadOnlyHint)
		}
	}
	for _, name := range sample.Some(sample.Seed(t, gauze(), witness()), tried, 4) {
		t.Run(name, func(t *testing.T) { t.Parallel(); called[name].check(t, name, name) })
	}
}
